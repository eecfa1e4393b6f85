"""Counts of label errors and of objects, cut by everything that the papers' tables cut them by.

Paper 1, sections B.1 (objects by class, Tables 12-19) and B.4 (label errors by probability, height
and region, Tables 22-28). Every function takes a whole data set at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.errors import DataError
from labelquality.geometry import areas, ioa
from labelquality.label_errors import counts, is_object, is_region, variant
from labelquality.labels import hard_label
from labelquality.matching import same_image_pairs
from labelquality.tables import LABEL_ERROR_KINDS, Table, image_codes

Texts = NDArray[np.object_]
Groups = Mapping[str, Sequence[str]]
SIZES = ("small", "medium", "large")
# Share of a box inside a region above which it counts as lying there (the released count tables).
_INSIDE = 0.5


def every_count(
    errors: Table,
    original: Table,
    *,
    variants: Mapping[str, Mapping[str, float]],
    probabilities: Sequence[float],
    heights: Sequence[float],
    class_groups: Groups,
    size_limits: Sequence[float],
    crowds_are_objects: bool = False,
) -> dict[str, pd.DataFrame]:
    """All counts of label errors, by name.

    `variants`: each kind in each variant, with `n_original`, the number of original objects;
    `thresholds` as from `by_threshold`; `groups` and `regions`: `by_group` and `in_regions` of each
    variant. The parameters are those of these functions.
    """
    objects = is_object(original, crowds_are_objects=crowds_are_objects)
    in_groups = partial(
        by_group,
        original=original,
        class_groups=class_groups,
        size_limits=size_limits,
        crowds_are_objects=crowds_are_objects,
    )
    return {
        "variants": of_variants(errors, variants, counts).assign(n_original=int(objects.sum())),
        "thresholds": by_threshold(errors, original, probabilities=probabilities, heights=heights),
        "groups": of_variants(errors, variants, in_groups),
        "regions": of_variants(errors, variants, partial(in_regions, original=original)),
    }


def of_variants(
    errors: Table,
    variants: Mapping[str, Mapping[str, float]],
    count: Callable[[Table], pd.DataFrame],
) -> pd.DataFrame:
    """What `count` says of each variant of the LEGT, with columns variant, min_probability and
    min_height before its own; `variants` maps names to the two bounds."""
    keys = ["variant", "min_probability", "min_height"]
    frames = []
    for name, bounds in variants.items():
        probability, height = bounds["min_probability"], bounds["min_height"]
        chosen = variant(errors, min_probability=probability, min_height=height)
        frames.append(count(chosen).assign(variant=name, **bounds))
    rows = pd.concat(frames, ignore_index=True)
    return rows[[*keys, *(column for column in rows if column not in keys)]]


def by_threshold(
    errors: Table, original: Table, *, probabilities: Sequence[float], heights: Sequence[float]
) -> pd.DataFrame:
    """Errors of each kind from every probability and height (px) on, both inclusive.

    Columns region, min_probability, min_height, kind, count. Original-only boxes have no
    probability: theirs is NaN. `region` is `all`; where `original` has crowds or ignore regions
    also `inside`, for boxes more than half of which lie in a single one, and `outside` (paper 1
    gives the last for KITTI's don't-care regions).
    """
    frame = errors.frame
    inside = frame["ioa_dontcare"].to_numpy() > _INSIDE
    places = {"all": np.ones(len(errors), dtype=bool)}
    if is_region(original).any():
        places |= {"inside": inside, "outside": ~inside}
    rows = []
    for region, there in places.items():
        for kind in LABEL_ERROR_KINDS:
            of_kind = there & (frame["kind"] == kind).to_numpy()
            bounds = (np.nan,) if kind == "original_only" else probabilities
            for p in bounds:
                likely = of_kind if np.isnan(p) else of_kind & (frame["probability"] >= p)
                for height in heights:
                    count = int((likely & (frame["height"] >= height)).sum())
                    rows.append((region, p, height, kind, count))
    columns = ["region", "min_probability", "min_height", "kind", "count"]
    return pd.DataFrame(rows, columns=columns)


def by_group(
    errors: Table,
    original: Table,
    *,
    class_groups: Groups,
    size_limits: Sequence[float],
    crowds_are_objects: bool = False,
) -> pd.DataFrame:
    """Errors of each kind by class, super-category, size and difficulty, beside original objects.

    Columns by, group, kind, count, objects; `objects` are those of the original annotations in the
    group. The class is that of the error: the validated one, or that of an original-only box.
    `class_groups` maps super-categories to their classes. Sizes go by box area (px²), small below
    the first of `size_limits`, large from the second on. Where `original` flags objects as
    difficult, the kinds with an original box are counted by its flag.
    """
    objects = original.take(is_object(original, crowds_are_objects=crowds_are_objects))
    groups = {"class": errors.classes, "super-category": tuple(class_groups), "size": SIZES}
    of_errors, of_objects = (_groups_of(t, class_groups, size_limits) for t in (errors, objects))
    kind = errors.frame["kind"].to_numpy()
    parts = [
        _tally(kind, of_errors[by], of_objects[by], names).assign(by=by)
        for by, names in groups.items()
    ]
    if objects.frame["difficult"].any():
        flags = np.where(objects.frame["difficult"], "yes", "no").astype(object)
        own = np.append(flags, "")[_rows_of_originals(errors, objects)]
        kinds = [k for k in LABEL_ERROR_KINDS if k != "missing"]
        parts.append(_tally(kind, own, flags, ("no", "yes"), kinds).assign(by="difficult"))
    return pd.concat(parts, ignore_index=True)[["by", "group", "kind", "count", "objects"]]


def in_regions(errors: Table, original: Table) -> pd.DataFrame:
    """How many errors of each kind lie in the crowds and ignore regions of `original`.

    Columns kind, count, touching (any overlap), inside (more than half of the box in a single
    region), inside_same_class (in one of the error's own class), share_inside (of count; NaN for
    none), regions (how many there are). Regions are boxes: of a crowd that is drawn as a mask, its
    extent.
    """
    regions = original.take(is_region(original))
    a, b = same_image_pairs(*image_codes(errors.frame["image_id"], regions.frame["image_id"]))
    category = errors.frame["category"].to_numpy()
    same = category[a] == regions.frame["category"].to_numpy()[b]
    own = np.zeros(len(errors))
    np.maximum.at(own, a[same], ioa(errors.boxes[a[same]], regions.boxes[b[same]]))
    largest = errors.frame["ioa_dontcare"].to_numpy()
    frame = pd.DataFrame(
        {
            "kind": errors.frame["kind"],
            "count": 1,
            "touching": largest > 0,
            "inside": largest > _INSIDE,
            "inside_same_class": own > _INSIDE,
        }
    )
    table = frame.groupby("kind").sum().reindex(list(LABEL_ERROR_KINDS), fill_value=0).astype(int)
    table["share_inside"] = table["inside"] / table["count"].replace(0, np.nan)
    return table.assign(regions=len(regions)).reset_index()


def objects_by_class(
    original: Table,
    soft_labels: Table,
    *,
    threshold: float = 0.5,
    class_groups: Groups,
    crowds_are_objects: bool = False,
) -> pd.DataFrame:
    """Objects of each class in the original and in the validated ground truth.

    Columns super_category ("" for a class in none of `class_groups`), class, original, validated.
    Validated are the objects whose corrected hard label is more probable than `threshold`. Crowds
    count among the original objects only with `crowds_are_objects`; ignore regions never do.

    Raises DataError for a class group that names no class, or one of another group.
    """
    classes = original.classes
    group_of = _group_of(classes, class_groups)

    def number(category: NDArray[np.int32]) -> NDArray[np.intp]:
        return np.bincount(category[category >= 0], minlength=len(classes))

    category = original.frame["category"].to_numpy()
    objects = is_object(original, crowds_are_objects=crowds_are_objects)
    return pd.DataFrame(
        {
            "super_category": [group_of[name] for name in classes],
            "class": classes,
            "original": number(category[objects]),
            "validated": number(hard_label(soft_labels.vectors["corrected"], threshold)),
        }
    )


def _group_of(classes: Sequence[str], groups: Groups) -> dict[str, str]:
    """Super-category of each class, "" for one that is in none."""
    listed = [(name, group) for group, names in groups.items() for name in names]
    of_class = dict(listed)
    wrong = [name for name, _ in listed if name not in classes]
    if wrong or len(of_class) < len(listed):
        problem = f"{wrong[0]} is no class of the data set" if wrong else "a class is in two"
        raise DataError(f"super_categories: {problem}; mend the data set's file")
    return {name: of_class.get(name, "") for name in classes}


def _groups_of(table: Table, class_groups: Groups, limits: Sequence[float]) -> dict[str, Texts]:
    """Class, super-category and size of each box."""
    names = np.array(table.classes, dtype=object)[table.frame["category"].to_numpy()]
    group_of, area = _group_of(table.classes, class_groups), areas(table.boxes)
    size = np.select([area < limits[0], area < limits[1]], SIZES[:2], default=SIZES[2])
    return {
        "class": names,
        "super-category": np.array([group_of[name] for name in names], dtype=object),
        "size": size.astype(object),
    }


def _rows_of_originals(errors: Table, objects: Table) -> NDArray[np.intp]:
    """Row among `objects` of the original box that each error names, -1 where it names none."""
    keys = pd.MultiIndex.from_frame(objects.frame[["image_id", "box_id"]])
    return keys.get_indexer(pd.MultiIndex.from_frame(errors.frame[["image_id", "original_box_id"]]))


def _tally(
    kind: Texts,
    of_errors: Texts,
    of_objects: Texts,
    groups: Sequence[str],
    kinds: Sequence[str] = LABEL_ERROR_KINDS,
) -> pd.DataFrame:
    """Errors of each group and kind, zeros included, and the objects of each group."""
    cells = pd.MultiIndex.from_product([groups, kinds], names=["group", "kind"])
    found = pd.DataFrame({"group": of_errors, "kind": kind}).value_counts()
    frame = found.reindex(cells, fill_value=0).rename("count").reset_index()
    objects = pd.Series(of_objects).value_counts().reindex(frame["group"], fill_value=0)
    return frame.assign(objects=objects.to_numpy())
