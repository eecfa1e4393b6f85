"""All label-error methods by name. A new one is a module of this package and a line here."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from labelquality.error_detection import (
    loss_inspection,
    matching_cost,
    metadetect,
    mistakenness,
    naive,
    objectlab,
    score,
)
from labelquality.tables import Table, make_table

Method = Callable[..., Table]
"""Detections and original annotations in, proposals out.

What a method needs beside them are keyword parameters without a default, named as in `EVIDENCE`.
"""

METHODS: dict[str, Method] = {
    "naive": naive.propose,
    "score": score.propose,
    "objectlab": objectlab.propose,
    "objectlab_boxes": objectlab.propose_boxes,
    "metadetect": metadetect.propose,
    "metadetect_released": metadetect.propose_released,
    "loss_inspection": loss_inspection.propose,
    "matching_cost": matching_cost.propose,
    "mistakenness": mistakenness.propose,
}

EVIDENCE: dict[str, str] = {
    "candidates": "the boxes before suppression, which only detectors that are run here keep",
    "label_losses": "the losses of a two-stage detector that is run here",
    "seed": "the seed of the run",
}
"""What is there for methods beside the two tables, and what it is."""


def propose(name: str, detections: Table, annotations: Table, **evidence: object) -> Table:
    """Proposals of the method called `name`, given what it asks for of the `evidence`.

    Where something that it needs is missing (None, or a table that speaks of no image), the method
    is switched off: its proposals are an empty table that says why (`reason_off`).
    """
    method = METHODS[name]
    asked = {
        key: parameter.default is inspect.Parameter.empty
        for key, parameter in inspect.signature(method).parameters.items()
        if key in EVIDENCE
    }
    for key, is_needed in asked.items():
        if is_needed and _is_missing(evidence.get(key)):
            return switched_off(detections, f"needs {EVIDENCE[key]}")
    given = {key: evidence[key] for key in asked if key in evidence}
    return method(detections, annotations, **given)


def _is_missing(evidence: object) -> bool:
    return evidence is None or (isinstance(evidence, Table) and evidence.image_ids == ())


def switched_off(detections: Table, reason: str) -> Table:
    """The proposals of a method that cannot run on these detections, for a `reason`."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("image_id", "method", "category", "score")
    }
    return make_table(
        "proposals",
        columns,
        detections.classes,
        boxes=detections.boxes[:0],
        meta={"switched_off": reason},
        image_ids=[],
    )


def reason_off(proposals: Table) -> str:
    """Why a method was switched off; nothing for one that ran."""
    return proposals.meta.get("switched_off", "")
