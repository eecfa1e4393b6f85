"""Detections that someone else made, read from a file instead of run.

Formats (`format` of the spec):

- ``coco``: COCO results JSON, a list of ``{image_id, category_id, bbox [x, y, w, h], score}``,
  each optionally with ``probabilities`` (or ``probs``): K or K+1 numbers in class order.
- ``pascal_xywh``, ``pascal_xyxy``: a folder with one text file per image, lines of
  ``class score`` and four numbers; the class is a name or a 0-based index. An image without a
  file counts as one without detections.
- ``parquet``: a table of detections of this package.

Boxes are 0-based continuous pixels. Without vectors, the probability is the score for the
category and 0 for all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from labelquality import geometry
from labelquality.detectors.base import clip_to_image, detections_table, match_classes
from labelquality.errors import DataError
from labelquality.tables import Table, read_table

FORMATS = ("coco", "pascal_xywh", "pascal_xyxy", "parquet")
# Rounding in text files must not count as a contradiction.
SCORE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Records:
    """Rows as read: where each stands, its image key, class index, score, box and vector."""

    places: list[str]
    images: list[str]
    categories: np.ndarray
    scores: np.ndarray
    boxes: np.ndarray
    vectors: np.ndarray | None


def read_detections(spec: Mapping[str, Any], images: Table, classes: Sequence[str]) -> Table:
    """Read the detections that a spec of the family `imported` names.

    spec : `weights` (the file or folder), `format`, `probability_kind` (of the vectors) and
        `annotations` (COCO only): path of the COCO instances file whose image and category ids
        are meant. Without it image ids are those of the images table, and category ids 1 to K.

    Raises
    ------
    DataError : file unreadable, unknown images or categories, a value out of range, a vector of
        the wrong length or that contradicts its category or score.
    """
    path = Path(spec["weights"])
    if spec["format"] not in FORMATS:
        raise DataError(
            f"detector {spec['name']}: format {spec['format']!r} is none of {', '.join(FORMATS)}"
        )
    if not path.exists():
        raise DataError(f"{path}: not found; correct `weights` of detector {spec['name']}")
    if spec["format"] == "parquet":
        return _from_parquet(path, images, classes)
    if spec["format"] == "coco":
        records = _from_coco(path, classes, spec.get("annotations"))
    else:
        records = _from_text(path, classes, spec["format"])
    return _to_table(records, images, classes, spec, path)


def _to_table(
    records: Records, images: Table, classes: Sequence[str], spec: Mapping[str, Any], path: Path
) -> Table:
    kind = spec["probability_kind"] or "sigmoid"
    if records.vectors is None and kind != "sigmoid":
        raise DataError(
            f"{path}: probability_kind is {kind}, but no record has probabilities; add them, or "
            "say sigmoid"
        )
    _check_numbers(records)
    rows = _image_rows(records.images, images, path)
    vectors = _one_hot(records, len(classes)) if records.vectors is None else records.vectors
    _check_vectors(records, vectors, classes, kind)
    frame = images.frame
    inside, sound = clip_to_image(
        records.boxes, frame["width"].to_numpy()[rows], frame["height"].to_numpy()[rows]
    )
    ids = np.array(frame["image_id"], dtype=object)
    meta = {
        "probability_kind": kind,
        "family": "imported",
        "degenerate_boxes": str(int((~sound).sum())),
        "images_without_records": str(len(ids) - len(np.unique(rows))),
        "full_vectors": "no" if records.vectors is None else "yes",
    }
    probabilities = _normalised(vectors[sound], kind)
    return detections_table(
        ids[rows][sound], inside[sound], probabilities, classes, meta, list(ids)
    )


def _from_coco(path: Path, classes: Sequence[str], annotations: str | None) -> Records:
    raw = _json(path)
    if not isinstance(raw, list):
        raise DataError(
            f"{path}: not a COCO results file, which is a list of detections; "
            "did you give the annotation file?"
        )
    places = [f"{path}: record {i}" for i in range(len(raw))]
    for place, record in zip(places, raw, strict=True):
        for field in ("image_id", "category_id", "bbox", "score"):
            if not isinstance(record, dict) or field not in record:
                raise DataError(f"{place}: has no {field}")
    index, file_names = _coco_ids(classes, annotations)
    unknown = sorted({r["category_id"] for r in raw} - set(index), key=str)
    if unknown:
        shown = ", ".join(map(str, unknown[:10])) + (", ..." if len(unknown) > 10 else "")
        raise DataError(
            f"{path}: category_id {shown} are none of the data set's ids {_span(list(index))}. "
            "Were class indices written instead of ids (COCO: 80 indices, ids 1 to 90)? Map them, "
            "or name the instances file they belong to as `annotations`"
        )
    boxes = _matrix([r["bbox"] for r in raw], 4, places, "bbox")
    return Records(
        places,
        [file_names.get(r["image_id"], str(r["image_id"])) for r in raw],
        np.array([index[r["category_id"]] for r in raw], np.int64),
        _matrix([[r["score"]] for r in raw], 1, places, "score")[:, 0],
        geometry.xywh_to_xyxy(boxes),
        _coco_vectors(raw, len(classes), places),
    )


def _coco_vectors(
    raw: list[dict[str, Any]], n_classes: int, places: list[str]
) -> np.ndarray | None:
    vectors: list[Any] = [r.get("probabilities", r.get("probs")) for r in raw]
    given = [i for i, v in enumerate(vectors) if v is not None]
    if not given:
        return None
    if len(given) < len(raw):
        lacking = next(i for i, v in enumerate(vectors) if v is None)
        raise DataError(f"{places[lacking]}: has no probabilities, though others have; add them")
    width = len(vectors[0])
    if width not in (n_classes, n_classes + 1):
        raise DataError(
            f"{places[0]}: {width} probabilities for {n_classes} classes; give {n_classes}, or "
            f"{n_classes + 1} with the background last"
        )
    return _matrix(vectors, width, places, "probabilities")


def _coco_ids(
    classes: Sequence[str], annotations: str | None
) -> tuple[dict[Any, int], dict[Any, str]]:
    """Class index of each category id and file name of each image id."""
    if annotations is None:
        return {k + 1: k for k in range(len(classes))}, {}
    content = _json(Path(annotations))
    try:
        categories = [(c["id"], c["name"]) for c in content["categories"]]
        file_names = {i["id"]: i["file_name"] for i in content["images"]}
    except (KeyError, TypeError):
        raise DataError(
            f"{annotations}: not a COCO instances file; correct `annotations`"
        ) from None
    positions = match_classes([name for _, name in categories], classes, annotations)
    return {categories[p][0]: k for k, p in enumerate(positions)}, file_names


def _from_text(folder: Path, classes: Sequence[str], text_format: str) -> Records:
    names = {name: k for k, name in enumerate(classes)} | {
        str(k): k for k in range(len(classes)) if str(k) not in classes
    }
    places, keys, categories, numbers = [], [], [], []
    for file in sorted(folder.glob("*.txt")):
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            if not line.strip():
                continue
            place = f"{file}: line {number}"
            # Class names may hold spaces; the last five words are numbers.
            words = line.rsplit(maxsplit=5)
            if len(words) != 6:
                raise DataError(f"{place}: expected a class, a score and four numbers: {line!r}")
            if words[0].strip() not in names:
                raise DataError(
                    f"{place}: class {words[0].strip()!r} is neither a name of the data set "
                    f"({', '.join(classes)}) nor an index 0 to {len(classes) - 1}"
                )
            places.append(place)
            keys.append(file.stem)
            categories.append(names[words[0].strip()])
            numbers.append(words[1:])
    values = _matrix(numbers, 5, places, "score or box")
    boxes = values[:, 1:]
    return Records(
        places,
        keys,
        np.array(categories, np.int64),
        values[:, 0],
        geometry.xywh_to_xyxy(boxes) if text_format == "pascal_xywh" else boxes,
        None,
    )


def _from_parquet(path: Path, images: Table, classes: Sequence[str]) -> Table:
    table = read_table(path, "detections")
    if table.classes != tuple(classes):
        raise DataError(
            f"{path}: made for the classes {', '.join(table.classes)}, the data set has "
            f"{', '.join(classes)}"
        )
    wanted = set(images.frame["image_id"])
    covered = wanted if table.image_ids is None else set(table.image_ids)
    for problem, ids in (("covers unknown", covered - wanted), ("lacks", wanted - covered)):
        if ids:
            raise DataError(f"{path}: {problem} images, {len(ids)} in all: {_first(sorted(ids))}")
    return table


def _image_rows(keys: Sequence[str], images: Table, path: Path) -> np.ndarray:
    """Row of each key's image; a key is an image id, or else a file name with or without suffix."""
    rows: dict[str, int] = {}
    for spelling in (_as_number, _stem, str):
        rows |= {spelling(name): row for row, name in enumerate(images.frame["file_name"])}
    rows |= {image_id: row for row, image_id in enumerate(images.frame["image_id"])}
    unknown = sorted({key for key in keys if key not in rows})
    if unknown:
        raise DataError(
            f"{path}: {len(unknown)} images are not in the data set (neither id nor file name): "
            f"{_first(unknown)}"
        )
    return np.array([rows[key] for key in keys], dtype=np.intp)


