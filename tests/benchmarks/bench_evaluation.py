"""Speed and memory of calibration and evaluation, side by side with a peer where there is one.

    make bench SIZES="1000 5000"

Sizes are numbers of images, each with 100 detections of 80 classes and about 7 objects, as in COCO;
SIZES="1000 2000 4000 8000" shows how cost grows. What is written stands in harness.py.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import orjson
import pandas as pd

from benchmarks import harness
from benchmarks.harness import Bench, Work
from labelquality.calibration.calibrate import calibrate
from labelquality.calibration.correctness import judge
from labelquality.calibration.image_folds import assign_folds
from labelquality.evaluation import average_precision, average_similarity
from labelquality.evaluation.protocols import PROTOCOLS
from labelquality.tables import Table, image_codes, make_table, read_table, sort_rows, write_table

N_CLASSES = 80


@dataclass(frozen=True)
class Inputs:
    """Random detections, annotations and soft labels of one size."""

    detections: Table
    annotations: Table
    soft_labels: Table
    image_ids: list[str]


def inputs(n_images: int, *, per_image: int = 100, seed: int = 0) -> Inputs:
    """Inputs whose sizes, classes, overlaps and probabilities are spread as in COCO's.

    Rows are in the order in which tables are stored.
    """
    rng = np.random.default_rng(seed)
    n_objects, n = round(7.3562 * n_images), per_image * n_images
    image_ids = [f"{i:012d}" for i in range(n_images)]
    names = np.array(image_ids, dtype=object)
    classes = [f"class {k}" for k in range(N_CLASSES)]

    def boxes(count: int) -> np.ndarray:
        sides = np.exp(rng.normal(3.9, 1, (count, 2))).clip(3, 400)
        corner = rng.random((count, 2)) * (640 - sides)
        return np.hstack([corner, corner + sides])

    objects, object_image = boxes(n_objects), rng.integers(0, n_images, n_objects)
    object_class = np.minimum(rng.geometric(0.06, n_objects) - 1, N_CLASSES - 1)
    found, image = boxes(n), np.repeat(np.arange(n_images), per_image)
    category, score = rng.integers(0, N_CLASSES, n), rng.beta(0.7, 8, n)
    near = np.arange(round(14.6 * n_images))
    of = rng.integers(0, n_objects, len(near))
    shift = rng.normal(0, 0.08, (len(near), 4)) * np.tile(objects[of, 2:] - objects[of, :2], 2)
    found[near] = objects[of] + shift
    found[near, 2:] = np.maximum(found[near, 2:], found[near, :2] + 1)
    image[near], category[near] = object_image[of], object_class[of]
    score[near] = rng.beta(3, 2, len(near))
    probabilities = rng.beta(0.1, 30, (n, N_CLASSES)).astype(np.float32)
    probabilities[np.arange(n), category] = score
    labels = rng.dirichlet(np.full(N_CLASSES + 1, 0.01), n_objects)
    labels[np.arange(n_objects), object_class] += 3
    labels /= labels.sum(axis=1, keepdims=True)
    of_objects = {"image_id": names[object_image], "box_id": [str(i) for i in range(n_objects)]}
    no_flags = {"difficult": False, "region": "", "annotator": "original"}
    detections, annotations, soft_labels = (
        make_table(
            "detections",
            {"image_id": names[image], "score": score, "category": category},
            classes,
            boxes=found,
            vectors={"probabilities": probabilities},
            meta={"probability_kind": "sigmoid"},
            image_ids=image_ids,
        ),
        make_table(
            "annotations",
            of_objects
            | {"category": object_class, "crowd": rng.random(n_objects) < 0.01}
            | no_flags,
            classes,
            boxes=objects,
        ),
        make_table(
            "soft_labels",
            of_objects | {"n_votes": 11, "proposed": object_class},
            classes,
            boxes=objects,
            vectors={"soft_label": labels, "corrected": labels},
        ),
    )
    return Inputs(*map(sort_rows, (detections, annotations, soft_labels)), image_ids)


def precision(given: Inputs) -> tuple[Work, str, Work]:
    """The twelve COCO numbers through the adapter, against the evaluator alone."""
    args = (given.detections, given.annotations, given.image_ids)
    columns = average_precision._ground_truth_columns(given.annotations, given.image_ids)
    rows = average_precision._detection_rows(given.detections, given.image_ids)
    n_images, limits = len(given.image_ids), average_precision.SIZE_LIMITS
    return (
        lambda: average_precision.evaluate(*args).summary(),
        "hotcoco",
        lambda: average_precision._hotcoco(columns, rows, n_images, N_CLASSES, limits),
    )


def calibration(given: Inputs) -> tuple[Work, str, Work]:
    """Calibrating scores and vectors, against scikit-learn's regressions and np.interp alone."""
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    found = given.detections
    index = pd.Index(given.image_ids, dtype=object)
    score = found.frame["score"].to_numpy()
    [image] = image_codes(found.frame["image_id"])
    fold = assign_folds(len(given.image_ids), 5, 0)[image]

    def peer() -> None:
        correct, _ = judge(found, given.annotations, index, 0.5)
        for number in range(5):
            x, y = score[fold != number], correct[fold != number]
            curve = IsotonicRegression(out_of_bounds="clip").fit(x, y)
            LogisticRegression().fit(x[:, None], y)
            np.interp(
                found.vectors["probabilities"][fold == number],
                curve.X_thresholds_,
                curve.y_thresholds_,
            )

    return lambda: calibrate(found, given.annotations), "scikit-learn", peer


