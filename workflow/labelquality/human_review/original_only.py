"""Original boxes that the re-annotation lacks: mistakes, or objects that it missed?

People accept or reject each of them; on an accepted one five people vote. Where a class has a
strict majority, the box joins the validated ground truth (paper 1, B.5, Tables 29 and 30).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.datasets.adapter import CANT_SOLVE, ClassNames
from labelquality.human_review.sheets import Sheet, read_sheet
from labelquality.intervals import share
from labelquality.label_errors import is_object
from labelquality.labels import hard_label, soft_label, validated_annotations
from labelquality.tables import BOX, Table, make_table

ACCEPTED, REJECTED = "accepted", "rejected"
N_VOTES = 5
VOTES = tuple(f"vote_{n}" for n in range(1, N_VOTES + 1))
DECISION = ("decision", *VOTES)
MAJORITY = 0.5


def original_only(errors: Table) -> pd.DataFrame:
    """The original-only boxes of a label error ground truth, by image and box id.

    Columns image_id, box_id, class, the corners, and max_iou, the largest overlap with a
    re-annotated box.
    """
    frame = errors.frame[errors.frame["kind"] == "original_only"]
    names = np.array(errors.classes, dtype=object)
    listed = pd.DataFrame(
        {
            "image_id": frame["image_id"],
            "box_id": frame["original_box_id"],
            "class": names[frame["category"].to_numpy()],
            **{corner: frame[corner] for corner in BOX},
            "max_iou": frame["max_iou"],
        }
    )
    return listed.sort_values(["image_id", "box_id"], ignore_index=True)


def decide(listed: pd.DataFrame, path: Path | None, names: ClassNames) -> pd.DataFrame:
    """The boxes with what people decided, empty text where nothing is decided.

    `listed` as from `original_only`; `path` is the filled-in list, None where there is none yet.
    Added are `decision` (accepted, rejected) and the names of the classes voted for, `vote_1` to
    `vote_5`; an accepted box has all five or, before the vote, none.

    Raises DataError for a box that is not original-only, one that is decided twice, and for votes
    that are unknown, too few, or on a box that is not accepted.
    """
    empty = dict.fromkeys(DECISION, "")
    if path is None:
        return listed.assign(**empty)
    sheet = read_sheet(path, ["image_id", "box_id", *DECISION])
    sheet.choices("decision", (ACCEPTED, REJECTED))
    sheet = sheet.take((sheet.frame[list(DECISION)] != "").any(axis=1).to_numpy())
    sheet.unique(["image_id", "box_id"], "box {box_id} of image {image_id}")
    sheet = _with_known_classes(sheet, names)
    keys = ["image_id", "box_id"]
    rows = pd.MultiIndex.from_frame(listed[keys]).get_indexer(
        pd.MultiIndex.from_frame(sheet.frame[keys])
    )
    sheet.refuse(
        rows < 0,
        "image {image_id} has no original-only box {box_id}",
        "mend the line, or remove it where a re-annotated box has come to overlap",
    )
    decided = listed.assign(**empty)
    for column in DECISION:
        values = decided[column].to_numpy(dtype=object).copy()
        values[rows] = sheet.frame[column]
        decided[column] = values
    return decided


def _with_known_classes(sheet: Sheet, names: ClassNames) -> Sheet:
    """The sheet with every vote under the data set's own name of its class."""
    frame = sheet.frame.copy()
    known = np.array([*names.classes, CANT_SOLVE, ""], dtype=object)
    for column in VOTES:
        found = np.array([names.find(name) if name else -2 for name in frame[column]], dtype=int)
        sheet.refuse(
            found == -1,
            f"{column} {{{column}}} is no class of the data set",
            "add it to class_names of the data set, or mend it",
        )
        frame[column] = known[found + (found == -2)]
    cast = (frame[list(VOTES)] != "").sum(axis=1)
    sheet.refuse(
        (frame["decision"] != ACCEPTED) & (cast > 0),
        "box {box_id} has votes, but decision is '{decision}'",
        f"write {ACCEPTED}, or remove the votes",
    )
    sheet.refuse(
        (cast > 0) & (cast < N_VOTES),
        f"box {{box_id}} does not have all of its {N_VOTES} votes",
        "add or remove votes",
    )
    return replace(sheet, frame=frame)


