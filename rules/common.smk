"""Helper functions of the rules; no rule stands here."""

import json
import os
import re
import sys
from pathlib import Path

CODE = Path(workflow.basedir) / "workflow"
sys.path.insert(0, str(CODE))
os.environ.update(PYTHONPATH=str(CODE))

from labelquality import code_digest
from labelquality.config import load_config
from labelquality.download import bringing
from labelquality.errors import DataError
from labelquality.file_digest import content_digest

CONFIGURATION = json.dumps(config, sort_keys=True)
config = load_config(config, Path(workflow.basedir) / "config")
RUN = config["run"]
DATASETS = config["datasets"]
DETECTORS = config["detectors"]
PROTOCOLS = config["protocols"]
MAIN_PROTOCOL = PROTOCOLS[0]
METHODS = config["error_detection"]["methods"]
IMPORTED = [name for name, spec in DETECTORS.items() if spec["family"] == "imported"]
INFERRED = [name for name in DETECTORS if name not in IMPORTED]
GENERATED = [name for name, spec in DATASETS.items() if "generate" in spec]
WITH_TRUTH = [name for name, spec in DATASETS.items() if "truth" in spec["files"]]
DOWNLOADS = {name: spec.get("downloads", []) for name, spec in DATASETS.items()}
PAPER1 = ["coco", "voc", "kitti", "cityscapes"]  # in the order of its tables
PUBLISHED = [name for name in PAPER1 if name in DATASETS]
TRAINABLE = ["yolov8", "rtdetr", "grounding_dino", "owlvit"]


def one_of(names):
    """A wildcard constraint: one of `names`; without names, nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"


def digest(script, *modules):
    """Digest of a script, the modules that it imports, and further `modules`."""
    return code_digest.digest(CODE / "scripts" / f"{script}.py", *modules)


def dataset(wildcards):
    """Settings of the data set at hand; where its files come from changes no result."""
    spec = DATASETS[wildcards.dataset]
    return {key: value for key, value in spec.items() if key != "downloads"}


def classes(wildcards):
    """Classes of the data set at hand."""
    return dataset(wildcards)["classes"]


def detector(wildcards):
    """Settings of the detector at hand."""
    return DETECTORS[wildcards.detector]


def root(wildcards):
    """Folder of the data set's files: where the user put it, or where the run makes it."""
    if "generate" in dataset(wildcards):
        return f"results/{RUN}/data/{wildcards.dataset}/raw"
    return dataset(wildcards)["root"]


def path_of(item):
    """Params function: path of the data set's file called `item`."""

    def path(wildcards):
        return f"{root(wildcards)}/{dataset(wildcards)['files'][item]}"

    return path


def receipt(name, file):
    """What says that a download of the data set `name` is there."""
    return f"results/{RUN}/data/{name}/downloads/{file}.json"


def file_of(item):
    """Input function: the data set's file called `item`, or what says that it was downloaded.

    None where the data set has no such file.
    """

    def paths(wildcards):
        if item not in dataset(wildcards)["files"]:
            return []
        name = dataset(wildcards)["files"][item]
        downloads = bringing(DOWNLOADS[wildcards.dataset], name)
        receipts = [receipt(wildcards.dataset, file) for file in downloads]
        return receipts or [path_of(item)(wildcards)]

    return paths


def contents_of(item):
    """Params function: digest of what the engine does not see, files of a folder or downloaded."""

    def contents(wildcards):
        path = path_of(item)(wildcards)
        [seen, *_] = file_of(item)(wildcards)
        os.stat(seen)  # raises where it is missing, and the engine asks again later
        if seen == path and not os.path.isdir(path):
            return ""
        if not os.path.exists(path):
            raise DataError(
                f"{path}: was downloaded and is gone; fetch it again with snakemake downloads"
                " --forcerun download_file"
            )
        return content_digest(Path(path), [".xml", ".txt", ".json"])

    return contents


def expected_download(wildcards):
    """What decides which bytes a download brings, and where they go."""
    [download] = [
        d for d in DOWNLOADS[wildcards.dataset] if d["path"] == wildcards.file
    ]
    keys = ["path", "size", "sha256", "unpack"]
    return {key: download[key] for key in keys if key in download}


def all_downloads():
    """What says that every download of the run is there."""
    return [receipt(name, d["path"]) for name, ds in DOWNLOADS.items() for d in ds]


def sized_images(wildcards):
    """Folder of the images where their sizes are read from them."""
    sized = dataset(wildcards)["format"] in ["voc", "kitti", "yolo"]
    return file_of("images")(wildcards) if sized else []


