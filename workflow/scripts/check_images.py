"""Check the images of a data set against its table of images."""

from pathlib import Path

from labelquality.datasets import check_images
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    images = read_table(snakemake.input.images, "images")
    intake = check_images(images, Path(snakemake.params.folder))
    write_csv(intake.assign(dataset=snakemake.wildcards.dataset), snakemake.output[0])
