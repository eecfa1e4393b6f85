"""The original annotation of a scene: careful, but with label errors of known kind and place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelquality.geometry import clip, heights, ioa, iou, pairwise_iou
from labelquality.scenes.render import HEIGHT, WIDTH, Scene
from labelquality.scenes.shapes import CLASSES, partner

CORRECT, MISSING, MISALIGNED = "correct", "missing", "misaligned"
CLASSIFICATION, ORIGINAL_ONLY = "classification", "original_only"

SAME_PLACE = 0.8
"""Least IoU of a box that is in the right place with the true one."""
MISALIGNED_IOU = (0.15, 0.45)
NO_OVERLAP = 0.1
"""Largest IoU of any original box with a missing object."""
SPURIOUS_IOU = 0.05
"""Largest IoU of a spurious box with any true one."""
FOREIGN_IOU = 0.45
"""Largest IoU of an original box with an object it does not belong to."""

_SMALL = 12.0
_CROWDED_IOU = 0.06
_REGION_SHARE = 0.85
_TRIES = 30


@dataclass(frozen=True)
class InjectedError:
    """A label error put in on purpose.

    Attributes
    ----------
    kind : str
        missing, misaligned, classification or original_only.
    object : int or None
        Index of the true object; None for original_only.
    annotation : int or None
        Index of the original box; None for missing.
    in_region : bool
        More than half of the object (original_only: of the box) lies in the ignore region.
    """

    kind: str
    object: int | None
    annotation: int | None
    in_region: bool


@dataclass(frozen=True)
class Original:
    """Original annotation of one image: boxes (m, 4), category (m,), crowd (m,) bool, errors."""

    boxes: np.ndarray
    category: np.ndarray
    crowd: np.ndarray
    errors: tuple[InjectedError, ...]


def annotate(scene: Scene, rng: np.random.Generator) -> Original:
    """Annotate a scene as the original annotators would have.

    Whatever overlaps too much to be told apart from another error is left correct, so that every
    error keeps the promises of this module's constants (asserted).
    """
    region = _region(scene, rng)
    kinds = _kinds(scene, region, rng)
    boxes: list[np.ndarray] = []
    category: list[int] = []
    errors: list[InjectedError] = []
    for i, planned in enumerate(kinds):
        kind = planned
        annotation = None if kind == MISSING else len(boxes)
        if kind != MISSING:
            box = _annotated_box(scene.boxes, i, kinds, boxes, rng)
            if box is None:
                kind, box = CORRECT, scene.boxes[i]
            boxes.append(box)
            category.append(_annotated_category(scene, i, kind, rng))
        if kind != CORRECT:
            inside = _mostly_inside(scene.boxes[i], region)
            errors.append(InjectedError(kind, i, annotation, inside))
    for box in _spurious_boxes(scene, boxes, region, rng):
        inside = _mostly_inside(box, region)
        errors.append(InjectedError(ORIGINAL_ONLY, None, len(boxes), inside))
        boxes.append(box)
        category.append(int(rng.integers(len(CLASSES))))
    crowd = [False] * len(boxes)
    if region is not None:
        boxes.append(region)
        category.append(int(scene.category[scene.clustered][0]))
        crowd.append(True)
    original = Original(
        boxes=np.array(boxes).reshape(-1, 4),
        category=np.array(category, dtype=np.int64),
        crowd=np.array(crowd, dtype=bool),
        errors=tuple(errors),
    )
    check_promises(scene, original)
    return original


def check_promises(scene: Scene, original: Original) -> None:
    """Assert that every injected error is what it says it is, seen against all true boxes."""
    overlap = pairwise_iou(original.boxes, scene.boxes)
    single = ~original.crowd
    owner = owners(len(scene.boxes), original)
    for error in original.errors:
        i, a = error.object, error.annotation
        if error.kind == MISSING:
            assert (overlap[:, i] <= NO_OVERLAP).all()
        elif error.kind == ORIGINAL_ONLY:
            assert (overlap[a] <= SPURIOUS_IOU).all()
        elif error.kind == MISALIGNED:
            low, high = MISALIGNED_IOU
            assert low - 0.01 <= overlap[a, i] <= high + 0.01
        else:
            assert original.category[a] != scene.category[i]
    wrong = {e.annotation for e in original.errors}
    for a in np.flatnonzero(single).tolist():
        i = owner[a]
        foreign = np.delete(overlap[a], i) if i >= 0 else overlap[a]
        assert (foreign <= FOREIGN_IOU).all()
        assert i < 0 or a in wrong or overlap[a, i] >= SAME_PLACE
        assert i < 0 or a in wrong or original.category[a] == scene.category[i]
    assert (overlap[original.crowd] < FOREIGN_IOU).all()


def owners(n_objects: int, original: Original) -> list[int]:
    """The object each non-crowd original box annotates, -1 for spurious ones."""
    missing = {e.object for e in original.errors if e.kind == MISSING}
    spurious = sum(e.kind == ORIGINAL_ONLY for e in original.errors)
    return [i for i in range(n_objects) if i not in missing] + [-1] * spurious


def _region(scene: Scene, rng: np.random.Generator) -> np.ndarray | None:
    """Ignore region around the cluster of tiny objects, wide enough to match none of them."""
    wanted = rng.random() < _REGION_SHARE
    if not wanted or not scene.clustered.any():
        return None
    members, rest = scene.boxes[scene.clustered], scene.boxes[~scene.clustered]
    if pairwise_iou(members, rest).max(initial=0.0) > _CROWDED_IOU:
        return None
    for pad in (2.0, 3.0, 4.0, 6.0, 8.0):
        grown = np.concatenate([members[:, :2].min(axis=0) - pad, members[:, 2:].max(axis=0) + pad])
        region = clip(grown, WIDTH, HEIGHT)
        if (iou(region, scene.boxes) <= NO_OVERLAP).all():
            return region
    return None


def _kinds(scene: Scene, region: np.ndarray | None, rng: np.random.Generator) -> list[str]:
    """What happens to each object; its whole cluster is missing where there is a region."""
    small = heights(scene.boxes) < _SMALL
    sure = ~scene.ambiguous & (scene.probabilities.max(axis=1) > 0.8)
    chance = np.stack([np.where(small, 0.3, 0.075), 0.085 * ~small, 0.07 * sure], axis=1)
    draw = rng.random(len(small))
    kinds = np.full(len(small), CORRECT, dtype=object)
    for k, kind in enumerate((MISSING, MISALIGNED, CLASSIFICATION)):
        low, high = chance[:, :k].sum(axis=1), chance[:, : k + 1].sum(axis=1)
        kinds[(draw >= low) & (draw < high)] = kind
    # A neighbour's box would overlap a missing object that is not by itself.
    overlap = pairwise_iou(scene.boxes, scene.boxes)
    np.fill_diagonal(overlap, 0.0)
    crowded = overlap.max(axis=1, initial=0.0) > _CROWDED_IOU
    kinds[(kinds == MISSING) & crowded] = CORRECT
    if region is not None:
        kinds[scene.clustered] = MISSING
    return [str(kind) for kind in kinds]


def _annotated_box(
    true: np.ndarray, i: int, kinds: list[str], boxes: list[np.ndarray], rng: np.random.Generator
) -> np.ndarray | None:
    """Box for object i that keeps the promises towards all others, None if none was found."""
    others = np.delete(true, i, axis=0)
    missing = np.delete(np.array(kinds) == MISSING, i)
    allowed = np.where(missing, NO_OVERLAP, FOREIGN_IOU)
    for _ in range(_TRIES):
        box = _misaligned(true[i], rng) if kinds[i] == MISALIGNED else _jittered(true[i], rng)
        if box is None or (iou(box, others) > allowed).any():
            continue
        if kinds[i] == MISALIGNED and boxes and iou(box, np.array(boxes)).max() >= 0.5:
            continue
        return box
    return None


def _jittered(true: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """The box as a careful annotator draws it, hundredths of a pixel."""
    sides = np.tile(true[2:] - true[:2], 2)
    box = _tidy(true + rng.normal(0.0, 0.03, size=4) * sides)
    return box if iou(box, true) >= SAME_PLACE else None


def _misaligned(true: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """Shift and stretch a box until its IoU with the true one has fallen to a drawn value."""
    target = rng.uniform(*MISALIGNED_IOU)
    sides = true[2:] - true[:2]
    centre, half = (true[:2] + true[2:]) / 2, sides / 2
    turn = rng.uniform(0, 2 * np.pi)
    shift = np.array([np.cos(turn), np.sin(turn)]) * sides
    stretch = rng.uniform(-0.7, 0.7, size=2)

    def moved(amount: float) -> np.ndarray:
        reach = half * np.exp(amount * stretch)
        return _tidy(
            np.concatenate([centre + amount * shift - reach, centre + amount * shift + reach])
        )

    low, high = 0.0, 1.5
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if iou(moved(middle), true) > target else (low, middle)
    box = moved(low)
    usable = (box[2:] - box[:2]).min() >= 4.0 and abs(iou(box, true) - target) < 0.01
    return box if usable else None


def _annotated_category(scene: Scene, i: int, kind: str, rng: np.random.Generator) -> int:
    true = int(scene.category[i])
    if kind != CLASSIFICATION:
        return true
    if rng.random() < 0.6:
        return partner(true)
    return int(rng.choice([k for k in range(len(CLASSES)) if k != true]))


def _spurious_boxes(
    scene: Scene, boxes: list[np.ndarray], region: np.ndarray | None, rng: np.random.Generator
) -> list[np.ndarray]:
    """Boxes around clutter or nothing, away from all objects and from each other."""
    taken = [*scene.boxes, *boxes] + ([] if region is None else [region])
    spurious: list[np.ndarray] = []
    for _ in range(int(rng.binomial(len(scene.boxes), 0.045))):
        box = stray_box(scene, np.array([*taken, *spurious]), rng)
        if box is not None:
            spurious.append(box)
    return spurious


def stray_box(scene: Scene, taken: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """Box on clutter or on empty background that hardly touches the taken ones (n, 4)."""
    for _ in range(_TRIES):
        if rng.random() < 0.6:
            box = scene.clutter[rng.integers(len(scene.clutter))]
            grow = np.maximum(7.0 - (box[2:] - box[:2]), 0.0) / 2 + rng.uniform(0, 1.5, size=2)
            box = _tidy(box + np.concatenate([-grow, grow]))
        else:
            corner, sides = rng.uniform(0, 115, size=2), rng.uniform(8, 30, size=2)
            box = _tidy(np.concatenate([corner, corner + sides]))
        apart = (iou(box, taken) <= SPURIOUS_IOU).all() and (ioa(taken, box) <= 0.25).all()
        if apart and (box[2:] - box[:2]).min() >= 6.0:
            return box
    return None


def _tidy(box: np.ndarray) -> np.ndarray:
    """Cut to the image and round to hundredths, as annotation files have them."""
    return np.round(clip(box, WIDTH, HEIGHT), 2)


def _mostly_inside(box: np.ndarray, region: np.ndarray | None) -> bool:
    return region is not None and bool(ioa(box, region) > 0.5)
