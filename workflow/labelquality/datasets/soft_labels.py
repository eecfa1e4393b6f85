"""The released re-annotation: soft-label JSON with votes, proposals and corrected vectors.

Layout of doi:10.7910/DVN/L7QCUG (paper 1, section III): `objects` maps an image, with or without
suffix, to its objects. An object that was merged from several proposals has `proposed_class_1`,
`frequencies_1` and so on, one pair for each source, beside the `frequencies` of all votes. The
samples voted on without proposal hold `unbiased_frequencies` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.datasets.adapter import (
    ClassNames,
    Intake,
    Repairs,
    class_order,
    file_path,
    image_stem,
    mend_boxes,
)
from labelquality.datasets.records import (
    IDENTIFIER,
    Records,
    garbage_collection_paused,
    load_json,
    member,
    type_name,
)
from labelquality.datasets.votes import Votes, collect_votes
from labelquality.errors import DataError
from labelquality.labels import soft_label
from labelquality.tables import Table, make_table

Floats = NDArray[np.float64]
WHICH = ("reannotation", "unbiased")
# Vectors rounded to a few decimals sum to 1 only nearly; anything worse is a mistake.
_ROUNDING, _EXACT = 1e-2, 1e-6


@dataclass(frozen=True)
class Reannotation:
    """Table `votes` (a row per source), table `soft_labels` as released, and the intake."""

    votes: Table
    released: Table
    intake: pd.DataFrame


@garbage_collection_paused()
def read_reannotation(
    spec: Mapping[str, Any], root: Path, images: Table, *, which: str = "reannotation"
) -> Reannotation:
    """Read a released soft-label file of the data set below `root`.

    Parameters
    ----------
    images : Table
        The data set's images; the file may name no other.
    which : {"reannotation", "unbiased"}
        The file to read. Votes without proposal have `proposed` -1 in both tables.

    Returns
    -------
    Reannotation
        `votes`: sources count from 0 as in the file; those without votes have no row.
        `released`: `soft_label` as in the file, `corrected` its `postprocessed_soft_label`,
        `proposed` the class that all sources agree on, else -1.

    Raises DataError for anything that the layout or the data set's `repairs` do not permit.
    """
    if which not in WHICH:
        raise ValueError(f"which is {which}, should be one of {WHICH}")
    path = file_path(spec, root, which)
    data = load_json(path)
    intake, names = Intake(path.name), ClassNames.of(spec)
    order = class_order(data, names, path.name)
    image, own_names, records = _objects(data, images, path.name, Repairs.of(spec), intake)
    prefix = "unbiased_" if which == "unbiased" else ""
    sizes = images.frame[["width", "height"]].to_numpy(dtype=np.float64)[image]
    boxes, kept = mend_boxes(
        records.numbers("bbox", 4)[0],
        sizes[:, 0],
        sizes[:, 1],
        Repairs.of(spec),
        records,
        intake,
        "object",
    )
    votes, all_votes = collect_votes(records, names, prefix, intake)
    soft, labelled = _soft_labels(records, prefix + "soft_label", order, all_votes, intake)
    if prefix:
        intake.add("object", "dropped", "has no votes without proposal", int((~labelled).sum()))
        kept, corrected = kept & labelled, soft
    else:
        records.refuse(~labelled, "has neither votes nor soft_label", "add one or remove")
        corrected = _corrected(records, order, soft, intake)

    image_ids = images.frame["image_id"].to_numpy()
    whose = {"image_id": image_ids[image], "box_id": _box_ids(records, own_names)}
    released = make_table(
        "soft_labels",
        whose
        | {
            "n_votes": all_votes.sum(axis=1).astype(np.int32),
            "proposed": _common_proposal(votes, len(records)),
        },
        names.classes,
        boxes=boxes,
        vectors={"soft_label": soft, "corrected": corrected},
        image_ids=image_ids,
    ).take(kept)
    by_source = _votes_table(votes, whose, boxes, kept, released)
    intake.add("object", "read", "", len(released))
    intake.add("source of votes", "read", "", len(by_source))
    return Reannotation(by_source, released, intake.frame())


def _votes_table(
    votes: Votes,
    whose: Mapping[str, NDArray],
    boxes: Floats,
    kept: NDArray[np.bool_],
    released: Table,
) -> Table:
    """Votes of the objects that are `kept`; `whose` and `boxes` say which object a row is of."""
    row = np.array(votes.object_row, dtype=np.intp)
    table = make_table(
        "votes",
        {name: values[row] for name, values in whose.items()}
        | {
            "proposed": np.array(votes.proposed, dtype=np.int32),
            "source": np.array(votes.source, dtype=np.int32),
            "seconds": votes.seconds,
        },
        released.classes,
        boxes=boxes[row],
        vectors={"frequencies": votes.matrix()},
        image_ids=released.image_ids,
    )
    return table.take(kept[row])


def _objects(
    data: dict[str, Any], images: Table, file: str, repairs: Repairs, intake: Intake
) -> tuple[NDArray[np.intp], list[str], Records]:
    """Row of each object's image, its name `{image key}_{index}`, and all objects in one list."""
    row_of = {image_id: row for row, image_id in enumerate(images.frame["image_id"])}
    key_of: dict[int, str] = {}
    rows: list[dict[str, Any]] = []
    place: list[tuple[str, int]] = []
    image: list[int] = []
    unknown_images = 0
    for key, objects in member(data, "objects", dict, file).items():
        found = row_of.get(key, row_of.get(image_stem(key), -1))
        if found < 0 and repairs.unknown_images == "drop":
            unknown_images += 1
            continue
        if found < 0:
            raise DataError(
                f"{file}: objects: image {key} is not among the data set's {len(images)} images;"
                " read the matching split, set repairs.unknown_images, or remove it"
            )
        if found in key_of:
            raise DataError(
                f"{file}: objects: {key_of[found]} and {key} are the same image; merge them"
            )
        if type(objects) is not list:
            raise DataError(
                f"{file}: objects: image {key} has {type_name(objects)}, should have a list;"
                " mend it"
            )
        key_of[found] = key
        rows += objects
        place += [(key, i) for i in range(len(objects))]
        image += [found] * len(objects)

    def describe(row: int) -> str:
        own = rows[row].get("mo_id") if isinstance(rows[row], dict) else None
        name = f" (mo_id {own})" if type(own) is str else ""
        return f"image {place[row][0]}, object {place[row][1]}{name}"

    records = Records(file, rows, describe)
    records.check_objects()
    intake.add("image", "read", "", len(key_of))
    intake.add("image", "dropped", "is not in the split", unknown_images)
    intake.add("image", "kept", "has no entry in the file", len(images) - len(key_of))
    return np.array(image, dtype=np.intp), [f"{key}_{i}" for key, i in place], records


