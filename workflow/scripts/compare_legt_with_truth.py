"""Compare the label error ground truth with the errors that were injected."""

from labelquality import label_errors
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    comparison = label_errors.against_truth(
        read_table(snakemake.input.legt, "label_errors"),
        read_table(snakemake.input.injected, "label_errors"),
    )
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset")}
    write_csv(comparison.assign(**named), snakemake.output[0])
