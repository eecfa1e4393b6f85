"""List the objects of some images for a review of false negatives."""

from labelquality.frames import write_csv
from labelquality.human_review import false_negatives
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    soft_labels = read_table(snakemake.input.soft_labels, "soft_labels")
    images = read_table(snakemake.input.images, "images")
    drawn = false_negatives.draw_images(
        soft_labels.image_ids or images.frame["image_id"].tolist(),
        snakemake.params.images,
        snakemake.params.seed,
    )
    annotations = read_table(snakemake.input.annotations, "annotations")
    write_csv(false_negatives.review_list(annotations, soft_labels, drawn), snakemake.output[0])
