"""The naive baseline: review every false positive, in no particular order."""

from __future__ import annotations

import numpy as np

from labelquality.error_detection.false_positives import as_proposals, false_positives
from labelquality.tables import Table


def propose(detections: Table, annotations: Table) -> Table:
    """Every false positive with respect to `annotations`, with NaN for a score (paper 1, VI)."""
    found = detections.take(false_positives(detections, annotations))
    return as_proposals(found, "naive", np.nan)
