"""Build the label error ground truth and count its errors."""

import pandas as pd

from labelquality import label_errors
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    images = read_table(snakemake.input.images, "images")
    original = read_table(snakemake.input.annotations, "annotations")
    soft_labels = read_table(snakemake.input.soft_labels, "soft_labels")
    protocol = snakemake.wildcards.protocol
    found = label_errors.build(original, soft_labels, images, protocol=protocol)
    errors = label_errors.valid(found, images)
    print(f"{len(errors)} label errors; {len(found) - len(errors)} more are not valid boxes")
    write_table(errors, snakemake.output.legt)
    named = {"protocol": protocol, "dataset": snakemake.wildcards.dataset}
    named["n_original"] = int((~label_errors.is_region(original)).sum())
    counts = [
        label_errors.counts(label_errors.variant(errors, **limits)).assign(variant=variant, **named)
        for variant, limits in snakemake.params.variants.items()
    ]
    write_csv(pd.concat(counts), snakemake.output.counts)
