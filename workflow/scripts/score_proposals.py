"""Score label-error proposals on every variant of the label error ground truth."""

from labelquality.error_detection.benchmark import score_methods
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    injected = snakemake.input.injected
    results = score_methods(
        [read_table(path, "proposals") for path in snakemake.input.proposals],
        snakemake.params.methods,
        read_table(snakemake.input.legt, "label_errors"),
        snakemake.params.variants,
        iou_threshold=snakemake.params.iou_threshold,
        injected=read_table(injected[0], "label_errors") if injected else None,
        size_limits=snakemake.params.size_limits,
        n_draws=snakemake.params.n_draws,
        seed=snakemake.params.seed,
    )
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset", "detector")}
    for name, path in snakemake.output.items():
        write_csv(getattr(results, name).assign(**named), path)
