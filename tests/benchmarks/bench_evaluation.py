"""Speed and memory of calibration and evaluation, side by side with a peer where there is one.

    make bench SIZES="1000 5000"

Sizes are numbers of images, each with 100 detections of 80 classes and about 7 objects, as in COCO.
Writes {folder}/{name}.json, a list with one record per size: name, size, seconds (wall clock),
cpu_seconds, peak_mb (of the whole process, inputs included), peer, peer_seconds, peer_cpu_seconds,
ratio (ours to the peer's by the clock), machine. On a busy machine compare the processors' seconds.
Every measurement runs in a process of its own, forked when the inputs are there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import pandas as pd

from labelquality.calibration.calibrate import calibrate
from labelquality.calibration.correctness import judge
from labelquality.calibration.folds import assign_folds
from labelquality.error_detection import objectlab
from labelquality.error_detection.false_positives import as_proposals
from labelquality.error_detection.scoring import score
from labelquality.evaluation import average_precision, average_similarity
from labelquality.evaluation.protocols import PROTOCOLS
from labelquality.geometry import heights
from labelquality.tables import Table, image_codes, make_table, read_table, write_table

N_CLASSES = 80
Work = Callable[[], object]


@dataclass(frozen=True)
class Inputs:
    """Random detections, annotations and soft labels of one size."""

    detections: Table
    annotations: Table
    soft_labels: Table
    image_ids: list[str]


def inputs(n_images: int, seed: int = 0) -> Inputs:
    """Inputs whose sizes, classes, overlaps and probabilities are spread as in COCO's."""
    rng = np.random.default_rng(seed)
    n_objects, n = round(7.3562 * n_images), 100 * n_images
    image_ids = [f"{i:012d}" for i in range(n_images)]
    names = np.array(image_ids, dtype=object)
    classes = [f"class {k}" for k in range(N_CLASSES)]

    def boxes(count: int) -> np.ndarray:
        sides = np.exp(rng.normal(3.9, 1, (count, 2))).clip(3, 400)
        corner = rng.random((count, 2)) * (640 - sides)
        return np.hstack([corner, corner + sides])

    objects, object_image = boxes(n_objects), rng.integers(0, n_images, n_objects)
    object_class = np.minimum(rng.geometric(0.06, n_objects) - 1, N_CLASSES - 1)
    found, image = boxes(n), np.repeat(np.arange(n_images), 100)
    category, score = rng.integers(0, N_CLASSES, n), rng.beta(0.7, 8, n)
    near = np.arange(round(0.146 * n))
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
    return Inputs(
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
        image_ids,
    )


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


def similarity(given: Inputs) -> tuple[Work, None, None]:
    """All 240 numbers of the soft evaluation: 4 sizes, 10 thresholds, 2 orderings, 3 measures."""
    frame = given.detections.frame.assign(
        calibrated_score=given.detections.frame["score"], fold=np.int32(0)
    )
    calibrated = Table(
        "calibrated",
        frame,
        given.detections.classes,
        given.detections.vectors,
        given.detections.meta,
        given.detections.image_ids,
    )
    orderings = ("entropy_descending", "max_probability")
    return (
        lambda: average_similarity.evaluate(
            calibrated,
            given.soft_labels,
            given.image_ids,
            PROTOCOLS["defined"],
            orderings=orderings,
        ),
        None,
        None,
    )


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


def objectlab_scores(given: Inputs) -> tuple[Work, None, None]:
    """ObjectLab's box and image scores; cleanlab takes 11 ms an image for as many pairs."""
    return lambda: objectlab.propose(given.detections, given.annotations), None, None


def error_scoring(given: Inputs) -> tuple[Work, None, None]:
    """Matching all detections, as proposals, with as many label errors as there are objects."""
    found, objects = given.detections, given.annotations
    proposals = as_proposals(found, "all", found.frame["score"])
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


BENCHES = {
    "average_precision": precision,
    "calibration": calibration,
    "soft_evaluation": similarity,
    "read_detections": reading,
    "objectlab": objectlab_scores,
    "label_error_scoring": error_scoring,
}


def measure(work: Work) -> tuple[float, float, float]:
    """Seconds by the clock and of the processors, and peak MB, of `work` in its own process."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        start, cpu_start = time.perf_counter(), time.process_time()
        work()
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sender.send((seconds, cpu_seconds, peak))

    process = context.Process(target=run)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"a measurement failed with status {process.exitcode}")
    return receiver.recv()


def bench(name: str, given: Inputs) -> dict[str, object]:
    """Measure one benchmark and, where it has one, its peer."""
    work, peer, peer_work = BENCHES[name](given)
    seconds, cpu_seconds, peak_mb = measure(work)
    peer_seconds, peer_cpu_seconds, _ = measure(peer_work) if peer_work else (None, None, None)
    return {
        "name": name,
        "size": len(given.image_ids),
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_seconds, 3),
        "peak_mb": round(peak_mb),
        "peer": peer,
        "peer_seconds": peer_seconds and round(peer_seconds, 3),
        "peer_cpu_seconds": peer_cpu_seconds and round(peer_cpu_seconds, 3),
        "ratio": peer_seconds and round(seconds / peer_seconds, 3),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def main() -> None:
    """Run the benchmarks that the command line asks for, print and write what they give."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[1000], help="numbers of images")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=list(BENCHES))
    parser.add_argument("--folder", type=Path, default=Path("results/bench"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    records: dict[str, list[dict[str, object]]] = {name: [] for name in options.only}
    for size in options.sizes:
        given = inputs(size)
        for name in options.only:
            record = bench(name, given)
            records[name].append(record)
            print(*(f"{key} {value}" for key, value in record.items()), sep="  ", flush=True)
    for name, rows in records.items():
        text = json.dumps(rows, indent=1) + "\n"
        (options.folder / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
