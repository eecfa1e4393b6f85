"""Count boxes by their area, validated and detected."""

from labelquality.evaluation.box_areas import area_distributions
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    rows = area_distributions(
        read_table(snakemake.input.detections, "detections"),
        read_table(snakemake.input.soft_labels, "soft_labels"),
    )
    named = {key: snakemake.wildcards[key] for key in ("dataset", "detector")}
    write_csv(rows.assign(**named), snakemake.output[0])
