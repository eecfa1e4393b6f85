"""Put synthetic errors into the validated labels, and keep every label that comes out."""

from labelquality.logs import job_log
from labelquality.synthetic_errors import labels_of_all_rates, sound_labels
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    truth, images = sound_labels(
        read_table(snakemake.input.soft_labels, "soft_labels"),
        read_table(snakemake.input.images, "images"),
    )
    labels = labels_of_all_rates(
        truth, images, rates=snakemake.params.rates, seed=snakemake.params.seed
    )
    print(f"{len(labels)} labels out of {len(truth)} sound ones")
    write_table(labels, snakemake.output[0])
