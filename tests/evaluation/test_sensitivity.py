from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation_tables import ids, random_tables
from labelquality.evaluation import average_similarity
from labelquality.evaluation.protocols import ORDERINGS, PROTOCOLS
from labelquality.evaluation.sensitivity import sensitivity
from labelquality.tables import Table


def calibrated_table(seed: int = 3) -> tuple[Table, Table]:
    detections, _, soft = random_tables(seed, n_objects=30, n_detections=60)
    frame = detections.frame.assign(fold=0, calibrated_score=detections.frame["score"])
    return replace(detections, kind="calibrated", frame=frame), soft


def test_every_choice_is_a_row_and_the_protocols_own_is_among_them() -> None:
    calibrated, soft = calibrated_table()
    rows = sensitivity(calibrated, soft, ids())
    choices = ["matching", "cant_solve_objects", "ordering"]
    assert len(rows) == len(rows.drop_duplicates(choices)) == 2 * 2 * len(ORDERINGS)
    protocol = PROTOCOLS["defined"]
    whole = average_similarity.evaluate(calibrated, soft, ids(), protocol)
    expected = average_similarity.summarize(whole, protocol)
    own = rows.set_index(choices).loc[("greedy", "drop", "entropy_descending")]
    assert own["AS"] == pytest.approx(expected["AS_all"], abs=1e-12)
    assert own["recall"] == pytest.approx(expected["recall"], abs=1e-12)
    assert rows["AS"].nunique() > len(ORDERINGS)


def test_where_all_predictions_are_alike_the_product_is_average_similarity() -> None:
    calibrated, soft = calibrated_table()
    p = np.tile(np.array([0.25, 0.25, 0.25], dtype=np.float32), (len(calibrated), 1))
    labels = np.tile([0.25, 0.25, 0.25, 0.25], (len(soft), 1))
    calibrated = replace(calibrated, vectors={"probabilities": p})
    soft = replace(soft, vectors={"corrected": labels, "soft_label": labels})
    rows = sensitivity(calibrated, soft, ids())
    # Every similarity is about the same, so only the raster of 101 recall levels is left over.
    assert (rows["AS"] >= rows["recall_x_similarity"]).all()
    assert rows["share_explained"].between(0.8, 1).all()
