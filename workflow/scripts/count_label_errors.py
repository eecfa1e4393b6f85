"""Count the label errors of a data set, cut by all that tables cut them by."""

from labelquality.frames import write_csv
from labelquality.label_error_counts import every_count
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    params = snakemake.params
    counts = every_count(
        read_table(snakemake.input.legt, "label_errors"),
        read_table(snakemake.input.annotations, "annotations"),
        variants=params.variants,
        probabilities=params.probabilities,
        heights=params.heights,
        class_groups=params.class_groups,
        size_limits=params.size_limits,
        crowds_are_objects=params.crowds_are_objects,
    )
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset")}
    named["split"] = read_table(snakemake.input.images, "images").frame["split"].iloc[0]
    for name, rows in counts.items():
        write_csv(rows.assign(**named), snakemake.output[name])
