"""Hard evaluation: COCO's average precision and recall, behind one validating adapter.

The evaluators number images and objects themselves, break ties by file order and alter what they
are given; the adapter hands them rows numbered from 1 in a total order, and copies.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.errors import DataError
from labelquality.evaluation.selection import rows_of_images
from labelquality.geometry import areas, xyxy_to_xywh
from labelquality.ordering import descending_within
from labelquality.tables import Table

Bools = NDArray[np.bool_]
Backend = Literal["hotcoco", "pycocotools", "faster_coco_eval"]
BACKENDS: tuple[Backend, ...] = ("hotcoco", "pycocotools", "faster_coco_eval")
SIZE_LIMITS = (32.0**2, 96.0**2)
_LARGEST = 1e10
_SIZES = ("all", "small", "medium", "large")
_MOST = (1, 10, 100)
# An area below every range makes an object one to ignore, with the ordinary IoU and one match: the
# evaluators overwrite a flag that says so, and `iscrowd` would change the overlap.
_IGNORED_AREA = -1.0


@dataclass(frozen=True)
class Result:
    """COCO's arrays, from which both the 12 numbers and those of the classes are read.

    precision (IoU, recall level, class, size, most detections), recall without the level; -1 where
    there is nothing to find. object_classes, detection_classes: class of every object that counts
    and of every detection.
    """

    classes: tuple[str, ...]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    object_classes: NDArray[np.intp]
    detection_classes: NDArray[np.intp]

    def summary(self) -> dict[str, float | None]:
        """COCO's 12 numbers in [0, 1]; None where no object is in the range."""
        return _numbers(self.precision, self.recall)

    def per_class(self) -> pd.DataFrame:
        """The 12 numbers of each class: category (its name), n_objects, n_detections, and they.

        Crowds, regions and difficult objects are not counted as objects; a number is NaN where no
        object of the class is in the range.
        """
        n_classes = len(self.classes)
        counts = {
            "category": list(self.classes),
            "n_objects": np.bincount(self.object_classes, minlength=n_classes),
            "n_detections": np.bincount(self.detection_classes, minlength=n_classes),
        }
        numbers = [
            _numbers(self.precision[:, :, [k]], self.recall[:, [k]]) for k in range(n_classes)
        ]
        return pd.DataFrame(counts).join(pd.DataFrame(numbers, dtype=np.float64))


def _numbers(
    precision: NDArray[np.float64], recall: NDArray[np.float64]
) -> dict[str, float | None]:
    """COCO's 12 numbers, from arrays as in `Result` with the classes to average over."""
    numbers = {
        "AP": precision[:, :, :, 0, 2],
        "AP50": precision[0, :, :, 0, 2],
        "AP75": precision[5, :, :, 0, 2],
    }
    numbers |= {f"AP_{s}": precision[:, :, :, i, 2] for i, s in enumerate(_SIZES) if i}
    numbers |= {f"AR_{n}": recall[:, :, 0, i] for i, n in enumerate(_MOST)}
    numbers |= {f"AR_{s}": recall[:, :, i, 2] for i, s in enumerate(_SIZES) if i}
    return {name: _mean(values) for name, values in numbers.items()}


def _mean(values: NDArray[np.float64]) -> float | None:
    known = values[values > -1]
    return float(np.mean(known)) if known.size else None


def evaluate(
    detections: Table,
    ground_truth: Table,
    image_ids: Sequence[str],
    *,
    backend: Backend = "hotcoco",
    size_limits: tuple[float, float] = SIZE_LIMITS,
) -> Result:
    """Evaluate detections on `image_ids`, with one of the evaluators.

    The numbers are AP, AP50, AP75, AP_small, AP_medium, AP_large, AR_1, AR_10, AR_100, AR_small,
    AR_medium, AR_large: means over classes that have objects, IoU thresholds 0.50 to 0.95, 100
    detections per image and class. `size_limits` are the areas in square pixels that part small,
    medium and large, counted to both sides; the area of an object is that of its box.

    Crowds and regions are ignore regions of their class, a region without class one of every class:
    detections inside count neither way. A difficult object counts neither way, nor does the
    detection that matches it. Equal scores go by image, box and category, never by row.

    Raises DataError when an image was not processed, the classes differ, a number is not finite, an
    object has no class, or the backend is not installed (`faster_coco_eval` is optional).
    """
    if detections.classes != ground_truth.classes:
        raise DataError(
            f"detections: classes {list(detections.classes)} differ from those of the ground truth"
            f" {list(ground_truth.classes)}; use detections made for this data set"
        )
    if backend not in BACKENDS:
        raise DataError(f"backend {backend!r} is unknown; should be one of {BACKENDS}")
    image_ids = sorted(image_ids)
    columns = _ground_truth_columns(ground_truth, image_ids)
    results = _detection_rows(detections, image_ids)
    n_images, n_classes = len(image_ids), len(detections.classes)
    arrays = _RUNNERS[backend](columns, results, n_images, n_classes, size_limits)
    objects = ~columns["iscrowd"] & (columns["area"] >= 0)
    return Result(
        detections.classes,
        *arrays,
        (columns["category_ids"][objects] - 1).astype(np.intp),
        (results[:, 6] - 1).astype(np.intp),
    )


