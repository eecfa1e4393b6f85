"""The human review of a scene's annotations, simulated: people see what is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelquality.geometry import iou, pairwise_iou
from labelquality.scenes.original import Original, owners
from labelquality.scenes.reannotation import Proposal, nothing_there
from labelquality.scenes.render import Scene
from labelquality.scenes.shapes import CANT_SOLVE, CLASSES

DUPLICATES = ("image_id", "first_box_id", "second_box_id", "decision", "kept_box_id")
ORIGINAL_ONLY = ("image_id", "box_id", "decision", *(f"vote_{n}" for n in range(1, 6)))
FALSE_NEGATIVES = ("image_id", "class", "original_box_id", "validated_box_id")

_REVIEWED_IOU = 0.1
"""Least IoU of a pair that is looked at; below, hardly any is a duplicate."""
_NO_OVERLAP = 0.1
"""Largest IoU of an original-only box with any re-annotated one."""
_WRONGLY_ACCEPTED = 0.15
_REVIEWED_IMAGES = 0.5

Row = tuple[str, ...]


@dataclass(frozen=True)
class Review:
    """Lines of the three reviews of one image, with the columns named above."""

    duplicates: list[Row]
    original_only: list[Row]
    false_negatives: list[Row]


def review(
    image_id: str,
    scene: Scene,
    original: Original,
    original_ids: Sequence[str],
    proposals: Sequence[Proposal],
    box_ids: Sequence[str],
    rng: np.random.Generator,
) -> Review:
    """What people decide about one image.

    `original_ids` name the original boxes, `box_ids` the proposals. Every pair of overlapping boxes
    of one object is found to be a duplicate and the box closer to the true one kept. Original-only
    boxes are accepted where an object is, now and then elsewhere too, and voted on. The objects of
    about half of the images are listed with their boxes.
    """
    decisions, discarded = _duplicates(scene, proposals, box_ids)
    kept = [p for p, box_id in zip(proposals, box_ids, strict=True) if box_id not in discarded]
    kept_ids = [box_id for box_id in box_ids if box_id not in discarded]
    owner = owners(len(scene.boxes), original)
    votes = _original_only(scene, original, owner, original_ids, kept, rng)
    visible = []
    if rng.random() < _REVIEWED_IMAGES:
        of_object = dict(zip(owner, original_ids, strict=False))
        proposed = {p.object: box_id for p, box_id in zip(kept, kept_ids, strict=True)}
        visible = [
            (CLASSES[category], of_object.get(i, ""), proposed.get(i, ""))
            for i, category in enumerate(scene.category)
        ]
    named = ([(image_id, *row) for row in rows] for rows in (decisions, votes, visible))
    return Review(*named)


def _duplicates(
    scene: Scene, proposals: Sequence[Proposal], box_ids: Sequence[str]
) -> tuple[list[Row], set[str]]:
    """Decisions about the pairs of boxes, and the boxes that are discarded."""
    boxes = np.array([p.box for p in proposals], dtype=np.float64).reshape(-1, 4)
    first, second = np.nonzero(np.triu(pairwise_iou(boxes, boxes) >= _REVIEWED_IOU, k=1))
    rows: list[Row] = []
    discarded = set()
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        found = proposals[i].object
        pair = (box_ids[i], box_ids[j])
        if found is None or found != proposals[j].object:
            rows.append((*pair, "two_objects", ""))
            continue
        better = int(np.argmax(iou(boxes[[i, j]], scene.boxes[found])))
        rows.append((*pair, "duplicate", pair[better]))
        discarded.add(pair[1 - better])
    return rows, discarded


def _original_only(
    scene: Scene,
    original: Original,
    owner: Sequence[int],
    original_ids: Sequence[str],
    kept: Sequence[Proposal],
    rng: np.random.Generator,
) -> list[Row]:
    boxes = np.array([p.box for p in kept], dtype=np.float64).reshape(-1, 4)
    overlap = pairwise_iou(original.boxes[: len(owner)], boxes).max(axis=1, initial=0.0)
    names = (*CLASSES, CANT_SOLVE)
    rows: list[Row] = []
    for a in np.flatnonzero(overlap <= _NO_OVERLAP).tolist():
        if owner[a] < 0 and rng.random() >= _WRONGLY_ACCEPTED:
            rows.append((original_ids[a], "rejected", *[""] * 5))
            continue
        seen = nothing_there(rng) if owner[a] < 0 else scene.probabilities[owner[a]]
        votes = rng.choice(len(names), size=5, p=seen)
        rows.append((original_ids[a], "accepted", *(names[vote] for vote in votes)))
    return rows
