"""Duplicates of the re-annotation: one object that was boxed and voted on twice.

People look at pairs of overlapping boxes from the largest IoU downwards, until hardly any is a
duplicate. Of a duplicate the better box is kept, with the votes of both (paper 1, A.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from labelquality.datasets.adapter import Intake
from labelquality.errors import DataError
from labelquality.geometry import iou
from labelquality.human_review.sheets import Sheet, read_sheet
from labelquality.intervals import share
from labelquality.labels import soft_label
from labelquality.matching import same_image_pairs
from labelquality.tables import BOX, Table, image_codes

DUPLICATE, TWO_OBJECTS = "duplicate", "two_objects"
PAIR = ("first_box_id", "second_box_id")
DECISION = ("decision", "kept_box_id")
SCOPES = ("all", "same_class", "other_class")


def candidate_pairs(objects: Table) -> pd.DataFrame:
    """Every pair of boxes of one image that overlap, whatever their classes.

    `objects` are soft labels. One row per pair, from the largest IoU downwards, ties by image and
    box ids: columns image_id, first_box_id, second_box_id (ascending), iou, and for each of the two
    boxes its corners, the most voted class and the number of votes.
    """
    frame = objects.frame
    [image] = image_codes(frame["image_id"])
    ids = frame["box_id"].to_numpy(dtype=object)
    rank = pd.factorize(ids, sort=True)[0]
    first, second = same_image_pairs(image, image)
    ordered = rank[first] < rank[second]
    first, second = first[ordered], second[ordered]
    overlap = iou(objects.boxes[first], objects.boxes[second])
    touching = overlap > 0
    first, second, overlap = first[touching], second[touching], overlap[touching]
    names = np.array([*objects.classes, "cantsolve"], dtype=object)
    voted = names[objects.vectors["soft_label"].argmax(axis=1)]
    pairs = pd.DataFrame(
        {
            "image_id": frame["image_id"].to_numpy()[first],
            "first_box_id": ids[first],
            "second_box_id": ids[second],
            "iou": overlap,
        }
    )
    for name, rows in (("first", first), ("second", second)):
        pairs[f"{name}_class"] = voted[rows]
        pairs[f"{name}_votes"] = frame["n_votes"].to_numpy()[rows]
        for corner in BOX:
            pairs[f"{name}_{corner}"] = frame[corner].to_numpy()[rows]
    order = np.lexsort([rank[second], rank[first], image[first], -overlap])
    return pairs.iloc[order].reset_index(drop=True)


def decide(pairs: pd.DataFrame, path: Path | None) -> pd.DataFrame:
    """The pairs with what people decided about them, empty text where nothing is decided.

    `pairs` as from `candidate_pairs`; `path` is the filled-in list, None where there is none yet.
    Added are `decision` (duplicate, two_objects) and `kept_box_id`, the better of two duplicates.

    Raises DataError for a pair that does not overlap in one image, one that is decided twice, a
    duplicate without the box to keep, and decisions that contradict each other.
    """
    empty = dict.fromkeys(DECISION, "")
    if path is None:
        return pairs.assign(**empty)
    sheet = read_sheet(path, [*PAIR, *DECISION])
    sheet.choices("decision", (DUPLICATE, TWO_OBJECTS))
    sheet = sheet.take((sheet.frame[list(DECISION)] != "").any(axis=1).to_numpy())
    _check_fields(sheet)
    ids = np.sort(sheet.frame[list(PAIR)].to_numpy(dtype=str), axis=1)
    sheet = replace(sheet, frame=sheet.frame.assign(**dict(zip(PAIR, ids.T, strict=True))))
    sheet.unique(PAIR, "the pair {first_box_id}, {second_box_id}")
    rows = pd.MultiIndex.from_frame(pairs[list(PAIR)]).get_indexer(
        pd.MultiIndex.from_frame(sheet.frame[list(PAIR)])
    )
    sheet.refuse(
        rows < 0,
        "{first_box_id} and {second_box_id} are no two re-annotated boxes that overlap in an image",
    )
    decided = pairs.assign(**empty)
    for column in DECISION:
        values = decided[column].to_numpy(dtype=object).copy()
        values[rows] = sheet.frame[column]
        decided[column] = values
    survivors(decided, sheet.file)
    return decided


def _check_fields(sheet: Sheet) -> None:
    frame = sheet.frame
    decision, kept = frame["decision"], frame["kept_box_id"]
    sheet.refuse(decision == "", "kept_box_id is given without a decision")
    of_pair = (kept == frame[PAIR[0]]) | (kept == frame[PAIR[1]])
    sheet.refuse(
        (decision == DUPLICATE) & ~of_pair,
        "kept_box_id '{kept_box_id}' is none of the two boxes",
        "name the better one",
    )
    sheet.refuse(
        (decision == TWO_OBJECTS) & (kept != ""),
        "two objects are both kept, but kept_box_id is {kept_box_id}",
        "leave it empty, or decide for a duplicate",
    )


def survivors(decided: pd.DataFrame, file: str = "decisions") -> dict[str, str]:
    """The box that each discarded one is merged into, directly or over others.

    Duplicates of duplicates are one object, of which one box survives: the one that is never
    discarded. Raises DataError where none is or more than one, and where two boxes of one object
    are called two objects.
    """
    duplicates = decided[decided["decision"] == DUPLICATE]
    names, codes = np.unique(duplicates[list(PAIR)].to_numpy(dtype=str), return_inverse=True)
    first, second = codes.reshape(-1, 2).T
    links = coo_array((np.ones(len(first)), (first, second)), shape=(len(names),) * 2)
    group = connected_components(links, directed=False)[1] if len(names) else np.array([], int)
    kept = np.searchsorted(names, duplicates["kept_box_id"].to_numpy(dtype=str))
    discarded = np.zeros(len(names), dtype=bool)
    discarded[first + second - kept] = True
    into: dict[str, str] = {}
    for number in range(group.max(initial=-1) + 1):
        members = names[group == number].tolist()
        alive = names[(group == number) & ~discarded].tolist()
        if len(alive) != 1:
            what = f"{', '.join(alive)} are all kept" if alive else "none of them is kept"
            raise DataError(
                f"{file}: boxes {', '.join(members)} are one object by their duplicates, but"
                f" {what}; name the same kept_box_id wherever it is one of the pair"
            )
        into |= {box: alive[0] for box in members if box != alive[0]}
    two = decided[decided["decision"] == TWO_OBJECTS]
    for pair in two[list(PAIR)].itertuples(index=False):
        a, b = (into.get(box, box) for box in pair)
        if a == b:
            raise DataError(
                f"{file}: {pair[0]} and {pair[1]} are two objects, but by other decisions both are"
                f" {a}; mend one of them"
            )
    return into


def merge(votes: Table, objects: Table, decided: pd.DataFrame) -> tuple[Table, Table]:
    """Votes and soft labels of the re-annotation with every duplicate merged into its kept box.

    The kept box takes over the sources of votes of the others, numbered after its own. Its
    `soft_label` is the share of each class among all its votes, its `corrected` vector the mean
    over sources, as the released post-processing has it; `proposed` is the class that all sources
    agree on, else -1.

    Raises DataError for a duplicate without votes.
    """
    into = survivors(decided)
    ids = pd.Index(objects.frame["box_id"])
    row = ids.get_indexer(ids.map(lambda box: into.get(box, box)))
    vote_row = ids.get_indexer(votes.frame["box_id"])
    n_sources = np.bincount(vote_row, minlength=len(ids))
    grown = np.bincount(row, minlength=len(ids)) > 1
    without = grown[row] & (n_sources == 0)
    if without.any():
        box = ids[int(np.flatnonzero(without)[0])]
        raise DataError(f"votes: duplicate {box} has none and cannot be merged; leave it undecided")

    votes = _moved(votes, objects, row[vote_row])
    total = np.zeros_like(objects.vectors["soft_label"])
    np.add.at(total, row[vote_row], votes.vectors["frequencies"])
    soft, corrected = (objects.vectors[name].copy() for name in ("soft_label", "corrected"))
    soft[grown] = soft_label(total[grown])
    weighted = np.zeros_like(corrected)
    np.add.at(weighted, row, n_sources[:, None] * corrected)
    corrected[grown] = weighted[grown] / np.bincount(row, n_sources, len(ids))[grown, None]
    proposals = votes.frame.groupby("box_id")["proposed"].agg(["min", "max"]).reindex(ids)
    common = proposals["min"].where(proposals["min"] == proposals["max"], -1)
    frame = objects.frame.assign(
        n_votes=np.where(grown, total.sum(axis=1), objects.frame["n_votes"]).astype(np.int32),
        proposed=np.where(grown, common, objects.frame["proposed"]).astype(np.int32),
    )
    vectors = {**objects.vectors, "soft_label": soft, "corrected": corrected}
    kept = row == np.arange(len(ids))
    return votes, replace(objects, frame=frame, vectors=vectors).take(kept)


def intake(decided: pd.DataFrame, file: str) -> pd.DataFrame:
    """What the decisions did to the re-annotation, as rows of the table `intake`."""
    notes = Intake(file)
    notes.add("pair of boxes", "read", "", int((decided["decision"] != "").sum()))
    notes.add("object", "merged", "is a duplicate of another box", len(survivors(decided)))
    return notes.frame()


def _moved(votes: Table, objects: Table, row: NDArray[np.intp]) -> Table:
    """The sources of votes with the object `row` (n,) that they now belong to.

    Where an object takes over others, its own sources come first, then theirs by box id.
    """
    own = votes.frame["box_id"].to_numpy(dtype=object)
    box = objects.frame["box_id"].to_numpy(dtype=object)[row]
    frame = votes.frame.assign(box_id=box, **{c: objects.frame[c].to_numpy()[row] for c in BOX})
    in_order = frame.assign(own=own, moved=own != box).sort_values(
        ["box_id", "moved", "own", "source"]
    )
    number = in_order.groupby("box_id").cumcount().reindex(frame.index)
    grown = frame["box_id"].isin(box[own != box])
    source = frame["source"].where(~grown, number).astype(np.int32)
    return replace(votes, frame=frame.assign(source=source))


def rates(decided: pd.DataFrame, n_bins: int = 10) -> pd.DataFrame:
    """How many reviewed pairs are duplicates, by IoU and by whether the most voted classes agree.

    Columns classes (all, same_class, other_class), iou_from, iou_to, pairs, reviewed, duplicates,
    rate, low, high: the rate of duplicates among the reviewed with its Wilson interval. One row for
    all pairs, then one for each of `n_bins` bins of equal width; they are closed below, the last
    one above as well.
    """
    overlap = decided["iou"].to_numpy()
    reviewed = (decided["decision"] != "").to_numpy()
    duplicate = (decided["decision"] == DUPLICATE).to_numpy()
    same = (decided["first_class"] == decided["second_class"]).to_numpy()
    scopes = dict(zip(SCOPES, (np.ones(len(same), dtype=bool), same, ~same), strict=True))
    edges = np.arange(n_bins + 1) / n_bins
    place = np.clip(np.searchsorted(edges, overlap, side="right") - 1, 0, n_bins - 1)
    rows = []
    for scope, inside in scopes.items():
        for number in range(-1, n_bins):
            chosen = inside if number < 0 else inside & (place == number)
            low, high = (0.0, 1.0) if number < 0 else (edges[number], edges[number + 1])
            n_reviewed, n_duplicates = ((chosen & what).sum() for what in (reviewed, duplicate))
            counts = {"pairs": chosen.sum(), "reviewed": n_reviewed, "duplicates": n_duplicates}
            found = share(int(n_duplicates), int(n_reviewed))
            rows.append({"classes": scope, "iou_from": low, "iou_to": high} | counts | found)
    return pd.DataFrame(rows)


def moving_rates(decided: pd.DataFrame, windows: Sequence[int]) -> pd.DataFrame:
    """Rate of duplicates among the last reviewed pairs, in the order of review (Figs. 10-13, a).

    Columns window, review (the how-many-th reviewed pair, from 1), iou (of that pair) and rate, the
    share of duplicates among this pair and those before it, `window` in all. A window larger than
    the number of reviews has no rows.
    """
    reviewed = decided[decided["decision"] != ""]
    duplicate = (reviewed["decision"] == DUPLICATE).to_numpy(dtype=np.int64)
    so_far = np.concatenate([[0], np.cumsum(duplicate)])
    parts = [
        pd.DataFrame(
            {
                "window": window,
                "review": np.arange(window, len(reviewed) + 1),
                "iou": reviewed["iou"].to_numpy()[window - 1 :],
                "rate": (so_far[window:] - so_far[:-window]) / window,
            }
        )
        for window in windows
        if window <= len(reviewed)
    ]
    columns = ["window", "review", "iou", "rate"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def review_list(decided: pd.DataFrame, min_iou: float = 0.0) -> pd.DataFrame:
    """The list to work through: pairs with at least `min_iou`, the columns to fill in up front.

    Pairs that are decided already keep their decisions, so that the filled-in list can take the
    place of the one before. Decided pairs below `min_iou` stay in.
    """
    shown = decided[(decided["iou"] >= min_iou) | (decided["decision"] != "")]
    columns = ["image_id", *PAIR, *DECISION]
    rest = [name for name in decided.columns if name not in columns]
    return shown[[*columns, *rest]].reset_index(drop=True)
