"""What every detector adapter shares: the interface, the run over a data set, suppression.

An adapter turns images into boxes with the *full* vector of class probabilities per kept box.
Scores and categories are derived from that vector here, so that they can never disagree with it,
unless an adapter that normalises its vectors gives the scores from before.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from tqdm import tqdm

from labelquality import geometry
from labelquality.class_names import plain, unknown
from labelquality.errors import DataError
from labelquality.images import load_rgb
from labelquality.tables import Table, concatenate, make_table

ProbabilityKind = Literal["sigmoid", "softmax", "softmax+background"]


@dataclass(frozen=True)
class Candidates:
    """The boxes that suppression and the limit on their number chose from, those kept included.

    boxes : (m, 4) float64, as in `ImageDetections`; scores : (m,) float64; categories : (m,) int32.
    """

    boxes: np.ndarray
    scores: np.ndarray
    categories: np.ndarray


@dataclass(frozen=True)
class ImageDetections:
    """What a detector says about one image.

    boxes : (n, 4) float64, ``x1 y1 x2 y2`` pixels of the original image, clipped to it.
    probabilities : (n, K) float32, or (n, K+1) with the background last; kept boxes only.
    degenerate : boxes that were dropped because nothing of them was left inside the image.
    scores : (n,) float64 where they are not the largest probabilities.
    candidates : None from an adapter that cannot tell them.
    """

    boxes: np.ndarray
    probabilities: np.ndarray
    degenerate: int = 0
    scores: np.ndarray | None = None
    candidates: Candidates | None = None

    def __len__(self) -> int:
        return len(self.boxes)


class Detector(Protocol):
    """A loaded model. `detect` gives one `ImageDetections` per image, in the same order.

    model : the torch module; `detect` runs where its parameters are.
    libraries : distributions whose versions are recorded with the output.
    """

    model: Any
    family: str
    probability_kind: ProbabilityKind
    libraries: tuple[str, ...]

    def detect(self, images: Sequence[np.ndarray]) -> list[ImageDetections]:
        """Detect on (h, w, 3) uint8 RGB images of any sizes; batch-mates never matter."""
        ...


def scores_and_categories(
    probabilities: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest of the K real classes' probabilities and its index (first wins).

    probabilities : (n, K) or (n, K+1), background last and never a category.
    """
    real = np.asarray(probabilities)[:, :n_classes]
    if not len(real):
        return np.zeros(0), np.zeros(0, np.int32)
    return real.max(axis=1).astype(np.float64), real.argmax(axis=1).astype(np.int32)


def best_rows(scores: np.ndarray, threshold: float, limit: int | None) -> np.ndarray:
    """Return rows with ``score > threshold``, best first (ties: lower row), at most `limit`."""
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable")
    return order[scores[order] > threshold][:limit]


def suppress(
    boxes: np.ndarray, scores: np.ndarray, categories: np.ndarray, iou_threshold: float
) -> np.ndarray:
    """Class-wise non-maximum suppression that returns the kept *row indices*, best first.

    A box goes when a better one of its category overlaps it by IoU > `iou_threshold`. Equal
    scores are ordered by category, then row: a total order, independent of the library's sort.
    There is no time limit, unlike in ultralytics' own suppression.
    """
    import torch
    from torchvision.ops import batched_nms

    order = np.lexsort((np.arange(len(scores)), categories, -np.asarray(scores, np.float64)))
    ranked = torch.arange(len(order), 0, -1, dtype=torch.float64)
    kept = batched_nms(
        torch.from_numpy(np.asarray(boxes, np.float64)[order].reshape(-1, 4)),
        ranked,
        torch.from_numpy(np.asarray(categories, np.int64)[order]),
        iou_threshold,
    )
    return order[kept.numpy()]


