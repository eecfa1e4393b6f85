"""Label errors of the literature's kinds, put into a ground truth.

The kinds are those of Schubert et al., "Identifying Label Errors in Object Detection Datasets by
Loss Inspection" (WACV 2024), a quarter each:

- drop: the object loses its box;
- flip: it gets another class, all others being equally likely;
- shift: its box is moved and resized by normal noise of 15 % of its sides, drawn again until its
  IoU with the true box lies in [0.4, 0.7);
- spawn: its box is copied to another image, at the same place relative to the image's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.errors import DataError
from labelquality.geometry import clip, heights, iou
from labelquality.labels import validated_annotations
from labelquality.tables import Table, concatenate, make_table

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

KINDS = {
    "drop": "missing",
    "flip": "classification",
    "shift": "misaligned",
    "spawn": "original_only",
}
"""What a label error ground truth calls them."""

SHIFTED_IOU = (0.4, 0.7)
_NOISE = 0.15
_TRIES = 1000


@dataclass(frozen=True)
class Injected:
    """`annotations` with errors in them, and these `errors` as a LEGT would list them."""

    annotations: Table
    errors: Table


@dataclass(frozen=True)
class _Plan:
    """What would happen to each object (n,), and the `order` in which they come to err."""

    order: Ints
    kind: NDArray[np.object_]
    category: Ints
    box: Floats
    image: Ints
    spawned: Floats


def inject(truth: Table, images: Table, *, rate: float, seed: int) -> Injected:
    """Make errors of a share `rate` of the objects of `truth`, annotations of `images`.

    For one seed the errors are nested: those of a lower rate are among those of a higher one. There
    are no flips with a single class and no spawns with a single image. In `errors`, whose
    `image_ids` are those of `images`, the box is the true one (spawn: the copy), `probability` is 1
    and `max_iou` the overlap with the faulty box of the same object.

    Raises DataError for a rate outside [0, 1] and for objects in images that `images` lacks.
    """
    if not 0 <= rate <= 1:
        raise DataError(f"synthetic label errors: rate {rate} is outside [0, 1]")
    plan = _plan(truth, images, np.random.default_rng(seed))
    chosen = plan.order[: round(rate * len(truth))]
    of_kind = {kind: np.sort(chosen[plan.kind[chosen] == kind]) for kind in KINDS}
    return Injected(
        _annotations(truth, images, plan, of_kind), _errors(truth, images, plan, of_kind)
    )


def sound_labels(soft_labels: Table, images: Table) -> tuple[Table, Table]:
    """What errors are put into: the validated objects, and the images that were re-annotated."""
    if soft_labels.image_ids is not None:
        images = images.take(images.frame["image_id"].isin(soft_labels.image_ids).to_numpy())
    return validated_annotations(soft_labels, 0.5), images


def labels_of_all_rates(truth: Table, images: Table, *, rates: Sequence[float], seed: int) -> Table:
    """The annotations that `inject` makes at any of the `rates`, each of them once."""
    made = concatenate([inject(truth, images, rate=r, seed=seed).annotations for r in rates])
    return made.take(~made.frame.duplicated().to_numpy())


def _plan(truth: Table, images: Table, rng: np.random.Generator) -> _Plan:
    n, n_classes, n_images = len(truth), len(truth.classes), len(images)
    sizes = images.frame[["width", "height"]].to_numpy(dtype=np.float64)
    own = pd.Index(images.frame["image_id"]).get_indexer(truth.frame["image_id"])
    if (own < 0).any():
        image = truth.frame["image_id"].iloc[int(np.argmax(own < 0))]
        raise DataError(f"synthetic label errors: image {image} is not among the images; add it")
    possible = [
        kind
        for kind in KINDS
        if (kind != "flip" or n_classes > 1) and (kind != "spawn" or n_images > 1)
    ]
    order = rng.permutation(n)
    kind = np.empty(n, dtype=object)
    kind[order] = np.array(possible, dtype=object)[np.arange(n) % len(possible)]
    flipped = truth.frame["category"].to_numpy() + rng.integers(1, max(n_classes, 2), n)
    image = (own + rng.integers(1, max(n_images, 2), n)) % max(n_images, 1)
    scale = np.tile(sizes[image] / sizes[own], 2)
    return _Plan(
        order,
        kind,
        flipped % n_classes,
        _shifted(truth.boxes, sizes[own], rng),
        image,
        truth.boxes * scale,
    )


def _shifted(boxes: Floats, sizes: Floats, rng: np.random.Generator) -> Floats:
    """Every box moved and resized; what no try brings into the range of IoU is shrunk into it."""
    low, high = SHIFTED_IOU
    centre, sides = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    reach = sides / 2 * np.sqrt((low + high) / 2)
    result = np.concatenate([centre - reach, centre + reach], axis=1)
    left = np.arange(len(boxes))
    for _ in range(_TRIES):
        if not len(left):
            break
        noise = rng.normal(0.0, _NOISE, (len(left), 4))
        middle = centre[left] + noise[:, :2] * sides[left]
        reach = sides[left] / 2 * (1 + noise[:, 2:])
        moved = clip(np.concatenate([middle - reach, middle + reach], axis=1), *sizes[left].T)
        overlap = iou(moved, boxes[left])
        good = (overlap >= low) & (overlap < high)
        result[left[good]] = moved[good]
        left = left[~good]
    return result


def _annotations(truth: Table, images: Table, plan: _Plan, of_kind: dict[str, Ints]) -> Table:
    category = truth.frame["category"].to_numpy().copy()
    category[of_kind["flip"]] = plan.category[of_kind["flip"]]
    boxes = truth.boxes.copy()
    boxes[of_kind["shift"]] = plan.box[of_kind["shift"]]
    corners = dict(zip(("x1", "y1", "x2", "y2"), boxes.T, strict=True))
    kept = np.ones(len(truth), dtype=bool)
    kept[of_kind["drop"]] = False
    copied = of_kind["spawn"]
    copies = truth.take(copied)
    copies = copies.with_columns(
        image_id=images.frame["image_id"].to_numpy(dtype=object)[plan.image[copied]],
        box_id=copies.frame["box_id"] + "_spawned",
        **dict(zip(("x1", "y1", "x2", "y2"), plan.spawned[copied].T, strict=True)),
    )
    return concatenate([truth.with_columns(category=category, **corners).take(kept), copies])


def _errors(truth: Table, images: Table, plan: _Plan, of_kind: dict[str, Ints]) -> Table:
    rows = np.concatenate(list(of_kind.values()))
    kind = np.repeat(list(KINDS), [len(found) for found in of_kind.values()])
    spawned = kind == "spawn"
    boxes = np.where(spawned[:, None], plan.spawned[rows], truth.boxes[rows])
    names = images.frame["image_id"].to_numpy(dtype=object)
    overlap = np.select(
        [kind == "flip", kind == "shift"], [1.0, iou(plan.box[rows], truth.boxes[rows])], 0.0
    )
    box_id = truth.frame["box_id"].to_numpy(dtype=object)[rows]
    return make_table(
        "label_errors",
        {
            "image_id": np.where(
                spawned, names[plan.image[rows]], truth.frame["image_id"].to_numpy()[rows]
            ),
            "kind": [KINDS[name] for name in kind],
            "category": truth.frame["category"].to_numpy()[rows],
            "probability": np.where(spawned, np.nan, 1.0),
            "height": heights(boxes),
            "max_iou": overlap,
            "ioa_dontcare": 0.0,
            "original_box_id": np.where(
                kind == "drop", "", np.where(spawned, box_id + "_spawned", box_id)
            ),
            "validated_box_id": np.where(spawned, "", box_id),
        },
        truth.classes,
        boxes=boxes,
        image_ids=names.tolist(),
    )
