"""Votes of the released re-annotation: by source, with proposals and times."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from labelquality.datasets.adapter import ClassNames, Intake
from labelquality.datasets.records import NUMBER, Records, type_name

Floats = NDArray[np.float64]
_SOURCE_KEY = re.compile(r"(?:proposed_class|frequencies)_([1-9][0-9]{0,2})")
_MOST_VOTES = 1_000_000


@dataclass
class Votes:
    """Rows of the table of votes while they are collected."""

    width: int
    object_row: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    proposed: list[int] = field(default_factory=list)
    seconds: list[list[float]] = field(default_factory=list)
    frequencies: list[Floats] = field(default_factory=list)

    def matrix(self) -> Floats:
        return np.array(self.frequencies, dtype=np.float64).reshape(-1, self.width)


def _sources(records: Records) -> list[tuple[tuple[int, str], ...]]:
    """Number and key suffix of each source of every object: 0 and "" unless it was merged."""
    known: dict[tuple[str, ...], tuple[tuple[int, str], ...]] = {}
    of_rows = []
    for record in records.rows:
        keys = tuple(record)
        if keys not in known:
            numbers = {int(m[1]) for m in map(_SOURCE_KEY.fullmatch, keys) if m}
            known[keys] = tuple((n - 1, f"_{n}") for n in sorted(numbers)) or ((0, ""),)
        of_rows.append(known[keys])
    return of_rows


def collect_votes(
    records: Records, names: ClassNames, prefix: str, intake: Intake
) -> tuple[Votes, Floats]:
    """Votes by source, and all votes (n, K + 1) of each object.

    The latter are the file's total where it has one, else the sum over the sources.
    """
    votes = Votes(len(names.classes) + 1)
    sources = [((0, ""),)] * len(records) if prefix else _sources(records)
    suffixes = sorted({suffix for of_row in sources for _, suffix in of_row} - {""})
    counted = {
        suffix: _frequencies(records, names, f"{prefix}frequencies{suffix}")
        for suffix in ("", *suffixes)
    }
    voted = {suffix: counts.sum(axis=1) > 0 for suffix, counts in counted.items()}
    totals = counted[""].copy()
    without_votes = without_proposal = 0
    for row, of_row in enumerate(sources):
        for source, suffix in of_row:
            if not voted[suffix][row]:
                without_votes += 1
                continue
            counts = counted[suffix][row]
            if not voted[""][row]:
                totals[row] += counts
            proposed = -1 if prefix else _proposed(records, row, f"proposed_class{suffix}", names)
            without_proposal += proposed < 0
            votes.object_row.append(row)
            votes.source.append(source)
            votes.proposed.append(proposed)
            votes.seconds.append(_seconds(records, row, f"{prefix}annotation_info", suffix, source))
            votes.frequencies.append(counts)
    if not prefix:
        intake.add("source of votes", "dropped", "has no votes", without_votes)
        intake.add("source of votes", "kept", "has no proposed class", without_proposal)
    return votes, totals


def _frequencies(records: Records, names: ClassNames, key: str) -> Floats:
    """Votes (n, K + 1) from the mappings class -> count at `key`; zeros where one is absent, null
    or empty.

    Mappings that name the classes in the same order, which is nearly all, are read together.
    """
    by_spelling: dict[tuple[str, ...], list[int]] = {}
    for row, given in enumerate(records.column(key, (dict,), default=None)):
        if given:
            by_spelling.setdefault(tuple(given), []).append(row)
    votes = np.zeros((len(records), len(names.classes) + 1))
    for spelling, rows in by_spelling.items():
        order = _class_order(records, rows[0], key, spelling, names)
        flat = [count for row in rows for count in records.rows[row][key].values()]
        if not set(map(type, flat)) <= set(NUMBER):
            bad = next(i for i, count in enumerate(flat) if type(count) not in NUMBER)
            raise records.error(
                rows[bad // len(order)], f"{key} holds {type_name(flat[bad])}, should hold numbers"
            )
        counts = np.array(flat, dtype=np.float64).reshape(-1, len(order))
        odd = ~((counts >= 0) & (counts <= _MOST_VOTES) & (counts % 1 == 0)).all(axis=1)
        if odd.any():
            raise records.error(
                rows[int(np.flatnonzero(odd)[0])], f"{key} holds a number that is no count of votes"
            )
        votes[np.ix_(rows, order)] = counts
    return votes


def _class_order(
    records: Records, row: int, key: str, spelling: tuple[str, ...], names: ClassNames
) -> list[int]:
    """Class index of each name in a mapping of votes, can't-solve included."""
    order = [names.find(name) for name in spelling]
    if -1 in order:
        raise records.error(
            row,
            f"{key} has votes for {spelling[order.index(-1)]}, which is no class of the data set",
            "add it to class_names of the data set",
        )
    if len(set(order)) < len(order):
        raise records.error(row, f"{key} names a class twice")
    return order


def _proposed(records: Records, row: int, key: str, names: ClassNames) -> int:
    """Class index of the proposal, -1 where there is none."""
    name = records.rows[row].get(key)
    if name is None:
        return -1
    if type(name) is not str:
        raise records.error(row, f"{key} is {type_name(name)}, should be text")
    found = names.find_real(name)
    if found < 0:
        raise records.error(
            row,
            f"{key} {name} is no class of the data set",
            "add it to class_names of the data set, or mend it",
        )
    return found


def _seconds(records: Records, row: int, key: str, suffix: str, source: int) -> list[float]:
    """Times of the votes of one source, where known.

    Times that a merged object does not keep apart by source belong to its first source.
    """
    record = records.rows[row]
    info = record.get(key + suffix, record.get(key) if source == 0 else None)
    if info is None:
        return []
    entries = [info] if type(info) is dict else info
    problem = f"{key} is not a mapping from annotator to votes with time"
    if type(entries) is not list or not {*map(type, entries)} <= {dict}:
        raise records.error(row, problem)
    by_annotator = [given for entry in entries for given in entry.values()]
    votes = [v for given in by_annotator for v in (given if type(given) is list else [given])]
    if not {*map(type, votes)} <= {dict}:
        raise records.error(row, problem)
    times = [time for vote in votes if (time := vote.get("time")) is not None]
    numbers = {*map(type, times)} <= {*NUMBER}
    if times and not (numbers and min(times) >= 0 and max(times) < float("inf")):
        raise records.error(row, f"{key} holds a time that is no number of seconds")
    return [float(time) for time in times]