def _box_ids(records: Records, own_names: list[str]) -> NDArray[np.object_]:
    """`mo_id` of each object, else its own name, which is that of the released tuning code."""
    given = records.column("mo_id", IDENTIFIER, default=None)
    ids = [
        name if mo_id is None else str(mo_id) for mo_id, name in zip(given, own_names, strict=True)
    ]
    records.unique(ids, "mo_id")
    return np.array(ids, dtype=object)


def _soft_labels(
    records: Records, key: str, order: NDArray[np.intp], votes: Floats, intake: Intake
) -> tuple[Floats, NDArray[np.bool_]]:
    """The file's vectors (n, K + 1) in the data set's order, else relative frequencies.

    The second array says which objects have either; the others get rows of zeros.
    """
    given, present = _vectors(records, key, order, intake)
    voted = votes.any(axis=1)
    relative = np.zeros_like(votes)
    relative[voted] = soft_label(votes[voted])
    differs = present & voted & (np.abs(given - relative).max(axis=1) > _ROUNDING)
    intake.add("object", "kept", f"{key} differs from its votes", int(differs.sum()))
    return np.where(present[:, None], given, relative), present | voted


def _corrected(records: Records, order: NDArray[np.intp], soft: Floats, intake: Intake) -> Floats:
    given, present = _vectors(records, "postprocessed_soft_label", order, intake)
    intake.add("object", "kept", "has no corrected vector: soft_label", int((~present).sum()))
    return np.where(present[:, None], given, soft)


def _vectors(
    records: Records, key: str, order: NDArray[np.intp], intake: Intake
) -> tuple[Floats, NDArray[np.bool_]]:
    """Probability vectors of the file in the data set's order, and which objects have one."""
    raw, present = records.numbers(key, len(order), optional=True)
    sums = raw.sum(axis=1)
    wrong = (raw < 0).any(axis=1) | (raw > 1 + _EXACT).any(axis=1) | (np.abs(sums - 1) > _ROUNDING)
    records.refuse(present & wrong, f"{key} is no distribution: entries in [0, 1] that sum to 1")
    rounded = present & (np.abs(sums - 1) > _EXACT)
    intake.add("object", "normalised", f"{key} was rounded", int(rounded.sum()))
    vectors = np.zeros_like(raw)
    vectors[:, order] = np.where(rounded[:, None], raw / np.where(rounded, sums, 1)[:, None], raw)
    return np.minimum(vectors, 1.0), present


def _common_proposal(votes: Votes, n_objects: int) -> NDArray[np.int32]:
    """The class that all sources of an object proposed, -1 where they differ or have none."""
    common = np.full(n_objects, -1, dtype=np.int32)
    seen = np.zeros(n_objects, dtype=bool)
    for row, proposed in zip(votes.object_row, votes.proposed, strict=True):
        common[row] = proposed if not seen[row] or common[row] == proposed else -1
        seen[row] = True
    return common
