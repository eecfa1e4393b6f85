"""Loss inspection: what a two-stage detector's training would punish most is suspicious.

Schubert et al., "Identifying Label Errors in Object Detection Datasets by Loss Inspection" (WACV
2024): with the labels in question as targets, every box of the detector has a classification and a
regression loss in each stage, and their sum ranks the proposals. The boxes of the labels join those
that the first stage proposes, so that a label without an object is looked at, too. The sum is that
of the training here: the box heads of a cascade count as one, by their mean.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from labelquality.error_detection.false_positives import (
    as_proposals,
    labelled_objects,
    without_label,
)
from labelquality.errors import DataError
from labelquality.table_schemas import BOX
from labelquality.tables import Table, concatenate

_IDENTITY = ["image_id", "box_id", *BOX, "category"]


def propose(
    detections: Table, annotations: Table, *, label_losses: Table, iou_threshold: float = 0.5
) -> Table:
    """Every label, and every detection with no label on it, by the sum of its losses.

    `label_losses` holds the losses of these annotations and those that detections have where
    nothing is labelled. A detection with an IoU of `iou_threshold` or more with a label, of
    whichever class, speaks of that label and is not proposed: in the original, suppression removes
    it in favour of the label, whose objectness is 1.

    Raises DataError where the losses are not those of these annotations.
    """
    labels = labelled_objects(detections, annotations)
    is_detection = (label_losses.frame["box_id"] == "").to_numpy()
    seen = label_losses.take(is_detection)
    alone = seen.take(without_label(seen, labels, iou_threshold=iou_threshold))
    inspected = _losses_of(labels, label_losses.take(~is_detection))
    proposals = [as_proposals(t, "loss_inspection", total_loss(t)) for t in (inspected, alone)]
    return replace(concatenate(proposals), image_ids=detections.image_ids)


def total_loss(losses: Table) -> NDArray[np.float64]:
    """Classification and regression losses of the proposals plus the mean of those of heads, (n,).

    Raises DataError for rows that differ in their number of stages.
    """
    if not len(losses):
        return np.zeros(0)
    parts = [_by_stage(losses, column) for column in ("classification", "regression")]
    of_stages = np.add(*parts)
    return of_stages[:, 0] + of_stages[:, 1:].mean(axis=1)


def _by_stage(losses: Table, column: str) -> NDArray[np.float64]:
    try:
        return np.stack(losses.frame[column].tolist()).astype(np.float64)
    except ValueError:
        raise DataError(
            f"loss inspection: {column}: rows differ in their number of stages; they are of "
            "several detectors, so compute them anew"
        ) from None


def _losses_of(labels: Table, losses: Table) -> Table:
    """The rows of `losses` that are of `labels`."""
    rows = losses.frame.reset_index(names="row")
    found = labels.frame[_IDENTITY].merge(rows, how="left", on=_IDENTITY, validate="m:1")
    missing = found["row"].isna()
    if missing.any():
        first = found[missing].iloc[0]
        raise DataError(
            f"loss inspection: image {first['image_id']}: the losses lack box {first['box_id']}; "
            "they are of other annotations, so compute them anew"
        )
    return losses.take(found["row"].to_numpy(dtype=np.intp))
