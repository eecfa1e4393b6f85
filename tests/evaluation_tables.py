"""Small random detections and ground truth with ties, crowds, empty images and absent classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from labelquality.tables import Table, make_table

N_IMAGES = 8


def ids(n: int = N_IMAGES) -> list[str]:
    return [f"image_{i}" for i in range(n)]


def _names(codes: np.ndarray) -> np.ndarray:
    return np.array(ids(), dtype=object)[codes]


def _boxes(rng: np.random.Generator, n: int) -> np.ndarray:
    corner = rng.integers(0, 100, (n, 2)).astype(np.float64)
    return np.hstack([corner, corner + rng.integers(4, 150, (n, 2))])


def random_tables(
    seed: int, *, n_classes: int = 3, n_objects: int = 40, n_detections: int = 120
) -> tuple[Table, Table, Table]:
    """Detections, annotations and soft labels; the last image has no object, the last class none.

    Boxes are whole pixels and scores have one digit, so that overlaps and scores tie; the last
    image but one has neither objects nor detections.
    """
    rng = np.random.default_rng(seed)
    classes = [f"class_{k}" for k in range(n_classes)]
    image = rng.integers(0, N_IMAGES - 2, n_objects)
    boxes = _boxes(rng, n_objects)
    category = rng.integers(0, max(n_classes - 1, 1), n_objects)
    region = np.where(rng.random(n_objects) < 0.05, "dontcare", "")
    annotations = make_table(
        "annotations",
        {
            "image_id": _names(image),
            "box_id": [str(i) for i in range(n_objects)],
            "category": np.where((region != "") & (rng.random(n_objects) < 0.5), -1, category),
            "crowd": rng.random(n_objects) < 0.1,
            "difficult": rng.random(n_objects) < 0.1,
            "region": region,
            "annotator": "original",
        },
        classes,
        boxes=boxes,
    )
    labels = rng.dirichlet(np.full(n_classes + 1, 0.3), n_objects)
    soft_labels = make_table(
        "soft_labels",
        {
            "image_id": _names(image),
            "box_id": [str(i) for i in range(n_objects)],
            "n_votes": 11,
            "proposed": category,
        },
        classes,
        boxes=boxes,
        vectors={"soft_label": labels, "corrected": labels},
    )
    near = rng.integers(0, n_objects, n_detections)
    found = boxes[near] + rng.integers(-6, 7, (n_detections, 4))
    found[:, 2:] = np.maximum(found[:, 2:], found[:, :2] + 1)
    astray = rng.random(n_detections) < 0.1
    detections = make_table(
        "detections",
        {
            "image_id": _names(np.where(astray, N_IMAGES - 1, image[near])),
            "score": np.round(rng.random(n_detections), 1),
            "category": np.where(
                rng.random(n_detections) < 0.2,
                rng.integers(0, n_classes, n_detections),
                category[near],
            ),
        },
        classes,
        boxes=found,
        vectors={"probabilities": rng.random((n_detections, n_classes)).astype(np.float32)},
        meta={"probability_kind": "sigmoid"},
        image_ids=ids(),
    )
    return detections, annotations, soft_labels


def shuffled(table: Table, seed: int) -> Table:
    """The same rows in another order."""
    return table.take(np.random.default_rng(seed).permutation(len(table)))


def random_calibrated(seed: int, kind: str) -> tuple[Table, Table]:
    """Detections with vectors of the kind, no two alike in box and score, some vectors all zero."""
    detections, _, soft = random_tables(seed, n_objects=30, n_detections=60)
    rng = np.random.default_rng(seed)
    width = 4 if kind == "softmax+background" else 3
    p = rng.dirichlet(np.full(width, 0.3), len(detections))
    p[rng.random(p.shape) < 0.2] = 0
    p[:5] = 0
    frame = detections.frame.assign(fold=0, calibrated_score=detections.frame["score"])
    frame.loc[:, ["x1", "y1"]] -= rng.random((len(frame), 1))
    meta = {"probability_kind": kind}
    return replace(
        detections, kind="calibrated", frame=frame, vectors={"probabilities": p}, meta=meta
    ), soft


def by_image(calibrated: Table, soft: Table) -> tuple[dict, dict]:
    """Predictions and objects as the literal version takes them."""
    rows, predictions, objects = calibrated.frame, {}, {}
    for i in np.lexsort([*calibrated.boxes.T[::-1]]):
        row = {"box": calibrated.boxes[i].tolist(), "score": rows["score"][i]}
        row |= {
            "p": calibrated.vectors["probabilities"][i].tolist(),
            "category": rows["category"][i],
        }
        predictions.setdefault(rows["image_id"][i], []).append(row)
    for i in np.lexsort([*soft.boxes.T[::-1]]):
        row = {"box": soft.boxes[i].tolist(), "label": soft.vectors["corrected"][i].tolist()}
        objects.setdefault(soft.frame["image_id"][i], []).append(row)
    return predictions, objects


def one_image(
    boxes: list, p: list, scores: list, objects: list, labels: list
) -> tuple[Table, Table]:
    """Calibrated detections and soft labels of image `a`, two classes; image `b` is empty."""
    calibrated = make_table(
        "calibrated",
        {
            "image_id": ["a"] * len(boxes),
            "score": scores,
            "category": 0,
            "calibrated_score": scores,
            "fold": 0,
        },
        ["cat", "dog"],
        boxes=np.array(boxes, dtype=np.float64).reshape(-1, 4),
        vectors={"probabilities": np.array(p, dtype=np.float32).reshape(-1, 3)},
        meta={"probability_kind": "softmax+background"},
        image_ids=["a", "b"],
    )
    soft = make_table(
        "soft_labels",
        {
            "image_id": ["a"] * len(objects),
            "box_id": [str(i) for i in range(len(objects))],
            "n_votes": 11,
            "proposed": 0,
        },
        ["cat", "dog"],
        boxes=np.array(objects, dtype=np.float64).reshape(-1, 4),
        vectors={
            name: np.array(labels, dtype=np.float64).reshape(-1, 3)
            for name in ("soft_label", "corrected")
        },
    )
    return calibrated, soft
