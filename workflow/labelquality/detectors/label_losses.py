"""How badly a detector's own training would punish the labels, box by box.

What loss inspection (Schubert et al., WACV 2024) reads label errors from. Of all stages this one
alone runs a network on the original annotations; detection itself never sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from tqdm import tqdm

from labelquality.detectors.base import ImageDetections, scores_and_categories
from labelquality.images import load_rgb
from labelquality.tables import Table, make_table


@dataclass(frozen=True)
class BoxLosses:
    """Losses in one image by stage, the first of which makes the proposals.

    classification, regression : (m, stages), of the m labels that were given.
    detections : the n boxes that the detector sees.
    background : (n, stages), their classification losses if there is nothing.
    """

    classification: np.ndarray
    regression: np.ndarray
    detections: ImageDetections
    background: np.ndarray


class LossDetector(Protocol):
    """A detector of several stages whose losses can be told box by box."""

    def losses(self, image: np.ndarray, boxes: np.ndarray, categories: np.ndarray) -> BoxLosses:
        """Losses in an (h, w, 3) uint8 image with labels: boxes (m, 4) in pixels, classes (m,)."""
        ...


def run(
    detector: LossDetector,
    images: Table,
    image_folder: str | Path,
    annotations: Table,
    *,
    progress: bool = True,
) -> Table:
    """Losses of all `annotations` of a known class and of what the detector sees in `images`.

    Returns
    -------
    Table of kind `label_losses`: rows with the `box_id` of a label, and rows without one, which are
    detections, with the losses that they have if nothing is there.

    Raises
    ------
    DataError : an image that cannot be read.
    """
    frame = images.frame.sort_values("image_id", kind="stable")
    known = annotations.take(annotations.frame["category"].to_numpy() >= 0)
    places = known.frame.groupby("image_id", sort=False).indices
    told = []
    for row in tqdm(frame.itertuples(), total=len(frame), disable=not progress, ascii=True):
        labels = known.take(places.get(row.image_id, np.zeros(0, np.intp)))
        image = load_rgb(Path(image_folder) / str(row.file_name))
        losses = detector.losses(image, labels.boxes, labels.frame["category"].to_numpy())
        told.append((row.image_id, labels, losses))
    return _table(told, annotations.classes, frame["image_id"].tolist())


def _table(
    told: Sequence[tuple[str, Table, BoxLosses]], classes: Sequence[str], image_ids: Sequence[str]
) -> Table:
    columns: dict[str, list] = {
        name: [] for name in ("image_id", "box_id", "category", "classification", "regression")
    }
    boxes = [np.zeros((0, 4))]
    for image_id, labels, losses in told:
        seen = losses.detections
        _, categories = scores_and_categories(seen.probabilities, len(classes))
        columns["image_id"] += [image_id] * (len(labels) + len(seen))
        columns["box_id"] += [*labels.frame["box_id"], *[""] * len(seen)]
        columns["category"] += [*labels.frame["category"], *categories]
        columns["classification"] += [*losses.classification, *losses.background]
        columns["regression"] += [*losses.regression, *np.zeros_like(losses.background)]
        boxes += [labels.boxes, seen.boxes]
    return make_table(
        "label_losses", columns, classes, boxes=np.concatenate(boxes), image_ids=image_ids
    )
