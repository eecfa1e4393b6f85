"""Build the label error ground truth and count its errors."""

import pandas as pd

from labelquality import label_errors
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    errors = label_errors.build(
        read_table(snakemake.input.annotations, "annotations"),
        read_table(snakemake.input.soft_labels, "soft_labels"),
        read_table(snakemake.input.images, "images"),
        protocol=snakemake.wildcards.protocol,
    )
    write_table(errors, snakemake.output.legt)
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset")}
    counts = [
        label_errors.counts(label_errors.variant(errors, **limits)).assign(variant=variant, **named)
        for variant, limits in snakemake.params.variants.items()
    ]
    write_csv(pd.concat(counts), snakemake.output.counts)
