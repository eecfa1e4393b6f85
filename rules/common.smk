"""Helper functions of the rules; no rule stands here."""

import json
import os
import re
import sys
from pathlib import Path

CODE = Path(workflow.basedir) / "workflow"
sys.path.insert(0, str(CODE))
os.environ.update(PYTHONPATH=str(CODE))

from labelquality import class_names, code_digest
from labelquality.config import load_config
from labelquality.download import bringing, out_of_reach
from labelquality.errors import DataError
from labelquality.file_digest import Contents

CONFIGURATION = json.dumps(config, sort_keys=True)
config = load_config(config, Path(workflow.basedir) / "config")
RUN = config["run"]
OUT_OF_REACH = {
    name: missing
    for name, spec in config["datasets"].items()
    if (missing := out_of_reach(spec.get("downloads", []), Path(spec.get("root", ""))))
}
DATASETS = {
    name: spec for name, spec in config["datasets"].items() if name not in OUT_OF_REACH
}
DETECTED = [name for name in DATASETS if name not in config["labels_only"]]
DETECTORS = config["detectors"]
PROTOCOLS = config["protocols"]
MAIN_PROTOCOL = PROTOCOLS[0]
METHODS = config["error_detection"]["methods"]
VARIANTS = list(
    config["label_errors"]["variants"]
)  # of the LEGT, the strictest one last
# Methods that look at the boxes before suppression, which inference keeps for them.
NEED_CANDIDATES = ["metadetect", "metadetect_released"]
KEEPS_CANDIDATES = not set(METHODS).isdisjoint(NEED_CANDIDATES)
# Families whose losses can be told box by box, for loss inspection.
TELL_LOSSES = ["cascade_rcnn", "faster_rcnn"]
INSPECTED = [name for name, spec in DETECTORS.items() if spec["family"] in TELL_LOSSES]
CASCADE = [name for name, spec in DETECTORS.items() if spec["family"] == "cascade_rcnn"]
GROUNDING_DINO = [
    n for n, spec in DETECTORS.items() if spec["family"] == "grounding_dino"
]
BROKEN = [name for name, spec in DETECTORS.items() if spec["released_label_shift"]]
NOT_CASCADE = [name for name in DETECTORS if name not in CASCADE]
IMPORTED = [name for name, spec in DETECTORS.items() if spec["family"] == "imported"]
INFERRED = [name for name in DETECTORS if name not in IMPORTED]
GENERATED = [name for name, spec in DATASETS.items() if "generate" in spec]
WITH_TRUTH = [name for name, spec in DATASETS.items() if "truth" in spec["files"]]
INTAKES = "annotations images reannotation unbiased duplicate_decisions".split()
REVIEWS = ["duplicate_decisions", "original_only_votes", "false_negative_review"]
DOWNLOADS = {name: spec.get("downloads", []) for name, spec in DATASETS.items()}
UNKNOWN = {
    (name, detector): missing
    for name in DETECTED
    for detector, spec in DETECTORS.items()
    if spec["known_classes"]
    and (
        missing := class_names.unknown(DATASETS[name]["classes"], spec["known_classes"])
    )
}
PAPER1 = ["coco", "voc", "kitti", "cityscapes"]  # in the order of its tables
COCO_TABLES = [  # super-categories of Tables 13 to 17
    ["person", "animal"],
    ["vehicle", "sports"],
    ["outdoor", "accessory", "electronic"],
    ["furniture", "indoor"],
    ["kitchen", "food", "appliance"],
]
THRESHOLD_TABLES = [  # data sets of Tables 22 to 28
    *["kitti_train", "kitti", "cityscapes_train", "cityscapes"],
    *["coco", "voc_train", "voc"],
]
PUBLISHED = [name for name in PAPER1 if name in DATASETS]
TRAINABLE = ["yolov8", "rtdetr", "grounding_dino", "owlvit", "cascade_rcnn"]


if workflow.is_main_process:
    for name, missing in OUT_OF_REACH.items():
        logger.warning(f"{name} is left out of this run: {'; '.join(missing)}")
    for (name, detector), missing in UNKNOWN.items():
        logger.warning(
            f"{detector} is not run on {name}: it does not know {', '.join(missing)}"
        )
