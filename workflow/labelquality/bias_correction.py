"""Soft labels corrected for the proposal that annotators saw (paper 1, supplement; released code).

Annotators agree too readily with the class they are shown. Every method moves probability off the
proposed class; which one, and how far, was tuned on samples voted on without proposal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelquality.errors import DataError
from labelquality.labels import soft_label
from labelquality.tables import Table, make_table

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
PARAMETERS: dict[str, tuple[str, ...]] = {
    "released": (),
    "identity": (),
    "downweight": ("factor",),
    "cleverlabel": ("delta", "mu", "tau", "transition"),
}
"""Methods, and the parameters that each takes."""
EPSILON = 1e-10
"""Added to every entry of a corrected vector, as the released code does before normalising."""
_ONE_STAR = 0.99
_TINY = 1e-12


def correct(votes: Table, released: Table | None, *, method: str, **parameters: Any) -> Table:
    """Table of soft labels of every object, with corrected vectors.

    Parameters
    ----------
    votes : Table
        One row per source of votes.
    released : Table or None
        Soft labels as released; gives the objects and their `soft_label`. Without it the objects
        are those of `votes`, and `soft_label` is the share of each class among all their votes.
    method : str
        `released` takes the corrected vectors of `released`; `identity` takes `soft_label`;
        `downweight` (parameter `factor`) and `cleverlabel` (`delta`, `mu`, `tau`) correct each
        source, add `EPSILON`, and average over an object's sources, each counting the same.
        An object without a proposal keeps its `soft_label`.

    Raises DataError for an unknown method or parameter and for `released` without such vectors.
    """
    if method not in PARAMETERS:
        raise DataError(f"bias_correction: method {method} is none of {', '.join(PARAMETERS)}")
    surplus = [name for name in parameters if name not in PARAMETERS[method]]
    if surplus:
        raise DataError(f"bias_correction: {method} takes no {surplus[0]}; leave it out")
    objects = _objects_of(votes) if released is None else released
    soft = objects.vectors["soft_label"]
    if method == "released":
        if released is None:
            raise DataError("bias_correction: method released needs released soft labels")
        corrected = released.vectors["corrected"]
    elif method == "identity":
        corrected = soft
    else:
        corrected = _average_over_sources(votes, objects, method, parameters)
    return make_table(
        "soft_labels",
        dict(objects.frame),
        objects.classes,
        vectors={"soft_label": soft, "corrected": corrected},
        image_ids=objects.image_ids,
    )


def downweight(shares: Floats, proposed: Ints, *, factor: float = 0.9) -> Floats:
    """Multiply the proposed class of each row by `factor` and normalise, (n, K + 1) (paper 1).

    `shares` (n, K + 1) sum to 1; `proposed` (n,) are class indices. A unanimous row stays.
    Raises DataError unless 0 < factor <= 1.
    """
    if not 0 < factor <= 1:
        raise DataError(f"bias_correction: factor is {factor}, should be above 0 and at most 1")
    weighted = shares.copy()
    weighted[np.arange(len(shares)), proposed] *= factor
    return weighted / weighted.sum(axis=1, keepdims=True)


def cleverlabel(
    shares: Floats,
    proposed: Ints,
    *,
    delta: float = 0.0,
    mu: float = 1.0,
    tau: float = 0.0,
    transition: Floats | None = None,
) -> Floats:
    """CleverLabel, (n, K + 1) (Schmarje et al., "Label Smarter, Not Harder", 2023; paper 1).

    A row whose share A of the proposed class reaches `tau` gets (A - delta) / (0.99 - delta),
    within [0, 1], in its place, and the other classes share the rest as before. With `mu` below 1
    the result is then blended with the row of `transition` that belongs to its first largest
    entry. With `mu` 0 nothing is left of the first step, so it is not made.

    Parameters
    ----------
    shares : (n, K + 1), rows sum to 1
    proposed : (n,) class indices
    delta : how readily annotators accept a wrong proposal, in [0, 0.99)
    mu : weight of an object's own votes against its class, in [0, 1]
    tau : least share of the proposed class that is corrected
    transition : (K + 1, K + 1), rows sum to 1; needed when mu < 1

    Raises DataError for a parameter out of range.

    Notes
    -----
    As in the released code a share is compared with `tau` after the row was normalised, so that
    rounding may leave a row uncorrected whose share equals `tau`.
    """
    if not 0 <= delta < _ONE_STAR:
        raise DataError(f"bias_correction: delta is {delta}, should be in [0, {_ONE_STAR})")
    if not 0 <= mu <= 1:
        raise DataError(f"bias_correction: mu is {mu}, should be in [0, 1]")
    if mu < 1 and transition is None:
        raise DataError(
            f"bias_correction: mu is {mu}, but without a transition matrix it must be 1"
        )
    result = shares if mu == 0 else _move_off_proposal(shares, proposed, delta, tau)
    if transition is None or mu == 1:
        return result
    blended = np.maximum(mu * result + (1 - mu) * transition[result.argmax(axis=1)], 0.0)
    return blended / blended.sum(axis=1, keepdims=True)


def _move_off_proposal(shares: Floats, proposed: Ints, delta: float, tau: float) -> Floats:
    rows = np.arange(len(shares))
    share = shares[rows, proposed]
    rejected = 1.0 - share
    target = np.clip((share - delta) / (_ONE_STAR - delta), 0.0, 1.0)
    unanimous = rejected <= _TINY
    moved = shares * ((1.0 - target) / np.where(unanimous, 1.0, rejected))[:, None]
    moved[rows, proposed] = target
    moved[unanimous] = 0.0
    moved[unanimous, proposed[unanimous]] = 1.0
    return np.where((share < tau)[:, None], shares, moved)


def _average_over_sources(
    votes: Table, objects: Table, method: str, parameters: dict[str, Any]
) -> Floats:
    """Corrected vectors (n, K + 1) of `objects`; `soft_label` where no source had a proposal."""
    usable = votes.take(votes.frame["proposed"].to_numpy() >= 0)
    object_row = _object_rows(usable, objects)
    counts = usable.vectors["frequencies"]
    shares = _normalised(_normalised(counts))
    proposed = usable.frame["proposed"].to_numpy()
    formula = downweight if method == "downweight" else cleverlabel
    smoothed = _normalised(formula(shares, proposed, **parameters) + EPSILON)
    total = np.zeros_like(objects.vectors["soft_label"])
    np.add.at(total, object_row, smoothed)
    n_sources = np.bincount(object_row, minlength=len(objects))[:, None]
    average = total / np.maximum(n_sources, 1)
    return np.where(n_sources > 0, average, objects.vectors["soft_label"])


def _normalised(rows: Floats) -> Floats:
    return rows / rows.sum(axis=1, keepdims=True)


def _object_rows(votes: Table, objects: Table) -> NDArray[np.intp]:
    """Row of each source's object. Raises DataError for votes on an object that is not there."""
    row_of = {box_id: row for row, box_id in enumerate(objects.frame["box_id"])}
    rows = np.array([row_of.get(i, -1) for i in votes.frame["box_id"]], dtype=np.intp)
    if (rows < 0).any():
        lost = votes.frame["box_id"].to_numpy()[rows < 0]
        raise DataError(
            f"votes: {len(lost)} sources, the first of box {lost[0]}, belong to no released object;"
            " make both tables from the same file"
        )
    return rows


def _objects_of(votes: Table) -> Table:
    """Soft labels of the objects that were voted on, in the order of their first source."""
    first = votes.take(~votes.frame.duplicated("box_id").to_numpy())
    row = _object_rows(votes, first)
    total = np.zeros((len(first), len(votes.classes) + 1))
    np.add.at(total, row, votes.vectors["frequencies"])
    proposed = first.frame["proposed"].to_numpy().copy()
    differs = votes.frame["proposed"].to_numpy() != proposed[row]
    proposed[row[differs]] = -1
    shares = soft_label(total)
    return make_table(
        "soft_labels",
        {
            "image_id": first.frame["image_id"],
            "box_id": first.frame["box_id"],
            "n_votes": total.sum(axis=1).astype(np.int32),
            "proposed": proposed,
        },
        votes.classes,
        boxes=first.boxes,
        vectors={"soft_label": shares, "corrected": shares},
        image_ids=votes.image_ids,
    )