def _stem(file_name: str) -> str:
    return Path(file_name).stem


def _as_number(file_name: str) -> str:
    stem = _stem(file_name)
    return str(int(stem)) if stem.isdecimal() else stem


def _matrix(rows: Sequence[Any], width: int, places: Sequence[str], field: str) -> np.ndarray:
    """Return (n, width) float64; a row of another length or with a non-number is an error."""
    if _are_numbers(rows, (len(rows), width)) or not rows:
        return np.array(rows, dtype=np.float64).reshape(-1, width)
    bad = next(i for i, row in enumerate(rows) if not _are_numbers(row, (width,)))
    raise DataError(f"{places[bad]}: {field} should be {width} numbers, is {rows[bad]}")


def _are_numbers(values: Any, shape: tuple[int, ...]) -> bool:
    try:
        return np.array(values, dtype=np.float64).shape == shape
    except (ValueError, TypeError):
        return False


def _check_numbers(records: Records) -> None:
    numbers = np.column_stack([records.boxes, records.scores])
    _raise_first(~np.isfinite(numbers).all(axis=1), records, "a number is not finite; mend it")
    outside = (records.scores < 0) | (records.scores > 1)
    _raise_first(outside, records, "score is outside [0, 1]; convert it to a probability")


def _check_vectors(
    records: Records, vectors: np.ndarray, classes: Sequence[str], kind: str
) -> None:
    if not len(vectors):
        return
    n_classes = len(classes)
    width = n_classes + (kind == "softmax+background")
    if vectors.shape[1] != width:
        raise DataError(
            f"{records.places[0]}: {vectors.shape[1]} probabilities, but {kind} with {n_classes} "
            f"classes has {width}; correct probability_kind"
        )
    with np.errstate(invalid="ignore"):
        good = np.all((vectors >= 0) & (vectors <= 1), axis=1)
    _raise_first(~good, records, "a probability is outside [0, 1]")
    if kind != "sigmoid":
        off = np.abs(vectors.sum(axis=1) - 1) > SCORE_TOLERANCE
        _raise_first(off, records, f"probabilities do not sum to 1, as {kind} must")
    best = vectors[:, :n_classes].max(axis=1)
    of_category = vectors[np.arange(len(vectors)), records.categories]
    _raise_first(of_category < best, records, "its category is not its most probable class")
    differs = np.abs(best - records.scores) > SCORE_TOLERANCE
    _raise_first(differs, records, "score is not the largest probability of its classes")


def _normalised(vectors: np.ndarray, kind: str) -> np.ndarray:
    """Distributions rounded in the file sum to 1 again; sigmoid vectors as they are."""
    return vectors if kind == "sigmoid" else vectors / vectors.sum(axis=1, keepdims=True)


def _one_hot(records: Records, n_classes: int) -> np.ndarray:
    vectors = np.zeros((len(records.scores), n_classes))
    vectors[np.arange(len(vectors)), records.categories] = records.scores
    return vectors


def _raise_first(bad: np.ndarray, records: Records, rule: str) -> None:
    if bad.any():
        place = records.places[int(np.flatnonzero(bad)[0])]
        raise DataError(f"{place}: {rule} ({int(bad.sum())} of {len(bad)} records)")


def _json(path: Path) -> Any:
    try:
        return orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{path}: not found") from None
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: not valid JSON ({error}); is the file cut short?") from None


def _first(items: Sequence[str]) -> str:
    return ", ".join(items[:5]) + (", ..." if len(items) > 5 else "")


def _span(ids: list[Any]) -> str:
    return f"{ids[0]} to {ids[-1]}" if len(ids) > 10 else ", ".join(map(str, ids))
