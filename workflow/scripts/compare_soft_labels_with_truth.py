"""Compare soft labels with the probabilities that the votes were drawn from."""

from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table
from labelquality.truth import soft_label_distances

with job_log(snakemake.log[0]):
    distances = soft_label_distances(
        read_table(snakemake.input.soft_labels, "soft_labels"),
        read_table(snakemake.input.truth, "soft_labels"),
    )
    write_csv(distances.assign(dataset=snakemake.wildcards.dataset), snakemake.output[0])
