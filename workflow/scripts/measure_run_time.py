"""Write what the jobs of the run took, and draw when they ran."""

from pathlib import Path

from labelquality.logs import job_log
from labelquality.report import run_time, style, tables

with job_log(snakemake.log[0]):
    jobs = run_time.read_benchmarks(Path(snakemake.params.benchmarks))
    tables.write(
        run_time.run_time(jobs),
        Path(snakemake.output.csv).with_suffix(""),
        digits=1,
        title=snakemake.params.title,
    )
    style.save(run_time.timeline(jobs), Path(snakemake.output.svg).with_suffix(""))
