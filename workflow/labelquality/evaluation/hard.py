"""A detector on every hard ground truth of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from labelquality.evaluation import average_precision
from labelquality.tables import Table


def evaluate_all(
    detections: Table, ground_truths: Mapping[str, Table], **options: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The COCO figures per ground truth, and those per class, each with a column ground_truth.

    `options` are those of `average_precision.evaluate`; all images of `detections` count.
    """
    images: Sequence[str] = detections.image_ids or ()
    figures, classes = [], []
    for name, ground_truth in ground_truths.items():
        result = average_precision.evaluate(detections, ground_truth, images, **options)
        figures.append({"ground_truth": name, **result.summary()})
        classes.append(result.per_class().assign(ground_truth=name))
    return pd.DataFrame(figures), pd.concat(classes, ignore_index=True)
