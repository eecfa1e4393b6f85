"""The re-annotation of paper 1, simulated: proposals, votes in rounds of 11, time per vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelquality.distributions import entropy
from labelquality.geometry import clip, heights, iou
from labelquality.scenes.original import stray_box
from labelquality.scenes.render import HEIGHT, WIDTH, Scene
from labelquality.scenes.shapes import CLASSES, partner

ROUND = 11
"""Votes per round (paper 1, section III)."""
CLEAR = 0.8
"""A further round follows while the leading answer has a smaller share."""
MAX_ROUNDS = 3
PROPOSAL_BIAS = 0.1
"""Weight with which people follow the proposed class instead of what they see."""
N_ANNOTATORS = 60
BOX_IOU = 0.75
"""Least IoU of a validated box with the true one, where whole pixels allow it."""

_UNBIASED_SHARE = 0.17
_MERGED_SHARE = 0.05
_REJECTED_SHARE = 0.055
_DUPLICATE_SHARE = 0.03
_TRIES = 20


@dataclass(frozen=True)
class Ballot:
    """Votes on one box: classes, seconds and annotators, (v,) each, in the order given.

    `proposed` is the class people were asked to confirm, None where they were not told any.
    """

    proposed: int | None
    votes: np.ndarray
    seconds: np.ndarray
    annotators: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """Votes per class, can't-solve last, (K + 1,) int."""
        return np.bincount(self.votes, minlength=len(CLASSES) + 1)


@dataclass(frozen=True)
class Proposal:
    """A proposed box and what people said about it.

    Attributes
    ----------
    box : (4,) int
        x1, y1, x2, y2 in whole pixels.
    object : int or None
        Index of the true object; None for a proposal on something else.
    ballots : tuple of Ballot
        One per source; two where two sources had proposed the box.
    unbiased : Ballot or None
        Votes by people who were not told a class.
    """

    box: np.ndarray
    object: int | None
    ballots: tuple[Ballot, ...]
    unbiased: Ballot | None


def reannotate(scene: Scene, taken: np.ndarray, rng: np.random.Generator) -> list[Proposal]:
    """Propose boxes for a scene and let people vote on them.

    Parameters
    ----------
    scene : Scene
    taken : (m, 4) float64
        Boxes that rejected proposals keep away from, besides the true ones, so that a spurious
        original box is not backed by one.
    rng : Generator

    Returns
    -------
    list of Proposal
        Those on objects in the objects' order, then the rejected ones.
    """
    proposals = []
    for i, (box, seen) in enumerate(zip(scene.boxes, scene.probabilities, strict=True)):
        tiny = heights(box) < 9.0
        if rng.random() < (0.13 if tiny else 0.008):
            continue
        sources = 2 if rng.random() < _MERGED_SHARE else 1
        asked = sources == 1 and rng.random() < _UNBIASED_SHARE
        proposals.append(
            Proposal(
                box=_pixel_box(box, rng),
                object=i,
                ballots=tuple(_rounds(seen, _proposed(seen, k, rng), rng) for k in range(sources)),
                unbiased=_ballot(seen, None, 1, rng) if asked else None,
            )
        )
    for box in _rejected_boxes(scene, taken, rng):
        seen = nothing_there(rng)
        ballot = _rounds(seen, int(rng.integers(len(CLASSES))), rng)
        proposals.append(Proposal(box, None, (ballot,), None))
    return proposals


def drawn_again(
    scene: Scene, proposals: Sequence[Proposal], rng: np.random.Generator
) -> list[Proposal]:
    """Duplicates: second boxes of a few objects, each with votes of its own (paper 1, A.4).

    Someone overlooked the first box, or took the object for another class.
    """
    duplicates = []
    for first in proposals:
        if first.object is None or rng.random() >= _DUPLICATE_SHARE:
            continue
        seen = scene.probabilities[first.object]
        ballot = _rounds(seen, _proposed(seen, 1, rng), rng)
        box = _pixel_box(scene.boxes[first.object], rng)
        duplicates.append(Proposal(box, first.object, (ballot,), None))
    return duplicates


def biased(seen: np.ndarray, proposed: int | None) -> np.ndarray:
    """What people say who are told a class, (K + 1,): they follow it with `PROPOSAL_BIAS`."""
    if proposed is None:
        return seen
    told = np.zeros_like(seen)
    told[proposed] = 1.0
    return (1.0 - PROPOSAL_BIAS) * seen + PROPOSAL_BIAS * told


def annotator_name(number: int) -> str:
    """Pseudonym of an annotator, 16 hexadecimal digits."""
    return f"{(number + 1) * 0x9E3779B97F4A7C15 % 2**64:016x}"


def _proposed(seen: np.ndarray, source: int, rng: np.random.Generator) -> int:
    """The most probable class, or now and then another plausible one; a second source differs."""
    best = int(seen[:-1].argmax())
    if rng.random() < (0.9 if source == 0 else 0.3):
        return best
    plausible = np.sqrt(seen[:-1])
    plausible[best] = 0.0
    plausible[partner(best)] *= 2
    return int(rng.choice(len(plausible), p=plausible / plausible.sum()))


def _rounds(seen: np.ndarray, proposed: int, rng: np.random.Generator) -> Ballot:
    """Rounds of votes until the answer is clear or the rounds are used up."""
    ballot = _ballot(seen, proposed, MAX_ROUNDS, rng)
    for n in range(ROUND, MAX_ROUNDS * ROUND, ROUND):
        first = Ballot(proposed, ballot.votes[:n], ballot.seconds[:n], ballot.annotators[:n])
        if first.frequencies.max() >= CLEAR * n:
            return first
    return ballot


def _ballot(
    seen: np.ndarray, proposed: int | None, rounds: int, rng: np.random.Generator
) -> Ballot:
    """Votes of whole rounds, nobody twice in a round; doubt and a missing proposal take time."""
    said = biased(seen, proposed)
    median = (1.1 if proposed is not None else 1.6) * (1.0 + 0.9 * float(entropy(seen)))
    n = rounds * ROUND
    return Ballot(
        proposed=proposed,
        votes=rng.choice(len(said), size=n, p=said),
        seconds=np.round(rng.lognormal(np.log(median), 0.45, size=n), 3),
        annotators=np.concatenate(
            [rng.choice(N_ANNOTATORS, size=ROUND, replace=False) for _ in range(rounds)]
        ),
    )


def _pixel_box(true: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole-pixel box near the true one; the nearest one where every jittered one is too far."""
    sides = np.tile(true[2:] - true[:2], 2)
    for _ in range(_TRIES):
        box = np.rint(clip(true + rng.normal(0.0, 0.025, size=4) * sides, WIDTH, HEIGHT))
        if iou(box, true) >= BOX_IOU:
            return box.astype(np.int64)
    return np.rint(true).astype(np.int64)


def _rejected_boxes(scene: Scene, taken: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    boxes: list[np.ndarray] = []
    for _ in range(int(rng.binomial(len(scene.boxes), _REJECTED_SHARE))):
        box = stray_box(scene, np.array([*scene.boxes, *taken, *boxes]), rng)
        if box is not None:
            boxes.append(np.rint(box).astype(np.int64))
    return boxes


def nothing_there(rng: np.random.Generator) -> np.ndarray:
    """What people say about clutter: mostly that they cannot tell, (K + 1,)."""
    cant_solve = rng.uniform(0.65, 0.9)
    return np.append((1.0 - cant_solve) * rng.dirichlet(np.ones(len(CLASSES))), cant_solve)
