"""The score baseline: review the detector's most confident false positives first."""

from __future__ import annotations

from labelquality.error_detection.false_positives import as_proposals, false_positives
from labelquality.tables import Table


def propose(detections: Table, annotations: Table) -> Table:
    """Every false positive with respect to `annotations`, by confidence (paper 1, section VI)."""
    found = detections.take(false_positives(detections, annotations))
    return as_proposals(found, "score", found.frame["score"])
