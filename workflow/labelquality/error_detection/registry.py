"""All label-error methods by name. A new one is a module of this package and a line here."""

from __future__ import annotations

from collections.abc import Callable

from labelquality.error_detection import mistakenness, naive, objectlab, score
from labelquality.tables import Table

Method = Callable[[Table, Table], Table]
"""Detections and original annotations in, proposals out."""

METHODS: dict[str, Method] = {
    "naive": naive.propose,
    "score": score.propose,
    "objectlab": objectlab.propose,
    "objectlab_boxes": objectlab.propose_boxes,
    "mistakenness": mistakenness.propose,
}
