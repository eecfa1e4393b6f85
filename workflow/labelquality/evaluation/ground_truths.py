"""The hard ground truths that detectors are evaluated on."""

from __future__ import annotations

from collections.abc import Sequence

from labelquality.labels import validated_annotations
from labelquality.tables import Table, make_table


def hard_ground_truths(
    original: Table, soft_labels: Table, thresholds: Sequence[float], truth: Table | None = None
) -> dict[str, Table]:
    """Annotations by name: `original`, `validated_{threshold}`, and `truth` where it is known.

    As in the released evaluation (paper 1, Tables 7 and 38-41), the validated ground truth takes
    the raw soft label strictly above the threshold. The true class is the most likely real one.
    """
    named = {"original": original}
    for threshold in thresholds:
        validated = validated_annotations(soft_labels, threshold, column="soft_label")
        named[f"validated_{threshold}"] = validated
    if truth is not None:
        named["truth"] = true_annotations(truth)
    return named


def true_annotations(truth: Table) -> Table:
    """Known objects as annotations: the class is the most likely one, can't-solve left aside."""
    return make_table(
        "annotations",
        {
            "image_id": truth.frame["image_id"],
            "box_id": truth.frame["box_id"],
            "category": truth.vectors["soft_label"][:, :-1].argmax(axis=1),
            "crowd": False,
            "difficult": False,
            "region": "",
            "annotator": "truth",
        },
        truth.classes,
        boxes=truth.boxes,
    )
