"""How large boxes are: validated objects beside what a detector finds (paper 1, Fig. 30)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from labelquality.geometry import areas
from labelquality.labels import validated_annotations
from labelquality.tables import Table

EDGES = np.geomspace(4.0**2, 2048.0**2, 37)
"""Bounds of the classes of area, in square pixels: sides of 4 to 2,048 px, four classes a doubling
of the side. Smaller and larger boxes count in the first and the last class."""


def area_distributions(
    detections: Table, soft_labels: Table, *, min_score: float = 0.2, threshold: float = 0.5
) -> pd.DataFrame:
    """Numbers of boxes by area: columns source, low, high (square pixels), n.

    Sources are `validated`, the objects whose hard label is more probable than `threshold`, and
    `predictions`, the detections of a score of at least `min_score`, which the paper takes for the
    picture although its benchmark keeps weaker ones. Bounds are inclusive below.
    """
    validated = validated_annotations(soft_labels, threshold, column="soft_label")
    sure = detections.frame["score"].to_numpy() >= min_score
    sources = {"validated": validated.boxes, "predictions": detections.boxes[sure]}
    inner = EDGES[1:-1]
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "source": source,
                    "low": EDGES[:-1],
                    "high": EDGES[1:],
                    "n": np.bincount(
                        np.searchsorted(inner, areas(boxes), side="right"), minlength=len(EDGES) - 1
                    ),
                }
            )
            for source, boxes in sources.items()
        ],
        ignore_index=True,
    )
