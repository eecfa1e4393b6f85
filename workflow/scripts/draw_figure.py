"""Draw one figure of the report from the rows of its stages."""

from pathlib import Path

from labelquality.frames import read_all
from labelquality.logs import job_log
from labelquality.report import figures, style

with job_log(snakemake.log[0]):
    frames = {
        name: read_all([paths] if isinstance(paths, str) else paths)
        for name, paths in snakemake.input.items()
    }
    draw = getattr(figures, snakemake.params.function)
    style.save(draw(**frames), Path(snakemake.output.svg).with_suffix(""))