def votes(decided: pd.DataFrame, names: ClassNames) -> NDArray[np.float64]:
    """Votes per class, can't-solve last, of each box (n, K + 1); zeros where nobody voted."""
    counts = np.zeros((len(decided), len(names.classes) + 1))
    for column in VOTES:
        voted = np.flatnonzero(decided[column] != "")
        found = [names.find(name) for name in decided[column].iloc[voted]]
        np.add.at(counts, (voted, np.array(found, dtype=np.intp)), 1)
    return counts


def added(decided: pd.DataFrame, names: ClassNames) -> Table:
    """The boxes that join the validated ground truth, as annotations of the class voted for.

    They keep their ids; a class needs more than half of the votes and may not be can't-solve.
    """
    counts = votes(decided, names)
    voted = counts.any(axis=1)
    category = np.full(len(decided), -1, dtype=np.int32)
    category[voted] = hard_label(soft_label(counts[voted]), MAJORITY)
    joined = decided[category >= 0]
    return make_table(
        "annotations",
        {
            "image_id": joined["image_id"],
            "box_id": joined["box_id"],
            "category": category[category >= 0],
            "crowd": False,
            "difficult": False,
            "region": "",
            "annotator": "original_only",
        },
        names.classes,
        boxes=joined[list(BOX)].to_numpy(dtype=np.float64),
    )


def summary(
    decided: pd.DataFrame,
    joined: Table,
    original: Table,
    soft_labels: Table,
    *,
    crowds_are_objects: bool = False,
) -> pd.DataFrame:
    """One row with what Tables 29 and 30 count.

    Table 29: original_only, accepted, rejected, undecided, and rate, the share of accepted boxes
    among the decided ones, with its Wilson interval low, high. Table 30: the number of objects of
    the original, of the validated ground truth and of that with the boxes that joined, and what
    the latter two have more than the original, as shares of it; `awaiting_votes` and `no_majority`
    are the accepted boxes that did not join. The original counts on the images that were
    re-annotated, crowds only with `crowds_are_objects`.
    """
    decision = decided["decision"]
    accepted, rejected = int((decision == ACCEPTED).sum()), int((decision == REJECTED).sum())
    awaiting = int(((decision == ACCEPTED) & (decided[VOTES[0]] == "")).sum())
    objects = original.take(is_object(original, crowds_are_objects=crowds_are_objects))
    if soft_labels.image_ids is not None:
        seen = objects.frame["image_id"].isin(soft_labels.image_ids).to_numpy()
        objects = objects.take(seen)
    validated = len(validated_annotations(soft_labels, MAJORITY))
    counts = {
        "original_only": len(decided),
        "accepted": accepted,
        "rejected": rejected,
        "undecided": len(decided) - accepted - rejected,
        **share(accepted, accepted + rejected),
        "original": len(objects),
        "validated": validated,
        "validated_gain": gain(validated, len(objects)),
        "awaiting_votes": awaiting,
        "no_majority": accepted - awaiting - len(joined),
        "added": len(joined),
        "validated_and_original_only": validated + len(joined),
        "validated_and_original_only_gain": gain(validated + len(joined), len(objects)),
    }
    return pd.DataFrame([counts])


def gain(count: int, base: int) -> float:
    """By which share `count` exceeds `base`; NaN for a base of 0."""
    return count / base - 1 if base else float("nan")


def review_list(decided: pd.DataFrame) -> pd.DataFrame:
    """The list to work through, the columns to fill in up front; decisions already made stay."""
    columns = ["image_id", "box_id", *DECISION]
    return decided[[*columns, *(name for name in decided.columns if name not in columns)]]
