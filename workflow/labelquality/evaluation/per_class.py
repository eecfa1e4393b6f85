"""Average similarity of each class alone.

Matching stays that of all classes together, so no figure of a class depends on which others are
looked at. An object belongs to the most likely class of its soft label, can't-solve left aside (the
first of equals). A matched prediction belongs to the class of its object, whatever it says itself:
what it says enters the similarity. An unmatched one belongs to the class that its detector names.
So every object and every prediction belongs to one class; numbers add up over the classes, and the
mean similarity of all predictions is the mean over classes, weighted by their predictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.evaluation.protocols import Protocol
from labelquality.evaluation.soft_evaluation import (
    IOUS,
    SIZES,
    Objects,
    Predictions,
    figures,
    outcomes,
    prepare,
)

Ints = NDArray[np.intp]


def evaluate_classes(
    predictions: Predictions,
    objects: Objects,
    n_images: int,
    protocol: Protocol,
    *,
    ious: Iterable[float] = IOUS,
    sizes: Mapping[str, tuple[float, float]] = SIZES,
) -> pd.DataFrame:
    """Rows as those of `soft_evaluation.evaluate_arrays`, and `category`, the index of the class.

    In the protocol's own ordering. AS is NaN where a class has no object in the size range, in
    every protocol. Objects are those that take part in the protocol.
    """
    protocol = replace(protocol, without_objects=np.nan)
    objects, [walk] = prepare(predictions, objects, n_images, protocol, [protocol.ordering])
    n_classes = objects.labels.shape[1] - 1
    likely = objects.labels[:, :-1].argmax(axis=1)
    records: list[dict[str, object]] = []
    for size, iou, outcome in outcomes(predictions, objects, protocol, ious, sizes):
        steps = walk.apply(outcome)
        category = predictions.category.copy()
        category[outcome.prediction] = likely[outcome.object]
        n_objects = np.bincount(likely[outcome.counts], minlength=n_classes)
        for k, rows in enumerate(_rows_by_class(category[steps.prediction], n_classes)):
            where = {
                "protocol": protocol.name, "category": k, "size": size, "iou": iou,
                "ordering": protocol.ordering,
            }  # fmt: skip
            of_class = figures(steps.take(rows), int(n_objects[k]), protocol)
            records += [where | row for row in of_class]
    return pd.DataFrame.from_records(records)


def _rows_by_class(category: Ints, n_classes: int) -> list[Ints]:
    """Rows of each class, ascending."""
    # Numpy sorts the narrowest integers many times faster.
    category = category.astype(np.min_scalar_type(n_classes))
    order = np.argsort(category, kind="stable")
    return np.split(order, np.searchsorted(category[order], np.arange(1, n_classes)))
