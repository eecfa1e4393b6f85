"""Fetch, verify and unpack one file of a data set."""

import json
from dataclasses import asdict
from pathlib import Path

from labelquality.download import ensure
from labelquality.logs import job_log

with job_log(snakemake.log[0]):
    dataset = snakemake.config["datasets"][snakemake.wildcards.dataset]
    downloads = {download["path"]: download for download in dataset["downloads"]}
    stored = ensure(downloads[snakemake.wildcards.file], Path(snakemake.params.root))
    Path(snakemake.output[0]).write_text(json.dumps(asdict(stored)) + "\n", encoding="utf-8")