def _calibrated(given: Inputs) -> Table:
    frame = given.detections.frame.assign(
        calibrated_score=given.detections.frame["score"], fold=np.int32(0)
    )
    return replace(given.detections, kind="calibrated", frame=frame)


def similarity(given: Inputs) -> tuple[Work, None, None]:
    """All 240 numbers of the soft evaluation: 4 sizes, 10 thresholds, 2 orderings, 3 measures."""
    args = (_calibrated(given), given.soft_labels, given.image_ids, PROTOCOLS["defined"])
    orderings = ("entropy_descending", "max_probability")
    return lambda: average_similarity.evaluate(*args, orderings=orderings), None, None


def similarity_of_many(given: Inputs) -> tuple[Work, None, None]:
    """The same with 300 detections an image, the most that paper 1's detectors give."""
    return similarity(inputs(len(given.image_ids), per_image=300))


def similarity_per_class(given: Inputs) -> tuple[Work, None, None]:
    """The figures of the soft evaluation for each of the classes."""
    args = (_calibrated(given), given.soft_labels, given.image_ids, PROTOCOLS["defined"])
    return lambda: average_similarity.evaluate_per_class(*args), None, None


def reading(given: Inputs) -> tuple[Work, str, Work]:
    """Reading detections with their vectors from Parquet, against the same numbers as JSON."""
    # Held by the functions below, so that it is there as long as they are.
    folder = tempfile.TemporaryDirectory()
    table, text = (Path(folder.name) / name for name in ("detections.parquet", "detections.json"))
    found = given.detections
    write_table(found, table)
    boxes = np.ascontiguousarray(found.boxes)
    content = {"boxes": boxes, "probabilities": found.vectors["probabilities"]}
    text.write_bytes(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY))

    def work() -> Table:
        return read_table(Path(folder.name) / table.name, "detections")

    def peer() -> np.ndarray:
        content = orjson.loads((Path(folder.name) / text.name).read_bytes())
        return np.array(content["probabilities"], dtype=np.float32)

    return work, "orjson", peer


BENCHES: dict[str, Bench] = {
    "average_precision": precision,
    "calibration": calibration,
    "soft_evaluation": similarity,
    "soft_evaluation_300_detections": similarity_of_many,
    "soft_evaluation_per_class": similarity_per_class,
    "read_detections": reading,
}


def main() -> None:
    """Run what the command line asks for."""
    harness.main(__doc__, BENCHES, inputs)


if __name__ == "__main__":
    main()
