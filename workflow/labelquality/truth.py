"""Soft labels against the probabilities behind the votes, where a data set is generated."""

from __future__ import annotations

import numpy as np
import pandas as pd

from labelquality.distributions import root_jensen_shannon, total_variation
from labelquality.geometry import iou
from labelquality.matching import greedy, same_image_pairs
from labelquality.tables import Table, image_codes

LABELS = {"raw": "soft_label", "corrected": "corrected"}


def compare_soft_labels(soft_labels: Table, truth: Table, *, min_iou: float = 0.5) -> pd.DataFrame:
    """Distances of every re-annotated object's soft labels from the known probabilities.

    Objects are matched one to one with true ones, from the most overlapping pair down to `min_iou`.
    Columns: image_id, box_id, label (raw, corrected), n_votes, tvd, root_jsd, same_class (do both
    have the same most likely class). Objects without a partner have no row.
    """
    ia, ib = same_image_pairs(*image_codes(soft_labels.frame["image_id"], truth.frame["image_id"]))
    overlap = iou(soft_labels.boxes[ia], truth.boxes[ib])
    pairs = greedy(ia, ib, overlap, len(soft_labels), len(truth), min_iou).pairs
    pairs = pairs[np.argsort(pairs[:, 0])]
    objects, known = soft_labels.take(pairs[:, 0]), truth.vectors["soft_label"][pairs[:, 1]]
    frames = []
    for label, column in LABELS.items():
        vectors = objects.vectors[column]
        frame = objects.frame[["image_id", "box_id", "n_votes"]].assign(
            label=label,
            tvd=total_variation(vectors, known),
            root_jsd=root_jensen_shannon(vectors, known),
            same_class=vectors.argmax(axis=1) == known.argmax(axis=1),
        )
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def summarize_distances(distances: pd.DataFrame) -> pd.DataFrame:
    """Means of `compare_soft_labels` per label: n, mean_tvd, mean_root_jsd, same_class (share)."""
    return (
        distances.groupby("label", sort=False)
        .agg(
            n=("tvd", "size"),
            mean_tvd=("tvd", "mean"),
            mean_root_jsd=("root_jsd", "mean"),
            same_class=("same_class", "mean"),
        )
        .reset_index()
    )