if not DATASETS:
    raise DataError("configuration: datasets: none of them can be had")


def one_of(names):
    """A wildcard constraint: one of `names`; without names, nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"


def digest(script, *modules):
    """Digest of a script, the modules that it imports, and further `modules`."""
    return code_digest.digest(CODE / "scripts" / f"{script}.py", *modules)


def dataset(wildcards):
    """Settings of the data set at hand; where its files come from changes no result.

    Reviews are named where they are used: one that is added changes nothing before it.
    """
    spec = DATASETS[wildcards.dataset]
    files = {item: f for item, f in spec["files"].items() if item not in REVIEWS}
    return {key: value for key, value in spec.items() if key != "downloads"} | {
        "files": files
    }


def with_files(*items):
    """Names of the data sets that have all of these files."""
    return [name for name, spec in DATASETS.items() if set(items) <= set(spec["files"])]


def classes(wildcards):
    """Classes of the data set at hand."""
    return dataset(wildcards)["classes"]


def super_categories(wildcards):
    """Groups of classes of the data set at hand, none for most."""
    return dataset(wildcards).get("super_categories", {})


def crowds_are_objects(wildcards):
    """Whether crowds of the data set at hand are compared like single objects.

    The released code does so for some; counts of objects, which have no protocol, follow it.
    """
    as_released = wildcards.get("protocol", "released") == "released"
    return as_released and dataset(wildcards)["released_crowds"] == "objects"


def detector(wildcards):
    """Settings of the detector at hand; what else it is run on changes no result."""
    spec = DETECTORS[wildcards.detector]
    apart = ["classes_of", "known_classes", "used_for", "released_label_shift"]
    return {key: value for key, value in spec.items() if key not in apart}


def root(wildcards):
    """Folder of the data set's files: where the user put it, or where the run makes it."""
    if "generate" in dataset(wildcards):
        return f"results/{RUN}/data/{wildcards.dataset}/raw"
    return dataset(wildcards)["root"]


def path_of(item):
    """Params function: path of the data set's file called `item`, None without such a file."""

    def path(wildcards):
        name = DATASETS[wildcards.dataset]["files"].get(item)
        return None if name is None else f"{root(wildcards)}/{name}"

    return path


def receipt(name, file):
    """What says that a download of the data set `name` is there."""
    return f"results/{RUN}/data/{name}/downloads/{file}.json"


def file_of(item):
    """Input function: the data set's file called `item`, or what says that it was downloaded.

    None where the data set has no such file.
    """

    def paths(wildcards):
        if item not in DATASETS[wildcards.dataset]["files"]:
            return []
        name = DATASETS[wildcards.dataset]["files"][item]
        downloads = bringing(DOWNLOADS[wildcards.dataset], name)
        receipts = [receipt(wildcards.dataset, file) for file in downloads]
        return receipts or [path_of(item)(wildcards)]

    return paths


def contents_of(item):
    """Params function: contents of what the engine does not see, files of a folder or downloaded."""

    def contents(wildcards):
        path = path_of(item)(wildcards)
        if path is None:
            return ""
        [seen, *_] = file_of(item)(wildcards)
        if seen == path and not os.path.isdir(path):
            return ""
        if os.path.exists(seen) and not os.path.exists(path):
            raise DataError(
                f"{path}: was downloaded and is gone; fetch it again with snakemake downloads"
                " --forcerun download_file"
            )
        return Contents(path)

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


def of_shards(path):
    """Input function: `path` for every shard of a data set."""

    def paths(wildcards):
        return expand(path, shard=range(config["shards"]), **wildcards)

    return paths


def if_kept(candidates):
    """Boxes before suppression, as a further input or output, where a method needs them."""
    return {"candidates": candidates} if KEEPS_CANDIDATES else {}


def candidates(wildcards):
    """Boxes before suppression of a detector that is run here, where a method needs them."""
    path = "results/{run}/detections/{dataset}/{detector}/candidates.parquet"
    kept = KEEPS_CANDIDATES and wildcards.detector in INFERRED
    return expand(path, **wildcards) if kept else []


