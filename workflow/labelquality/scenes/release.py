"""Votes as the objects of paper 1's released soft-label files."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np

from labelquality.labels import soft_label
from labelquality.scenes.reannotation import Ballot, Proposal, annotator_name
from labelquality.scenes.shapes import CANT_SOLVE, CLASSES

_NAMES = (*CLASSES, CANT_SOLVE)


def released_object(proposal: Proposal, rng: np.random.Generator) -> dict[str, Any]:
    """Object dict of the released layout; `rng` makes its ids.

    An object with two sources has numbered `proposed_class_<n>` and `frequencies_<n>` in place of
    `proposed_class`, a second id, and the sum of both in `frequencies`.
    """
    ballots = proposal.ballots
    total = sum((b.frequencies for b in ballots), np.zeros(len(_NAMES), dtype=np.int64))
    record: dict[str, Any] = {
        "mo_id": _identifier(rng),
        "bbox": proposal.box.tolist(),
        "frequencies": _counts(total),
        "soft_label": _shares(total),
        "postprocessed_soft_label": _shares(total),
        "postprocessed_selected_soft_label": _shares(total),
        "annotation_info": _annotation_info(ballots),
    }
    if len(ballots) == 1:
        return record | {"proposed_class": _proposed(ballots[0])}
    for n, ballot in enumerate(ballots, start=1):
        if n > 1:
            record[f"mo_id_{n}"] = _identifier(rng)
        record[f"proposed_class_{n}"] = _proposed(ballot)
        record[f"frequencies_{n}"] = _counts(ballot.frequencies)
    return record


def unbiased_keys(ballot: Ballot) -> dict[str, Any]:
    """Keys that the sample voted on without a proposal has besides those of any object."""
    return {
        "unbiased_frequencies": _counts(ballot.frequencies),
        "unbiased_soft_label": _shares(ballot.frequencies),
        "unbiased_annotation_info": [{name: vote} for name, vote in _named_votes(ballot)],
    }


def _proposed(ballot: Ballot) -> str:
    assert ballot.proposed is not None
    return _NAMES[ballot.proposed]


def _counts(frequencies: np.ndarray) -> dict[str, int]:
    return dict(zip(_NAMES, frequencies.tolist(), strict=True))


def _shares(frequencies: np.ndarray) -> list[float]:
    return soft_label(frequencies[None, :].astype(np.float64))[0].tolist()


def _named_votes(ballot: Ballot) -> list[tuple[str, dict[str, Any]]]:
    return [
        (annotator_name(int(who)), {"vote": _NAMES[vote], "time": float(seconds)})
        for who, vote, seconds in zip(ballot.annotators, ballot.votes, ballot.seconds, strict=True)
    ]


def _annotation_info(ballots: tuple[Ballot, ...]) -> dict[str, list[dict[str, Any]]]:
    info: dict[str, list[dict[str, Any]]] = {}
    for ballot in ballots:
        for name, vote in _named_votes(ballot):
            info.setdefault(name, []).append(vote)
    return info


def _identifier(rng: np.random.Generator) -> str:
    return str(uuid.UUID(bytes=rng.bytes(16), version=4))
