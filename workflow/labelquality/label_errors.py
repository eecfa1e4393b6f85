"""Label error ground truth (LEGT): where the original annotations and the validated ones disagree.

Four kinds (paper 1, sections IV and B.4): an object that the original lacks (`missing`), has with a
bad box (`misaligned`) or with another class (`classification`), and an original box that the
re-annotation lacks (`original_only`). Every function takes a whole data set at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.errors import DataError
from labelquality.geometry import heights, ioa, iou
from labelquality.labels import hard_label
from labelquality.matching import Matching, greedy, same_image_pairs
from labelquality.tables import (
    LABEL_ERROR_KINDS,
    Table,
    image_codes,
    make_table,
    sort_rows,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class LegtProtocol:
    """Boundaries between the kinds of label error; every threshold is an IoU in [0, 1].

    `match_iou`: original and validated boxes can be partners from this IoU on.
    `missing_iou`: an unmatched validated box is missing, and an original box original-only, up to
    this overlap with every box of the other side, itself included.
    `misaligned_to_match_iou`: an unmatched validated box is misaligned above `missing_iou` and up
    to `match_iou`, itself included or not.
    `crowded_out`: what an unmatched validated box is when it overlaps an original box by more than
    that, which happens only where the original box has a better partner.
    `classification_iou`: partners of different class are an error above this IoU, itself included
    (`classification_from_iou`) or not.
    """

    match_iou: float = 0.5
    missing_iou: float = 0.1
    misaligned_to_match_iou: bool = True
    crowded_out: Literal["missing", "no error"] = "missing"
    classification_iou: float = 0.7
    classification_from_iou: bool = False


PROTOCOLS = {
    "defined": LegtProtocol(),
    "released": LegtProtocol(
        misaligned_to_match_iou=False, crowded_out="no error", classification_from_iou=True
    ),
}


@dataclass(frozen=True)
class _Overlaps:
    """Overlapping pairs of one image: indices of both sides (m,) and their IoU (m,)."""

    a: Ints
    b: Ints
    iou: Floats

    @staticmethod
    def between(a: Table, b: Table) -> _Overlaps:
        ia, ib = same_image_pairs(*image_codes(a.frame["image_id"], b.frame["image_id"]))
        overlap = iou(a.boxes[ia], b.boxes[ib])
        return _Overlaps(ia, ib, overlap).take(overlap > 0)

    def take(self, rows: NDArray) -> _Overlaps:
        return _Overlaps(self.a[rows], self.b[rows], self.iou[rows])

    def swapped(self) -> _Overlaps:
        return _Overlaps(self.b, self.a, self.iou)

    def best_of_a(self, n_a: int) -> tuple[Floats, Ints]:
        """Largest IoU of every a, 0 without any, and the first b that has it, -1 without any."""
        order = np.lexsort((self.b, -self.iou, self.a))
        indices, first = np.unique(self.a[order], return_index=True)
        largest, partner = np.zeros(n_a), np.full(n_a, -1, dtype=np.intp)
        largest[indices] = self.iou[order[first]]
        partner[indices] = self.b[order[first]]
        return largest, partner


def build(
    original: Table,
    soft_labels: Table,
    images: Table,
    *,
    threshold: float = 0.5,
    protocol: str | LegtProtocol = "defined",
    column: str = "corrected",
    crowds_are_objects: bool = False,
) -> Table:
    """Compare `original` annotations with the validated ones and list every label error.

    Boxes are matched one-to-one and class-agnostically, from the largest IoU downwards; ties keep
    the order of rows. Validated are the objects whose hard label is more probable than `threshold`
    under the vectors `column` of `soft_labels`. Crowds and regions of `original` are no objects:
    they only give `ioa_dontcare`, the largest share of an error's box inside a single one; with
    `crowds_are_objects` crowds are compared like single objects as well. Original boxes of none of
    the classes (category -1) take no part either. An original box is original-only when it overlaps
    none of the re-annotated boxes, unsure and can't-solve ones included.

    Protocol `defined` takes the boundaries of the paper's text (B.4): missing up to IoU 0.1,
    misaligned in (0.1, 0.5], classification above 0.7. The text leaves open what an unmatched
    validated box with IoU above 0.5 is. Its original box then has a better partner, and one
    original box cannot stand for two objects, so the second object has no counterpart in the
    original: it is `missing`, and its `max_iou` above 0.5 tells it from the others. Protocol
    `released` does what the published code did: misaligned in (0.1, 0.5), classification from 0.7
    on, and no error for an unmatched box with IoU of 0.5 or more.

    Compared are the images that `soft_labels.image_ids` lists (all of `images` where it is None).
    Returns a table of label_errors, sorted, whose `image_ids` are these images. Its box is the
    validated one (the original one for original_only), so are class, probability (NaN for
    original_only) and height. `max_iou` is the overlap with the partner (classification) or with
    the most overlapping box of the other side, whose id stands beside it, empty where none
    overlaps.

    Raises DataError for an unknown protocol, for tables that differ in their classes, and for boxes
    in images that `images` lacks.
    """
    rules = _protocol(protocol)
    compared = _images_to_compare(original, soft_labels, images)
    original = original.take(original.frame["image_id"].isin(compared).to_numpy())
    soft_labels = soft_labels.take(soft_labels.frame["image_id"].isin(compared).to_numpy())
    regions = is_region(original)
    objects = original.take(is_object(original, crowds_are_objects=crowds_are_objects))

    vectors = soft_labels.vectors[column]
    category = hard_label(vectors, threshold)
    overlaps = _Overlaps.between(objects, soft_labels)
    sure = overlaps.take(category[overlaps.b] >= 0)
    matching = greedy(sure.a, sure.b, sure.iou, len(objects), len(soft_labels), rules.match_iou)

    unmatched = _unmatched_errors(matching, sure, category >= 0, rules)
    swaps = _classification_errors(matching, objects, soft_labels, category, rules)
    of_validated = pd.concat([unmatched, swaps], ignore_index=True)
    of_original = _original_only_errors(overlaps, len(objects), rules)
    errors = pd.concat([of_validated, of_original], ignore_index=True)
    validated, source = of_validated["validated"].to_numpy(), of_original["original"].to_numpy()
    boxes = np.concatenate([soft_labels.boxes[validated], objects.boxes[source]])
    image_id = np.concatenate(
        [
            soft_labels.frame["image_id"].to_numpy()[validated],
            objects.frame["image_id"].to_numpy()[source],
        ]
    )
    table = make_table(
        "label_errors",
        {
            "image_id": image_id,
            "kind": errors["kind"],
            "category": np.concatenate(
                [category[validated], objects.frame["category"].to_numpy()[source]]
            ),
            "probability": np.concatenate(
                [vectors[validated, category[validated]], np.full(len(source), np.nan)]
            ),
            "height": heights(boxes),
            "max_iou": errors["iou"],
            "ioa_dontcare": _share_in_regions(image_id, boxes, original.take(regions)),
            "original_box_id": _ids(objects, errors["original"].to_numpy()),
            "validated_box_id": _ids(soft_labels, errors["validated"].to_numpy()),
        },
        original.classes,
        boxes=boxes,
        meta={"protocol": protocol if isinstance(protocol, str) else "custom"},
        image_ids=compared,
    )
    return sort_rows(table)


def _protocol(protocol: str | LegtProtocol) -> LegtProtocol:
    if isinstance(protocol, LegtProtocol):
        return protocol
    if protocol not in PROTOCOLS:
        raise DataError(f"label errors: no protocol {protocol!r}; choose from {sorted(PROTOCOLS)}")
    return PROTOCOLS[protocol]


def _images_to_compare(original: Table, soft_labels: Table, images: Table) -> list[str]:
    if original.classes != soft_labels.classes:
        raise DataError(
            f"label errors: classes of the original {original.classes} and of the re-annotation"
            f" {soft_labels.classes} differ; read both with the same class list"
        )
    known = images.frame["image_id"]
    for name, table in (("original", original), ("re-annotated", soft_labels)):
        strange = ~table.frame["image_id"].isin(known).to_numpy()
        if strange.any():
            image = table.frame["image_id"].iloc[int(np.flatnonzero(strange)[0])]
            raise DataError(
                f"label errors: image {image} of the {name} boxes is not among the images; add it"
                f" or leave out its boxes ({int(strange.sum())} boxes in all)"
            )
    return sorted(known if soft_labels.image_ids is None else soft_labels.image_ids)


def is_region(annotations: Table) -> NDArray[np.bool_]:
    """Whether each annotation is a crowd or an ignore region instead of one object; (n,)."""
    frame = annotations.frame
    return frame["crowd"].to_numpy(dtype=bool) | (frame["region"].to_numpy() != "")


def is_object(annotations: Table, *, crowds_are_objects: bool = False) -> NDArray[np.bool_]:
    """Whether each annotation is an object of one of the classes, a crowd counting or not; (n,)."""
    excluded = is_region(annotations)
    if crowds_are_objects:
        excluded &= ~annotations.frame["crowd"].to_numpy(dtype=bool)
    return ~excluded & (annotations.frame["category"].to_numpy() >= 0)


def _unmatched_errors(
    matching: Matching, overlaps: _Overlaps, validated: NDArray[np.bool_], rules: LegtProtocol
) -> pd.DataFrame:
    alone = matching.unmatched_b[validated[matching.unmatched_b]]
    largest, nearest = overlaps.swapped().best_of_a(len(validated))
    largest, nearest = largest[alone], nearest[alone]
    near = (
        largest <= rules.match_iou if rules.misaligned_to_match_iou else largest < rules.match_iou
    )
    kind = np.select(
        [largest <= rules.missing_iou, near], ["missing", "misaligned"], default=rules.crowded_out
    )
    errors = _errors(kind, nearest, alone, largest)
    return errors[errors["kind"] != "no error"]


def _classification_errors(
    matching: Matching,
    objects: Table,
    soft_labels: Table,
    category: NDArray[np.int32],
    rules: LegtProtocol,
) -> pd.DataFrame:
    a, b = matching.pairs.T
    overlap = iou(objects.boxes[a], soft_labels.boxes[b])
    bound = rules.classification_iou
    close = overlap >= bound if rules.classification_from_iou else overlap > bound
    wrong = close & (objects.frame["category"].to_numpy()[a] != category[b])
    return _errors("classification", a[wrong], b[wrong], overlap[wrong])


def _original_only_errors(overlaps: _Overlaps, n_objects: int, rules: LegtProtocol) -> pd.DataFrame:
    largest, nearest = overlaps.best_of_a(n_objects)
    alone = np.flatnonzero(largest <= rules.missing_iou)
    return _errors("original_only", alone, nearest[alone], largest[alone])


def _errors(kind: object, original: Ints, validated: Ints, overlap: Floats) -> pd.DataFrame:
    return pd.DataFrame(
        {"kind": kind, "original": original, "validated": validated, "iou": overlap}
    )


def _share_in_regions(image_id: NDArray, boxes: Floats, regions: Table) -> Floats:
    """Largest share of each box inside a single region of its image, 0 without any."""
    ia, ib = same_image_pairs(*image_codes(image_id, regions.frame["image_id"]))
    share = np.zeros(len(boxes))
    np.maximum.at(share, ia, ioa(boxes[ia], regions.boxes[ib]))
    return share


def _ids(table: Table, rows: Ints) -> NDArray:
    # Row -1 (no box) reads the empty id appended at the end.
    return np.append(table.frame["box_id"].to_numpy(dtype=object), "")[rows]


def valid(errors: Table, images: Table) -> Table:
    """The errors whose box is a box inside its image, edges included (the released filter).

    Raises DataError for an error in an image that `images` lacks.
    """
    of_image = images.frame.set_index("image_id")[["width", "height"]]
    rows = of_image.index.get_indexer(errors.frame["image_id"])
    if (rows < 0).any():
        image = errors.frame["image_id"].iloc[int(np.flatnonzero(rows < 0)[0])]
        raise DataError(f"label errors: image {image} is not among the images; add it")
    boxes = errors.boxes
    extended = (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    inside = (boxes[:, :2] >= 0).all(axis=1) & (
        boxes[:, 2:] <= of_image.to_numpy(dtype=np.float64)[rows]
    ).all(axis=1)
    return errors.take(extended & inside)


def variant(
    errors: Table,
    *,
    min_probability: float,
    min_height: float,
    max_ioa_dontcare: float | None = None,
    keep_original_only: bool = True,
) -> Table:
    """A configuration of the LEGT; every bound is inclusive, `min_height` in pixels.

    The paper's less restrictive one is probability 0.5 and height 0, the stricter one 0.8 and 40.
    Original-only boxes have no probability, so that bound does not apply to them; the released
    variants leave them out altogether.
    """
    frame = errors.frame
    spurious = (frame["kind"] == "original_only").to_numpy()
    likely = frame["probability"].to_numpy() >= min_probability
    keep = np.where(spurious, keep_original_only, likely)
    keep &= frame["height"].to_numpy() >= min_height
    if max_ioa_dontcare is not None:
        keep &= frame["ioa_dontcare"].to_numpy() <= max_ioa_dontcare
    return errors.take(keep)


def counts(errors: Table) -> pd.DataFrame:
    """Number of errors of each kind: columns kind, count; all kinds, in their usual order."""
    number = errors.frame["kind"].value_counts()
    return pd.DataFrame(
        {"kind": LABEL_ERROR_KINDS, "count": [int(number.get(k, 0)) for k in LABEL_ERROR_KINDS]}
    )


def against_truth(errors: Table, injected: Table, *, min_iou: float = 0.5) -> pd.DataFrame:
    """How well a LEGT finds errors that are known because they were injected, kind by kind.

    A reported error is right when it is matched, one-to-one and from the largest IoU downwards,
    with an injected error of its kind in its image at `min_iou` or more. Errors that lie in a
    region by more than half (`ioa_dontcare`) are left out on both sides.

    Returns columns kind, injected, found, recall, reported, precision; a ratio over nothing is NaN.
    """
    errors, injected = (outside_regions(table) for table in (errors, injected))
    ia, ib = same_image_pairs(*_codes_by_image_and_kind(errors, injected))
    overlap = iou(errors.boxes[ia], injected.boxes[ib])
    pairs = greedy(ia, ib, overlap, len(errors), len(injected), min_iou).pairs
    found = counts(errors.take(pairs[:, 0]))["count"]
    table = pd.DataFrame(
        {"kind": LABEL_ERROR_KINDS, "injected": counts(injected)["count"], "found": found}
    )
    table["recall"] = found / table["injected"]
    table["reported"] = counts(errors)["count"]
    table["precision"] = found / table["reported"]
    return table


def outside_regions(errors: Table) -> Table:
    """The errors that lie for at most half in a crowd or an ignore region."""
    return errors.take(errors.frame["ioa_dontcare"].to_numpy() <= 0.5)


def _codes_by_image_and_kind(*tables: Table) -> list[Ints]:
    kinds = pd.Index(LABEL_ERROR_KINDS)
    images = image_codes(*(t.frame["image_id"] for t in tables))
    return [
        image * len(kinds) + kinds.get_indexer(table.frame["kind"])
        for image, table in zip(images, tables, strict=True)
    ]