def inspection_code(wildcards):
    """Digest of the code that tells the losses of a detector's family."""
    return digest(
        "inspect_labels", f"labelquality.detectors.{detector(wildcards)['family']}"
    )


def labels_to_inspect(wildcards):
    """The original annotations, or those with synthetic errors of every rate."""
    names = {"original": "annotations", "synthetic": "synthetic_labels"}
    return f"results/{{run}}/data/{{dataset}}/{names[wildcards.labels]}.parquet"


def label_losses(labels):
    """Input function: losses on labels from a detector that tells them, where a method needs them."""
    path = "results/{run}/detections/{dataset}/{detector}/label_losses/{labels}/shards/{shard}.parquet"

    def paths(wildcards):
        if "loss_inspection" not in METHODS or wildcards.detector not in INSPECTED:
            return []
        return expand(path, labels=labels, shard=range(config["shards"]), **wildcards)

    return paths


def calibrated(wildcards):
    """Calibrated detections; for some detectors the released calibration compared other labels."""
    released = wildcards.get("protocol") == "released"
    apart = released and DETECTORS[wildcards.detector]["released_label_shift"]
    folder = f"results/{RUN}/calibration/{wildcards.dataset}/{wildcards.detector}"
    return f"{folder}/{'released/' if apart else ''}calibrated.parquet"


def of_datasets(path, names=None, protocol=PROTOCOLS):
    """`path` for every data set, or for those named, and every protocol that it has."""
    names = list(DATASETS) if names is None else names
    return expand(path, run=RUN, dataset=names, protocol=protocol)


def of_detectors(
    path, names=None, detectors=DETECTORS, protocol=PROTOCOLS, used_for=None
):
    """`path` for every data set, detector used for it and protocol, or those named.

    What a detector has to be used for is told by the folder of `path`, unless it is given.
    """
    folder = path.split("/")[2]
    stage = used_for or {"error_detection": folder}.get(folder, "evaluation")
    return [
        filled
        for name in DETECTED
        if names is None or name in names
        for filled in expand(
            path,
            run=RUN,
            dataset=name,
            detector=[
                detector
                for detector in detectors
                if (name, detector) not in UNKNOWN
                and stage in DETECTORS[detector]["used_for"]
            ],
            protocol=protocol,
        )
    ]


def data_tables():
    """Tables of every data set that other stages start from."""
    shards = [f"shards/{shard}" for shard in range(config["shards"])]
    of_names = {
        "truth": WITH_TRUTH,
        **dict.fromkeys(["images", "annotations", "soft_labels"], DATASETS),
        **dict.fromkeys(shards, DETECTED),
    }
    return [
        path
        for table, names in of_names.items()
        for path in of_datasets(
            f"results/{{run}}/data/{{dataset}}/{table}.parquet", names
        )
    ]


def intake_files():
    """What every reader of the data sets set aside; images are read where detectors see them."""
    return [
        f"results/{RUN}/data/{name}/{kind}_intake.csv"
        for name, spec in DATASETS.items()
        for kind in INTAKES
        if kind in spec["files"] and (kind != "images" or name in DETECTED)
    ]


def if_known(path):
    """Input function: `path` for a data set whose truth is known, nothing for others."""

    def paths(wildcards):
        return expand(path, **wildcards) if wildcards.dataset in WITH_TRUTH else []

    return paths


def without_duplicates(table):
    """Input function: a table of the re-annotation, duplicates merged where people found them."""

    def path(wildcards):
        merged = wildcards.dataset in with_files("duplicate_decisions")
        name = f"merged_{table}" if merged else table
        return f"results/{RUN}/data/{wildcards.dataset}/{name}.parquet"

    return path


def reviewed(review, path):
    """Input function: `path` for a data set that has the file of a review, nothing for others."""

    def paths(wildcards):
        return (
            expand(path, **wildcards) if wildcards.dataset in with_files(review) else []
        )

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


def must_be_writable(*folders):
    """Stop before the first job does where the first of `folders` that exists is read-only."""
    folder = next(path for path in folders if os.path.exists(path))
    if not os.access(folder, os.W_OK):
        raise DataError(f"{folder}: cannot be written; make the folder writable")
