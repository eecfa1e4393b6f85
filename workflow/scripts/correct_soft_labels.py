"""Turn votes into soft labels without the bias towards the proposed class."""

from labelquality.bias_correction import correct
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    soft_labels = correct(
        read_table(snakemake.input.votes, "votes"),
        read_table(snakemake.input.released, "soft_labels"),
        **snakemake.params.correction,
    )
    write_table(soft_labels, snakemake.output[0])
