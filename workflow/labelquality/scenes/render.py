"""Draws the demo's images together with everything that is true about them."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from labelquality.geometry import pairwise_iou
from labelquality.scenes.shapes import CLASSES, MAX_TILT, PAIRS, outline, partner

WIDTH = HEIGHT = 128
_FINE = 4  # supersampling; boxes are exact to 1 / _FINE pixel
_MAX_OBJECTS = 10
_SIZES = (6.6, 60.0)
_MIN_VISIBLE = 0.27
_MIN_SIDE = 4.5
_AMBIGUOUS_FROM = 13.0  # below this size a morph could not be seen
_CLUSTER_SHARE = 0.055
_HUE_SD = 20.0 / 360.0


@dataclass(frozen=True)
class Scene:
    """One image and its truth; n objects, K = 6 classes.

    Attributes
    ----------
    image : (128, 128, 3) uint8
    boxes : (n, 4) float64
        x1, y1, x2, y2 of the whole shape in pixels, as if nothing stood before it, clipped to the
        image.
    category : (n,) int
        Class meant; for ambiguous shapes the more probable one.
    probabilities : (n, K + 1) float64
        What people would answer, can't-solve last; rows sum to 1.
    visible : (n,) float64
        Share of the shape that can be seen, in [0.25, 1].
    ambiguous : (n,) bool
        Shape between two classes.
    clustered : (n,) bool
        Member of a cluster of tiny objects.
    clutter : (m, 4) float64
        Extents of the drawn lines and arcs that are no object.
    """

    image: np.ndarray
    boxes: np.ndarray
    category: np.ndarray
    probabilities: np.ndarray
    visible: np.ndarray
    ambiguous: np.ndarray
    clustered: np.ndarray
    clutter: np.ndarray


@dataclass(frozen=True)
class _Plan:
    """What is to be drawn before it has found its place."""

    category: int
    morph: float
    size: float
    centre: tuple[float, float]
    clustered: bool = False


DRAWING, LABELS, ANNOTATION, VOTES, DUPLICATES, REVIEW = range(6)
"""Stages with random numbers of their own, so that one can change without the others."""


def stream(split: str, index: int, seed: int, stage: int) -> np.random.Generator:
    """Random numbers that depend on these four values alone, so no two splits share any."""
    name = int.from_bytes(split.encode(), "big")
    return np.random.default_rng(np.random.SeedSequence([seed, name, index], spawn_key=(stage,)))


def draw_scene(split: str, index: int, seed: int) -> Scene:
    """Draw image `index` of a split.

    Parameters
    ----------
    split : str
        Any non-empty name; every name has its own images.
    index : int
        0-based number of the image.
    seed : int
        Non-negative.
    """
    rng = stream(split, index, seed, DRAWING)
    canvas = _background(rng)
    clutter = _draw_clutter(canvas, rng)
    owner = np.full((HEIGHT * _FINE, WIDTH * _FINE), -1, dtype=np.int16)
    drawn: list[_Plan] = []
    boxes = np.empty((0, 4))
    full: list[float] = []
    for plan in _plans(rng):
        placed = _place(canvas, owner, plan, boxes, np.array(full), rng)
        if placed is not None:
            drawn.append(plan)
            boxes = np.vstack([boxes, placed[0]])
            full.append(placed[1])
    visible = np.bincount(owner[owner >= 0], minlength=len(drawn)) / np.array(full)
    probabilities = np.array(
        [
            human_probabilities(plan.category, plan.morph, box[3] - box[1], seen)
            for plan, box, seen in zip(drawn, boxes, visible, strict=True)
        ]
    ).reshape(-1, len(CLASSES) + 1)
    return Scene(
        image=_finish(canvas, rng),
        boxes=boxes,
        category=probabilities[:, :-1].argmax(axis=1),
        probabilities=probabilities,
        visible=visible,
        ambiguous=np.array([plan.morph > 0 for plan in drawn], dtype=bool),
        clustered=np.array([plan.clustered for plan in drawn], dtype=bool),
        clutter=clutter,
    )


def human_probabilities(category: int, morph: float, height: float, visible: float) -> np.ndarray:
    """Share of people who would give each class, can't-solve last.

    Parameters
    ----------
    category : int
        The pure class the shape starts from.
    morph : float
        0 (pure) to 1 (the other class of the pair); a logistic curve in between.
    height : float
        Pixels; below about 10 people confuse classes and give up more often.
    visible : float
        In (0, 1]; below about 0.45 people give up more often.

    Returns
    -------
    (K + 1,) float64, sum 1
    """
    tiny = _logistic((8.5 - height) / 1.3)
    hidden = _logistic((0.4 - visible) / 0.05)
    other = partner(category)
    slip = 0.015 + 0.08 * tiny + 0.05 * hidden
    shape = np.full(len(CLASSES), 0.4 * slip / (len(CLASSES) - 2))
    crossing = slip + (1 - slip) * _logistic(8.0 * (morph - 0.5)) if morph > 0 else 0.6 * slip
    shape[other] = crossing
    shape[category] = 0.0
    shape[category] = 1.0 - shape.sum()
    cant_solve = 1.0 - (1 - 0.004) * (1 - 0.4 * _logistic((7.4 - height) / 1.1)) * (
        1 - 0.45 * hidden
    )
    answer = np.append((1.0 - cant_solve) * shape, cant_solve)
    return answer / answer.sum()


def training_labels(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    """Categories (n,) to train on: ambiguous objects get a class drawn from what people say.

    A detector trained on the more probable class alone would be sure of it; one that sees both
    answers can learn how often each is given.
    """
    labels = scene.category.copy()
    for i in np.flatnonzero(scene.ambiguous):
        real = scene.probabilities[i, :-1]
        labels[i] = rng.choice(len(real), p=real / real.sum())
    return labels


def _logistic(x: float) -> float:
    return float(1.0 / (1.0 + np.exp(-x)))


def _plans(rng: np.random.Generator) -> list[_Plan]:
    """Objects of one image, big ones first so that small ones lie on top."""
    count = 1 + int(rng.binomial(_MAX_OBJECTS - 1, 0.38))
    tiny: list[_Plan] = []
    if rng.random() < _CLUSTER_SHARE:
        tiny = _cluster(rng)
        count = min(count, _MAX_OBJECTS - len(tiny))
    low, high = np.log(_SIZES)
    sizes = np.exp(low + (high - low) * rng.random(count) ** 0.75)
    plans = []
    for size in sorted(sizes.tolist(), reverse=True):
        ambiguous = size >= _AMBIGUOUS_FROM and rng.random() < 0.23
        choices = [c for pair in PAIRS for c in pair] if ambiguous else range(len(CLASSES))
        category = int(rng.choice(choices))
        morph = float(rng.uniform(0.2, 0.8)) if ambiguous else 0.0
        centre = rng.uniform(0.03, 0.97, size=2) * (WIDTH, HEIGHT)
        plans.append(_Plan(category, morph, size, (float(centre[0]), float(centre[1]))))
    return plans + tiny


def _cluster(rng: np.random.Generator) -> list[_Plan]:
    """Four to six tiny objects of one class on a jittered 3 x 2 grid."""
    category = int(rng.integers(len(CLASSES)))
    corner = rng.uniform(10, (WIDTH - 38, HEIGHT - 28))
    cells = np.sort(rng.permutation(6)[: rng.integers(4, 7)])
    plans = []
    for cell in cells.tolist():
        x, y = corner + 10.0 * np.array([cell % 3, cell // 3]) + rng.uniform(-1, 1, size=2)
        plans.append(_Plan(category, 0.0, float(rng.uniform(6.6, 8.5)), (x + 4, y + 4), True))
    return plans


def _place(
    canvas: Image.Image,
    owner: np.ndarray,
    plan: _Plan,
    boxes: np.ndarray,
    full: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float] | None:
    """Draw the plan where it hides no other object; returns its box and area in fine pixels.

    None when no such place was found.
    """
    colours = _colours(plan, rng)
    for attempt in range(12):
        shape = _polygon(plan, rng)
        if attempt and not plan.clustered:
            shape += rng.uniform(0.03, 0.97, size=2) * (WIDTH, HEIGHT) - plan.centre
        mask, left, top = _mask(shape)
        inside, left, top = _cropped(mask, left, top)
        if inside.sum() < 0.5 * mask.sum():
            continue
        box = _extent(inside, left, top)
        below = owner[top : top + inside.shape[0], left : left + inside.shape[1]]
        if _fits(box, below[inside], owner, boxes, full):
            below[inside] = len(boxes)
            _paint(canvas, shape, colours)
            return box, float(mask.sum())
    return None


def _fits(
    box: np.ndarray, covered: np.ndarray, owner: np.ndarray, boxes: np.ndarray, full: np.ndarray
) -> bool:
    """Whether a new shape is wide enough and leaves enough of every earlier object in sight."""
    if min(box[2] - box[0], box[3] - box[1]) < _MIN_SIDE:
        return False
    if not len(boxes):
        return True
    seen = np.bincount(owner[owner >= 0], minlength=len(boxes))
    hidden = np.bincount(covered[covered >= 0], minlength=len(boxes))
    left_over = (seen - hidden) / full
    return bool(left_over.min() >= _MIN_VISIBLE and pairwise_iou(box[None], boxes).max() <= 0.35)


def _cropped(mask: np.ndarray, left: int, top: int) -> tuple[np.ndarray, int, int]:
    """The part of a mask that lies in the image, and where it starts."""
    x, y = max(left, 0), max(top, 0)
    return mask[y - top : HEIGHT * _FINE - top, x - left : WIDTH * _FINE - left], x, y


def _extent(mask: np.ndarray, left: int, top: int) -> np.ndarray:
    """Box around a mask that is not empty, in pixels (4,)."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    ends = [left + columns[0], top + rows[0], left + columns[-1] + 1, top + rows[-1] + 1]
    return np.array(ends) / _FINE


