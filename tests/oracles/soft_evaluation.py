"""Soft evaluation, one prediction, one object and one recall level at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]


def iou(a: Vector, b: Vector) -> float:
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    union = area(a) + area(b) - width * height
    return width * height / union if union > 0 else 0.0


def area(box: Vector) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def distribution(p: Vector, kind: str, softmax_background: str) -> list[float]:
    p = [float(x) for x in p]
    if kind == "sigmoid" or (kind == "softmax" and softmax_background == "product"):
        p = [*p, math.prod(1 - x for x in p)]
    elif kind == "softmax":
        p = [*p, 0.0]
    total = sum(p)
    return [x / total for x in p] if total > 0 else [0.0] * (len(p) - 1) + [1.0]


def entropy(p: Vector, epsilon: float) -> float:
    return -sum(x * math.log(x + epsilon) for x in p if x > 0)


def similarity(p: Vector, q: Vector, name: str, epsilon: float) -> float:
    if name == "tv":
        return 1 - sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    if name == "cosine":
        product = sum(a * b for a, b in zip(p, q, strict=True))
        return product / math.sqrt(sum(a * a for a in p)) / math.sqrt(sum(b * b for b in q))
    divergence = 0.0
    for a, b in zip(p, q, strict=True):
        middle = (a + b) / 2
        for x in (a, b):
            if x > 0:
                divergence += x * math.log((x + epsilon) / (middle + epsilon)) / 2
    return 1 - math.sqrt(max(divergence, 0.0))


def ordering_key(p: Vector, ordering: str, epsilon: float) -> float:
    value = {
        "entropy_descending": entropy(p, epsilon),
        "entropy_ascending": -entropy(p, epsilon),
        "max_probability": max(p),
        "foreground": max(p[:-1]),
    }[ordering]
    return round(value, 10)


def match(
    predictions: list[dict], objects: list[dict], threshold: float, size: Vector, rule: str
) -> list[int | None]:
    """For every prediction, in the order given, the object it takes; one image."""

    def counts(o: int) -> bool:
        return size[0] <= area(objects[o]["box"]) <= size[1]

    taken: dict[int, int] = {}
    for i in sorted(range(len(predictions)), key=lambda i: -predictions[i]["score"]):
        overlap = [iou(predictions[i]["box"], o["box"]) for o in objects]
        wishes = [o for o in range(len(objects)) if overlap[o] >= threshold]
        wishes.sort(key=lambda o: (not counts(o), -overlap[o], o))
        if rule == "single_candidate":
            wishes = wishes[:1]
        free = [o for o in wishes if o not in taken.values()]
        if free:
            taken[i] = free[0]
    return [taken.get(i) for i in range(len(predictions))]


def area_under_curve(steps: list[tuple[float, bool]], n_objects: int) -> float:
    points, total, hits = [], 0.0, 0
    for k, (value, matched) in enumerate(steps, start=1):
        total += value
        hits += matched
        points.append((hits / n_objects, total / k))
    best = [
        max((mean for recall, mean in points if recall >= level / 100), default=0.0)
        for level in range(101)
    ]
    return sum(best) / 101


def evaluate(
    images: list[str],
    predictions: dict[str, list[dict]],
    objects: dict[str, list[dict]],
    kind: str,
    protocol: object,
    threshold: float,
    size: Vector,
    ordering: str,
    category: int | None = None,
) -> dict[str, float]:
    """All numbers of one IoU threshold, size range and ordering; boxes are `x1 y1 x2 y2`.

    With `category`, only objects whose most likely class it is, the predictions that match them,
    and the unmatched ones that name it.
    """

    def likely(o: dict) -> int:
        real = list(o["label"][:-1])
        return real.index(max(real))

    p = vars(protocol)
    epsilon, background = p["log_epsilon"], None
    images = [i for i in images if predictions.get(i) or p["images_without_predictions"] == "keep"]
    last = set(images[p["chunk"] - 1 :: p["chunk"]]) | set(images[-1:])
    rows: list[dict] = []
    n_objects = 0
    for image in images:
        here = [
            o
            for o in objects.get(image, [])
            if p["cant_solve_objects"] == "keep" or max(o["label"][:-1]) >= o["label"][-1]
        ]
        n_objects += sum(
            size[0] <= area(o["box"]) <= size[1] and category in (None, likely(o)) for o in here
        )
        partners = match(predictions.get(image, []), here, threshold, size, p["matching"])
        for prediction, partner in zip(predictions.get(image, []), partners, strict=True):
            box = prediction["box"] if partner is None else here[partner]["box"]
            if not size[0] <= area(box) <= size[1]:
                continue
            named = prediction["category"] if partner is None else likely(here[partner])
            if category not in (None, named):
                continue
            mine = distribution(prediction["p"], kind, p["softmax_background"])
            background = [0.0] * (len(mine) - 1) + [1.0]
            target = background if partner is None else here[partner]["label"]
            row = {n: similarity(mine, target, n, epsilon) for n in ("tv", "cosine", "js")}
            row |= {"key": ordering_key(mine, ordering, epsilon), "score": prediction["score"]}
            row |= {"matched": partner is not None, "image": image, "box": prediction["box"]}
            rows.append(row)
    rows.sort(key=lambda r: (-r["key"], -r["score"], r["image"], tuple(r["box"])))

    def mean(values: list[float]) -> float:
        return sum(values) / len(values) if values else math.nan

    numbers: dict[str, float] = {"n_objects": n_objects, "n_predictions": len(rows)}
    numbers["recall"] = sum(r["matched"] for r in rows) / n_objects if n_objects else math.nan
    sampled = [r for r in rows if p["distances_over"] == "all" or r["image"] in last]
    for name, measure in (("TVD", "tv"), ("root_JSD", "js")):
        numbers[name] = mean([1 - r[measure] for r in sampled])
        numbers[f"{name}_matched"] = mean([1 - r[measure] for r in sampled if r["matched"]])
    for name in ("tv", "cosine", "js"):
        steps = [(r[name], r["matched"]) for r in rows]
        numbers[f"mean_{name}"] = mean([r[name] for r in rows])
        numbers[f"AS_{name}"] = (
            area_under_curve(steps, n_objects) if n_objects else p["without_objects"]
        )
    return numbers
