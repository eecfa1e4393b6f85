"""Draw label errors on the images."""

from pathlib import Path

from labelquality.logs import job_log
from labelquality.report import style
from labelquality.report.gallery import label_error_gallery
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    figure = label_error_gallery(
        read_table(snakemake.input.errors, "label_errors"),
        read_table(snakemake.input.annotations, "annotations"),
        read_table(snakemake.input.soft_labels, "soft_labels"),
        read_table(snakemake.input.images, "images"),
        Path(snakemake.params.folder),
        kinds=snakemake.params.kinds,
    )
    style.save(figure, Path(snakemake.output.svg).with_suffix(""))