def clip_to_image(
    boxes: np.ndarray, width: ArrayLike, height: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes cut to their image and which of them have anything left, (n, 4) and (n,).

    width, height : one number, or one per box.
    """
    boxes = np.asarray(boxes, np.float64).reshape(-1, 4)
    finite: np.ndarray = np.all(np.isfinite(boxes), axis=1)
    inside = geometry.clip(np.where(finite[:, None], boxes, 0.0), width, height)
    return inside, finite & np.all(inside[:, 2:] > inside[:, :2], axis=1)


def clipped(
    boxes: np.ndarray, probabilities: np.ndarray, width: float, height: float
) -> ImageDetections:
    """Clip boxes to the image, drop and count those of which nothing (or no number) is left."""
    inside, sound = clip_to_image(boxes, width, height)
    probabilities = np.asarray(probabilities, np.float32)
    return ImageDetections(inside[sound], probabilities[sound], int((~sound).sum()))


def match_classes(own: Sequence[str], wanted: Sequence[str], model: str) -> np.ndarray:
    """Return for each wanted class its index in the model's own class list.

    Names are compared in lower case, without spaces, underscores and hyphens.

    Raises
    ------
    DataError : a wanted class is not among the model's.
    """
    index: dict[str, int] = {}
    for position, name in enumerate(own):
        index.setdefault(plain(name), position)
    if missing := unknown(wanted, own):
        raise DataError(
            f"{model}: the model does not know the classes {', '.join(missing)}; its own are "
            f"{', '.join(own)}. Use weights trained on this data set or an open-vocabulary family."
        )
    return np.array([index[plain(name)] for name in wanted], dtype=np.intp)


def _plain(name: str) -> str:
    return name.lower().translate(str.maketrans("", "", " _-"))


def limit_side_effects() -> None:
    """Switch off everything the detector libraries would do behind the user's back.

    No look-ups, downloads, installs, telemetry, or files in the user's home. Must run before
    the libraries are imported: they read these switches once.
    """
    os.environ.update(
        YOLO_OFFLINE="true",
        YOLO_AUTOINSTALL="false",
        YOLO_VERBOSE="false",
        HF_HUB_OFFLINE="1",
        TRANSFORMERS_OFFLINE="1",
        HF_HUB_DISABLE_TELEMETRY="1",
        HF_HUB_DISABLE_PROGRESS_BARS="1",
        DO_NOT_TRACK="1",
        TOKENIZERS_PARALLELISM="false",
    )
    if "YOLO_CONFIG_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="labelquality-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["YOLO_CONFIG_DIR"] = folder


@dataclass(frozen=True)
class Run:
    """The `detections` of a run, and the `candidates` that they were chosen from.

    The candidates of an adapter that cannot tell them speak of no image.
    """

    detections: Table
    candidates: Table


def run(
    detector: Detector,
    images: Table,
    image_folder: str | Path,
    classes: Sequence[str],
    batch_size: int,
    *,
    progress: bool = True,
) -> Run:
    """Run a detector over a data set.

    Every image of `images` is listed in the result's `image_ids`, so one without detections is
    told from one never seen. The result depends neither on `batch_size` nor on row order.

    Raises
    ------
    DataError : images that cannot be read or differ in size from the table (all are named
        at once: from the first such image on, the rest are only read).
    """
    frame = images.frame.sort_values("image_id", kind="stable")
    ids = frame["image_id"].tolist()
    results: list[ImageDetections] = []
    unusable: list[str] = []
    with _progress_bar(len(ids), progress) as bar:
        for rows in _chunks(len(ids), batch_size):
            loaded = _load(frame.iloc[rows.start : rows.stop], Path(image_folder), unusable)
            if not unusable:
                results += detector.detect(loaded)
            bar.update(len(rows))
    if unusable:
        shown = "; ".join(unusable[:5]) + ("; ..." if len(unusable) > 5 else "")
        raise DataError(f"{len(unusable)} of {len(ids)} images cannot be used: {shown}")
    return Run(
        _detections(detector, ids, results, classes), _candidates(detector, ids, results, classes)
    )


def _detections(
    detector: Detector, ids: list[str], results: list[ImageDetections], classes: Sequence[str]
) -> Table:
    kind = detector.probability_kind
    empty = np.zeros((0, len(classes) + (kind == "softmax+background")), np.float32)
    given = [r.scores for r in results if r.scores is not None]
    return detections_table(
        np.repeat(np.array(ids, dtype=object), [len(r) for r in results]),
        np.concatenate([np.zeros((0, 4)), *(r.boxes for r in results)]),
        np.concatenate([empty, *(r.probabilities for r in results)]),
        classes,
        {
            "probability_kind": kind,
            "family": detector.family,
            "degenerate_boxes": str(sum(r.degenerate for r in results)),
            "versions": _versions(("pillow", *detector.libraries)),
        },
        ids,
        scores=np.concatenate(given) if given else None,
    )


def _candidates(
    detector: Detector, ids: list[str], results: list[ImageDetections], classes: Sequence[str]
) -> Table:
    told = [
        (i, r.candidates) for i, r in zip(ids, results, strict=True) if r.candidates is not None
    ]
    return make_table(
        "candidates",
        {
            "image_id": np.repeat(
                np.array([i for i, _ in told], dtype=object), [len(c.scores) for _, c in told]
            ),
            "score": np.concatenate([np.zeros(0), *(c.scores for _, c in told)]),
            "category": np.concatenate([np.zeros(0, np.int32), *(c.categories for _, c in told)]),
        },
        classes,
        boxes=np.concatenate([np.zeros((0, 4)), *(c.boxes for _, c in told)]),
        meta={"family": detector.family},
        image_ids=[i for i, _ in told],
    )


def detections_table(
    row_image_ids: ArrayLike,
    boxes: np.ndarray,
    probabilities: np.ndarray,
    classes: Sequence[str],
    meta: Mapping[str, str],
    image_ids: Sequence[str],
    *,
    scores: np.ndarray | None = None,
) -> Table:
    """Return the table of detections whose scores and categories follow from the vectors.

    meta : must hold probability_kind.
    image_ids : every processed image, those without rows included.
    scores : where they are not the largest probabilities of the classes.
    """
    largest, categories = scores_and_categories(probabilities, len(classes))
    return make_table(
        "detections",
        {
            "image_id": row_image_ids,
            "score": largest if scores is None else scores,
            "category": categories,
        },
        classes,
        boxes=boxes,
        vectors={"probabilities": probabilities.astype(np.float32)},
        meta=meta,
        image_ids=image_ids,
    )


def gather(shards: Sequence[Table]) -> Table:
    """One table of detections of the shards of a run; the boxes they dropped add up.

    Raises
    ------
    DataError : shards of different detectors, classes or library versions.
    """
    dropped = str(sum(int(shard.meta["degenerate_boxes"]) for shard in shards))
    return concatenate([replace(s, meta={**s.meta, "degenerate_boxes": dropped}) for s in shards])


def _chunks(n: int, size: int) -> Iterator[range]:
    return (range(start, min(start + size, n)) for start in range(0, n, size))


def _progress_bar(total: int, shown: bool) -> tqdm:
    return tqdm(
        total=total, disable=not shown, ascii=True, mininterval=5.0, unit="image", desc="detect"
    )


def _load(rows: pd.DataFrame, folder: Path, unusable: list[str]) -> list[np.ndarray]:
    loaded = []
    for row in rows.itertuples(index=False):
        path = folder / str(row.file_name)
        try:
            image = load_rgb(path)
            height, width = image.shape[:2]
            if (height, width) != (row.height, row.width):
                raise DataError(
                    f"{path}: is {width}x{height} pixels, the images table says "
                    f"{row.width}x{row.height}; fetch it again or correct the annotation file"
                )
            loaded.append(image)
        except DataError as error:
            unusable.append(str(error))
    return loaded


def _versions(distributions: Sequence[str]) -> str:
    found = []
    for name in sorted(distributions):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} unknown")
    return ", ".join(found)
