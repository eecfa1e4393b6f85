"""Build the label error ground truth."""

from labelquality import label_errors
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    images = read_table(snakemake.input.images, "images")
    found = label_errors.build(
        read_table(snakemake.input.annotations, "annotations"),
        read_table(snakemake.input.soft_labels, "soft_labels"),
        images,
        protocol=snakemake.wildcards.protocol,
        crowds_are_objects=snakemake.params.crowds_are_objects,
    )
    errors = label_errors.valid(found, images)
    print(f"{len(errors)} label errors; {len(found) - len(errors)} more are not valid boxes")
    write_table(errors, snakemake.output[0])