def weights(wildcards):
    """Files of a detector's weights where they are local; hub checkpoints are no inputs."""
    folder = Path(detector(wildcards)["weights"] or "")
    if not detector(wildcards)["weights"] or not folder.exists():
        return []
    files = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    return [str(path) for path in files if path.is_file()]


def detector_code(wildcards):
    """Digest of the inference code of the detector's family only."""
    return digest("detect", f"labelquality.detectors.{detector(wildcards)['family']}")


def shards(wildcards):
    """Detections of every shard of a data set."""
    return expand(
        "results/{run}/detections/{dataset}/{detector}/shards/{shard}.parquet",
        shard=range(config["shards"]),
        **wildcards,
    )


def of_datasets(path, names=None, protocol=PROTOCOLS):
    """`path` for every data set, or for those named, and every protocol that it has."""
    names = list(DATASETS) if names is None else names
    return expand(path, run=RUN, dataset=names, protocol=protocol)


def of_detectors(path, protocol=PROTOCOLS):
    """`path` for every data set and detector, and every protocol that it has."""
    return expand(
        path, run=RUN, dataset=DATASETS, detector=DETECTORS, protocol=protocol
    )


def leaves():
    """Every table and figure of the run."""
    tables = {
        "paper1": [
            "table_01_annotation_counts",
            "table_04_label_errors",
            "table_07_average_precision",
            "table_08_soft_evaluation",
            "table_09_label_error_detection",
            "table_42_calibration_error",
        ],
        "ours": [
            "average_similarity_sensitivity",
            "intake",
            "label_error_recall",
            "method_differences",
            "review_effort",
            "soft_evaluation_intervals",
            "synthetic_against_real",
        ],
    }
    for name in PUBLISHED:
        place = PAPER1.index(name)
        tables["paper1"] += [
            f"table_{38 + place}_average_precision_{name}",
            f"table_{43 + place}_soft_evaluation_{name}",
        ]
    if PUBLISHED:
        tables["ours"] += ["published_comparison"]
    figures = {
        "paper1": [
            "fig_04_ap_vs_as",
            "fig_31_label_error_precision_recall",
            "fig_27_reliability",
        ],
        "ours": [
            *[f"{name}/fig_label_error_gallery" for name in DATASETS],
            "fig_average_similarity_sensitivity",
            "fig_review_effort",
            "fig_synthetic_against_real",
        ],
    }
    if WITH_TRUTH:
        tables["ours"] += [
            "injected_error_recall",
            "label_errors_against_truth",
            "soft_labels_against_truth",
        ]
        figures["ours"] += ["fig_soft_label_error"]
    kinds = {
        "tables": (tables, ["csv", "tex", "html"]),
        "figures": (figures, ["svg", "pdf"]),
    }
    return [
        f"results/{RUN}/{kind}/{paper}/{name}.{suffix}"
        for kind, (papers, suffixes) in kinds.items()
        for paper, names in papers.items()
        for name in names
        for suffix in suffixes
    ]


def data_tables():
    """Tables of every data set that other stages start from."""
    tables = ["images", "annotations", "soft_labels"]
    tables += [f"shards/{shard}" for shard in range(config["shards"])]
    known = of_datasets("results/{run}/data/{dataset}/truth.parquet", WITH_TRUTH)
    return known + [
        path
        for table in tables
        for path in of_datasets(f"results/{{run}}/data/{{dataset}}/{table}.parquet")
    ]


def captions():
    """Captions of the report."""
    return sorted(
        str(path.relative_to(workflow.basedir)) for path in CODE.glob("report/*.rst")
    )


def intake_files():
    """What every reader of the data sets set aside."""
    return [
        f"results/{RUN}/data/{name}/{kind}_intake.csv"
        for name, spec in DATASETS.items()
        for kind in ("annotations", "reannotation", "unbiased")
        if kind in spec["files"]
    ]


def if_known(path):
    """Input function: `path` for a data set whose truth is known, nothing for others."""

    def paths(wildcards):
        return expand(path, **wildcards) if wildcards.dataset in WITH_TRUTH else []

    return paths


def proposals(wildcards):
    """Proposals of every method from one detector."""
    return expand(
        "results/{run}/error_detection/{dataset}/{detector}/{method}/proposals.parquet",
        method=METHODS,
        **wildcards,
    )


def training_code(wildcards):
    """Digest of the code that trains a detector of one family."""
    return digest(
        "train_detector", f"labelquality.detectors.training.{wildcards.family}"
    )
