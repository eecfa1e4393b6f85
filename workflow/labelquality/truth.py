"""How far re-annotated soft labels are from probabilities that are known (generated data)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from labelquality.distributions import root_jensen_shannon, total_variation
from labelquality.geometry import iou
from labelquality.matching import greedy, same_image_pairs
from labelquality.tables import Table, image_codes

LABELS = {"raw": "soft_label", "corrected": "corrected"}
AMBIGUOUS_BELOW = 0.8


def soft_label_distances(soft_labels: Table, truth: Table, *, min_iou: float = 0.5) -> pd.DataFrame:
    """Distance of each re-annotated object's soft label to its true object's known probabilities.

    Both tables are of kind soft_labels and share their classes; the known probabilities stand in
    the `soft_label` vectors of `truth`. Boxes are matched one-to-one, greedily by IoU >= `min_iou`.

    Returns
    -------
    DataFrame
        One row per re-annotated object and label (`raw`, then `corrected`): label, image_id,
        box_id, object_id, tvd in [0, 1], root_jsd in [0, sqrt(ln 2)], same_class (0 or 1) and
        subset (`clear` or `ambiguous`, where no known probability reaches 0.8). Objects without a
        true one keep their row, with everything after box_id missing.
    """
    images, true_images = image_codes(soft_labels.frame["image_id"], truth.frame["image_id"])
    ia, ib = same_image_pairs(images, true_images)
    overlap = iou(soft_labels.boxes[ia], truth.boxes[ib])
    matching = greedy(ia, ib, overlap, len(soft_labels), len(truth), min_iou)
    partner = matching.partner_of_a(len(soft_labels))
    return pd.concat(
        [
            _distances(soft_labels, truth, partner, label, column)
            for label, column in LABELS.items()
        ],
        ignore_index=True,
    )


def _distances(
    soft_labels: Table, truth: Table, partner: np.ndarray, label: str, column: str
) -> pd.DataFrame:
    matched = np.flatnonzero(partner >= 0)
    given = soft_labels.vectors[column][matched]
    known = truth.vectors["soft_label"][partner[matched]]
    subset = np.where(known.max(axis=1, initial=0.0) < AMBIGUOUS_BELOW, "ambiguous", "clear")
    measures = pd.DataFrame(
        {
            "object_id": truth.frame["box_id"].to_numpy(dtype=object)[partner[matched]],
            "tvd": total_variation(given, known),
            "root_jsd": root_jensen_shannon(given, known),
            "same_class": (given.argmax(axis=1) == known.argmax(axis=1)).astype(float),
            "subset": subset.astype(object),
        },
        index=matched,
    ).reindex(range(len(soft_labels)))
    ids = soft_labels.frame[["image_id", "box_id"]].reset_index(drop=True)
    return pd.concat([ids, measures], axis=1).assign(label=label)[
        ["label", *ids.columns, *measures.columns]
    ]
