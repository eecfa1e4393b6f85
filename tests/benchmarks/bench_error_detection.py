"""Speed and memory of label error detection.

    make bench SIZES="1000 5000"

Sizes are numbers of images, each with 100 detections of 80 classes and about 7 objects, as in COCO.
What is written stands in harness.py.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks import harness
from benchmarks.bench_evaluation import Inputs, inputs
from benchmarks.harness import Bench, Work
from labelquality.error_detection import metadetect, objectlab
from labelquality.error_detection.false_positives import as_proposals
from labelquality.error_detection.scoring import score
from labelquality.geometry import heights
from labelquality.tables import Table, make_table

ERRORS = 4
SUPPRESSED = 4


def objectlab_scores(given: Inputs, smallest: float | None) -> tuple[Work, None, None]:
    """ObjectLab's box and image scores over 736 pairs of label and detection an image.

    cleanlab 2.9 takes about 12 ms for an image with 616 pairs, a minute for 5,000. It looks for the
    smallest similarity of the data set, as `smallest` None does.
    """
    settings = objectlab.Settings(min_similarity=smallest)
    return (
        lambda: objectlab.propose(given.detections, given.annotations, settings=settings),
        None,
        None,
    )


def error_scoring(given: Inputs) -> tuple[Work, None, None]:
    """Matching all detections, as proposals, with 4 label errors an image."""
    proposals = as_proposals(given.detections, "all", given.detections.frame["score"])
    objects = given.annotations.take(np.arange(ERRORS * len(given.image_ids)))
    errors = make_table(
        "label_errors",
        {
            "image_id": objects.frame["image_id"],
            "kind": "missing",
            "category": objects.frame["category"],
            "probability": 1.0,
            "height": heights(objects.boxes),
            "max_iou": 0.0,
            "ioa_dontcare": 0.0,
            "original_box_id": "",
            "validated_box_id": objects.frame["box_id"],
        },
        objects.classes,
        boxes=objects.boxes,
        image_ids=given.image_ids,
    )
    return lambda: score(proposals, errors), None, None


def metadetect_features(given: Inputs) -> tuple[Work, None, None]:
    """MetaDetect's features of all detections, each with 4 suppressed boxes near it."""
    found = given.detections
    every = found.take(np.tile(np.arange(len(found)), 1 + SUPPRESSED))
    noise = np.random.default_rng(0).normal(0, 0.05, (len(every), 4))
    noise[: len(found)] = 0
    sides = np.tile(every.boxes[:, 2:] - every.boxes[:, :2], 2)
    boxes = every.boxes + noise * sides
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
    moved = dict(zip(("x1", "y1", "x2", "y2"), boxes.T, strict=True))
    candidates = Table(
        "candidates", every.frame.assign(**moved), found.classes, image_ids=found.image_ids
    )
    return lambda: metadetect.features(found, candidates), None, None


BENCHES: dict[str, Bench] = {
    "objectlab": partial(objectlab_scores, smallest=objectlab.MIN_SIMILARITY),
    "objectlab_as_published": partial(objectlab_scores, smallest=None),
    "label_error_scoring": error_scoring,
    "metadetect_features": metadetect_features,
}


def main() -> None:
    """Run what the command line asks for."""
    harness.main(__doc__, BENCHES, inputs)


if __name__ == "__main__":
    main()