def _ground_truth_columns(table: Table, image_ids: Sequence[str]) -> dict[str, NDArray]:
    """Columns of the annotations, numbers from 1, in the order of image, box and category."""
    selected, image = rows_of_images(table, image_ids)
    frame, boxes = selected.frame, selected.boxes
    category = frame["category"].to_numpy(dtype=np.intp)
    region = (frame["region"] != "").to_numpy(dtype=bool)
    crowd = frame["crowd"].to_numpy(dtype=bool) | region
    difficult = frame["difficult"].to_numpy(dtype=bool)
    finite = np.asarray(np.isfinite(boxes).all(axis=1))
    has_class = (category >= 0) | region
    _require(frame, finite, "annotations", "box is not finite")
    _require(frame, has_class, "annotations", "object has no class")

    # A region without a class speaks for every class, and the evaluators know one class a row.
    n_classes = len(table.classes)
    repeats = np.where(category < 0, n_classes, 1)
    rows = np.repeat(np.arange(len(category)), repeats)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    category = np.where(category[rows] < 0, within, category[rows])
    order = np.lexsort([category, *boxes[rows].T[::-1], image[rows]])
    rows, category = rows[order], category[order]
    ignored = difficult[rows] & ~crowd[rows]
    return {
        "image_ids": image[rows] + 1,
        "category_ids": category + 1,
        "boxes": xyxy_to_xywh(boxes[rows]),
        "area": np.where(ignored, _IGNORED_AREA, areas(boxes[rows])),
        "iscrowd": crowd[rows],
    }


def _detection_rows(table: Table, image_ids: Sequence[str]) -> NDArray[np.float64]:
    """Rows (n, 7): image, x, y, width, height, score, category, numbers from 1, in total order."""
    selected, image = rows_of_images(table, image_ids)
    frame, boxes = selected.frame, selected.boxes
    score = frame["score"].to_numpy(dtype=np.float64)
    category = frame["category"].to_numpy(dtype=np.intp)
    known = (category >= 0) & (category < len(table.classes))
    finite = np.isfinite(boxes).all(axis=1) & np.isfinite(score)
    _require(frame, finite, "detections", "box or score is not finite")
    _require(frame, known, "detections", "category is no class")
    order = descending_within(image, score, [*boxes.T, category])
    columns = [image[order] + 1, xyxy_to_xywh(boxes[order]), score[order], category[order] + 1]
    return np.column_stack(columns).astype(np.float64)


def _require(frame: pd.DataFrame, good: Bools, name: str, rule: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        image = frame["image_id"].iloc[row]
        raise DataError(
            f"{name}: image {image}, {rule} ({int((~good).sum())} rows); mend or leave out these"
        )


def _area_ranges(size_limits: tuple[float, float]) -> list[list[float]]:
    low, high = size_limits
    return [[0.0, _LARGEST], [0.0, low], [low, high], [high, _LARGEST]]


def _hotcoco(
    columns: dict[str, Any],
    results: NDArray[np.float64],
    n_images: int,
    n_classes: int,
    size_limits: tuple[float, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import hotcoco

    images = [{"id": i} for i in range(1, n_images + 1)]
    categories = [{"id": k, "name": str(k)} for k in range(1, n_classes + 1)]
    truth = hotcoco.COCO.from_arrays(images, categories, **columns)
    return _arrays(hotcoco.COCOeval(truth, truth.load_res(results), "bbox"), size_limits)


def _pycocotools(
    columns: dict[str, NDArray],
    results: NDArray[np.float64],
    n_images: int,
    n_classes: int,
    size_limits: tuple[float, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        truth, found = _indexed(COCO, columns, results, n_images, n_classes)
        return _arrays(COCOeval(truth, found, "bbox"), size_limits)


def _faster_coco_eval(
    columns: dict[str, NDArray],
    results: NDArray[np.float64],
    n_images: int,
    n_classes: int,
    size_limits: tuple[float, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        from faster_coco_eval import COCO, COCOeval_faster
    except ModuleNotFoundError:
        raise DataError(
            "backend 'faster_coco_eval' is not installed; pip install faster-coco-eval, or use"
            " another backend"
        ) from None

    truth, found = _indexed(COCO, columns, results, n_images, n_classes)
    return _arrays(COCOeval_faster(truth, found, "bbox"), size_limits)


def _indexed(
    dataset: Callable[[], Any],
    columns: dict[str, NDArray],
    results: NDArray[np.float64],
    n_images: int,
    n_classes: int,
) -> tuple[Any, Any]:
    """Ground truth and detections as two of pycocotools' data sets, or of one made like them."""
    annotations = [
        {"id": i, "image_id": image, "category_id": k, "bbox": box, "area": area, "iscrowd": crowd}
        for i, (image, k, box, area, crowd) in enumerate(
            zip(*(columns[c].tolist() for c in columns), strict=True), start=1
        )
    ]
    detections = [
        {
            "id": i,
            "image_id": int(image),
            "category_id": int(k),
            "bbox": box,
            "area": box[2] * box[3],
            "iscrowd": 0,
            "score": score,
        }
        for i, (image, *box, score, k) in enumerate(results.tolist(), start=1)
    ]
    shared = {
        "images": [{"id": i} for i in range(1, n_images + 1)],
        "categories": [{"id": k} for k in range(1, n_classes + 1)],
    }
    both = dataset(), dataset()
    for one, rows in zip(both, (annotations, detections), strict=True):
        one.dataset = shared | {"annotations": rows}
        one.createIndex()
    return both


def _arrays(
    evaluator: Any, size_limits: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Run any of the evaluators; they share COCO's interface and layout of arrays."""
    evaluator.params.areaRng = _area_ranges(size_limits)
    evaluator.params.areaRngLbl = list(_SIZES)
    evaluator.params.maxDets = list(_MOST)
    evaluator.evaluate()
    evaluator.accumulate()
    return (
        np.asarray(evaluator.eval["precision"], dtype=np.float64),
        np.asarray(evaluator.eval["recall"], dtype=np.float64),
    )


_RUNNERS = {
    "hotcoco": _hotcoco,
    "pycocotools": _pycocotools,
    "faster_coco_eval": _faster_coco_eval,
}
