"""Tell a detector's losses on labels, box by box."""

from labelquality.detectors import load_detector
from labelquality.detectors.label_losses import run
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    spec, classes = snakemake.params.detector, snakemake.params.classes
    losses = run(
        load_detector(spec, classes, threads=snakemake.threads, device=snakemake.params.device),
        read_table(snakemake.input.images, "images"),
        snakemake.params.folder,
        read_table(snakemake.input.labels, "annotations"),
    )
    print(f"losses of {len(losses)} boxes in {len(losses.image_ids)} images")
    write_table(losses, snakemake.output[0])