def _polygon(plan: _Plan, rng: np.random.Generator) -> np.ndarray:
    """Stretched, turned outline at the planned place, its longer side the planned size (m, 2)."""
    points = outline(plan.category, plan.morph) * (rng.uniform(0.86, 1.0), 1.0)
    limit = MAX_TILT[plan.category]
    turn = np.radians(rng.uniform(-limit, limit))
    points = points @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    points = points - (points.min(axis=0) + points.max(axis=0)) / 2
    return points * (plan.size / np.ptp(points, axis=0).max()) + np.array(plan.centre)


def _mask(shape: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Fine-pixel mask of a polygon and the column and row where it starts."""
    fine = shape * _FINE
    left, top = np.floor(fine.min(axis=0)).astype(int)
    width, height = np.ceil(fine.max(axis=0)).astype(int) + 1 - (left, top)
    stencil = Image.new("L", (int(width), int(height)))
    ImageDraw.Draw(stencil).polygon(_flat(fine - (left, top)), fill=255)
    return np.asarray(stencil) > 0, int(left), int(top)


def _paint(canvas: Image.Image, shape: np.ndarray, colours: list[tuple[int, int, int]]) -> None:
    """Fill the polygon; a second colour is its rim."""
    brush = ImageDraw.Draw(canvas)
    brush.polygon(_flat(shape * _FINE), fill=colours[-1])
    if len(colours) == 2:
        centre = (shape.min(axis=0) + shape.max(axis=0)) / 2
        brush.polygon(_flat((centre + 0.82 * (shape - centre)) * _FINE), fill=colours[0])


def _flat(points: np.ndarray) -> list[float]:
    return [float(v) for v in points.ravel()]


def _colours(plan: _Plan, rng: np.random.Generator) -> list[tuple[int, int, int]]:
    """Fill colour and, half the time, a darker or paler rim."""
    towards = partner(plan.category) - plan.category
    hue = (plan.category + plan.morph * towards) / len(CLASSES) + rng.normal(0.0, _HUE_SD)
    saturation, value = rng.uniform(0.55, 0.95), rng.uniform(0.6, 0.98)
    colours = [_rgb(hue, saturation, value)]
    if rng.random() < 0.5 and plan.size >= 12:
        dark = rng.random() < 0.6
        colours.append(
            _rgb(hue, saturation, 0.45 * value) if dark else _rgb(hue, 0.3 * saturation, 1.0)
        )
    return colours


def _rgb(hue: float, saturation: float, value: float) -> tuple[int, int, int]:
    red, green, blue = colorsys.hsv_to_rgb(hue % 1.0, saturation, value)
    return round(255 * red), round(255 * green), round(255 * blue)


def _background(rng: np.random.Generator) -> Image.Image:
    """Soft blotches around a pale or dark tone."""
    tone = rng.uniform(60, 200) + rng.normal(0, 10, size=3)
    coarse = tone + rng.normal(0, 16, size=(7, 7, 1)) + rng.normal(0, 6, size=(7, 7, 3))
    small = Image.fromarray(np.clip(coarse, 0, 255).astype(np.uint8))
    smooth = small.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    return smooth.resize((WIDTH * _FINE, HEIGHT * _FINE), Image.Resampling.NEAREST)


def _draw_clutter(canvas: Image.Image, rng: np.random.Generator) -> np.ndarray:
    """Draw lines and arcs that are no object; returns their extents (m, 4)."""
    brush = ImageDraw.Draw(canvas)
    extents = []
    for _ in range(int(rng.integers(2, 7))):
        colour = _rgb(rng.random(), rng.uniform(0.0, 0.45), rng.uniform(0.25, 0.95))
        width = int(rng.integers(1, 3) * _FINE - rng.integers(0, 3))
        x, y = rng.uniform(0.05, 0.95, size=2) * (WIDTH, HEIGHT)
        reach, turn = rng.uniform(8, 36), rng.uniform(0, 2 * np.pi)
        start = turn + rng.uniform(0.3, 1.4) * np.array([-1.0, 1.0])
        if rng.random() < 0.5:
            ends = np.array([x, y]) + reach * np.stack([np.cos(start), np.sin(start)], axis=1)
            path = ends
        else:
            sweep = np.linspace(start[0], start[1], 25)
            path = np.array([x, y]) + reach * np.stack([np.cos(sweep), np.sin(sweep)], axis=1)
        brush.line(_flat(path * _FINE), fill=colour, width=width, joint="curve")
        pad = width / _FINE / 2
        extents.append([*(path.min(axis=0) - pad), *(path.max(axis=0) + pad)])
    return np.clip(np.array(extents), 0.0, [WIDTH, HEIGHT, WIDTH, HEIGHT])


def _finish(canvas: Image.Image, rng: np.random.Generator) -> np.ndarray:
    """Average down to the final size and add sensor noise."""
    small = np.asarray(canvas.reduce(_FINE), dtype=np.float32)
    noise = rng.standard_normal(small.shape, dtype=np.float32) * np.float32(rng.uniform(3, 8))
    return np.clip(np.rint(small + noise), 0, 255).astype(np.uint8)
