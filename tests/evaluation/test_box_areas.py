from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation_tables import random_tables
from labelquality.evaluation.box_areas import EDGES, area_distributions


def test_every_box_that_counts_is_in_one_class() -> None:
    detections, _, soft_labels = random_tables(3)
    rows = area_distributions(detections, soft_labels, min_score=0.5)
    numbers = rows.groupby("source")["n"].sum()
    assert numbers["predictions"] == (detections.frame["score"] >= 0.5).sum()
    assert numbers["validated"] == (soft_labels.vectors["soft_label"][:, :-1] > 0.5).any(1).sum()
    assert list(rows["source"].unique()) == ["validated", "predictions"]


@pytest.mark.parametrize("side", [1.0, 8.0, 8.1, 700.0, 5000.0])
def test_a_box_counts_where_its_area_lies_and_outer_ones_at_the_ends(side: float) -> None:
    detections, _, soft_labels = random_tables(3)
    frame = detections.frame.assign(x1=0.0, y1=0.0, x2=side, y2=side)
    rows = area_distributions(replace(detections, frame=frame), soft_labels, min_score=0.0)
    [place] = np.flatnonzero(rows.loc[rows["source"] == "predictions", "n"])
    low, high = EDGES[place], EDGES[place + 1]
    area = float(np.clip(side**2, EDGES[0], np.nextafter(EDGES[-1], 0)))
    assert low <= area < high
