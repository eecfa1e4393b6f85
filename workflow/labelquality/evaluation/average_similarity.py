"""Soft evaluation: average similarity (AS), total variation and root Jensen-Shannon distance.

Paper 1, sections V and C.1: a detection is a distribution over the classes and background; matched,
it is compared with the object's soft label, unmatched with certain background. The last entry of a
soft label, can't-solve, stands for background as well. Matching ignores classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.distributions import with_background
from labelquality.errors import DataError
from labelquality.evaluation.bootstrap import intervals
from labelquality.evaluation.per_class import evaluate_classes
from labelquality.evaluation.protocols import Ordering, Protocol
from labelquality.evaluation.selection import rows_of_images
from labelquality.evaluation.soft_evaluation import (
    IOUS,
    SIZES,
    Objects,
    Predictions,
    Rows,
    evaluate_arrays,
)
from labelquality.ordering import descending
from labelquality.tables import PROBABILITY_KINDS, Table

Floats = NDArray[np.float64]
Summary = dict[str, float | None]


def evaluate(
    calibrated: Table,
    soft_labels: Table,
    image_ids: Sequence[str],
    protocol: Protocol,
    *,
    column: str = "corrected",
    ious: Iterable[float] = IOUS,
    sizes: Mapping[str, tuple[float, float]] = SIZES,
    orderings: Sequence[Ordering] | None = None,
) -> pd.DataFrame:
    """Evaluate calibrated detections against soft labels on `image_ids`.

    Parameters: `column` names the soft labels' vectors; `sizes` gives area ranges in square pixels,
    ends included; `orderings` defaults to the protocol's own. The order of `image_ids` matters only
    where the protocol takes distances over the last image of each chunk.

    Returns one row per size, IoU threshold, ordering and similarity (`tv`, `cosine`, `js`): AS,
    mean_similarity over all predictions, recall (share of objects matched), the mean distances TVD
    and root_JSD over all and over matched predictions (the same in every ordering and similarity),
    and the numbers of objects, predictions and matched predictions. NaN is a mean over nothing.

    A prediction whose match is an object outside the size range, and an unmatched one whose own
    area is outside, are left out of that size. Ties go by raw score, then image, box and category,
    so the order of the rows never matters.

    Raises DataError when an image was not processed, the classes of both tables differ or a
    detection has no class.
    """
    return evaluate_arrays(
        *_arrays(calibrated, soft_labels, image_ids, protocol, column),
        len(image_ids),
        protocol,
        ious=ious,
        sizes=sizes,
        orderings=orderings,
    )


def evaluate_intervals(
    calibrated: Table,
    soft_labels: Table,
    image_ids: Sequence[str],
    protocol: Protocol,
    *,
    column: str = "corrected",
    n_draws: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Intervals of the figures by drawing images anew, see `bootstrap.intervals`.

    Parameters and errors as in `evaluate`.
    """
    predictions, objects = _arrays(calibrated, soft_labels, image_ids, protocol, column)
    return intervals(predictions, objects, len(image_ids), protocol, n_draws=n_draws, seed=seed)


def evaluate_per_class(
    calibrated: Table,
    soft_labels: Table,
    image_ids: Sequence[str],
    protocol: Protocol,
    *,
    column: str = "corrected",
    sizes: Mapping[str, tuple[float, float]] = SIZES,
) -> pd.DataFrame:
    """The figures of `summarize` for each class.

    Columns category (its name), n_objects, n_detections (those that name it), then the figures, NaN
    where they are means over nothing. `per_class` says which objects and predictions are those of a
    class. Parameters and errors as in `evaluate`.
    """
    predictions, objects = _arrays(calibrated, soft_labels, image_ids, protocol, column)
    rows = evaluate_classes(predictions, objects, len(image_ids), protocol, sizes=sizes)
    of_all = rows[rows["size"] == "all"].groupby("category")
    counts = {
        "category": list(calibrated.classes),
        "n_objects": of_all["n_objects"].first(),
        "n_detections": np.bincount(predictions.category, minlength=len(calibrated.classes)),
    }
    numbers = [summarize(part, protocol) for _, part in rows.groupby("category")]
    return pd.DataFrame(counts).join(pd.DataFrame(numbers, dtype=np.float64))


def _arrays(
    calibrated: Table,
    soft_labels: Table,
    image_ids: Sequence[str],
    protocol: Protocol,
    column: str,
) -> tuple[Predictions, Objects]:
    if calibrated.classes != soft_labels.classes:
        raise DataError(
            f"calibrated: classes {list(calibrated.classes)} differ from those of the soft labels"
            f" {list(soft_labels.classes)}; use detections made for this data set"
        )
    return (
        _predictions(calibrated, image_ids, protocol),
        _objects(soft_labels, image_ids, column),
    )


def _predictions(calibrated: Table, image_ids: Sequence[str], protocol: Protocol) -> Predictions:
    """Predictions of the listed images by descending score, ties by image, box and category."""
    kind = calibrated.meta.get("probability_kind", "")
    if kind not in PROBABILITY_KINDS:
        raise DataError(
            f"calibrated: probability_kind is {kind!r}, should be one of {PROBABILITY_KINDS}"
        )
    table, image = rows_of_images(calibrated, image_ids)
    frame, boxes = table.frame, table.boxes
    score = frame["score"].to_numpy(dtype=np.float64)
    rank_of_image = np.argsort(np.argsort(np.asarray(image_ids, dtype=object)))
    category = frame["category"].to_numpy(dtype=np.intp)
    if (category < 0).any():
        lost = frame["image_id"][category < 0].iloc[0]
        raise DataError(
            f"calibrated: image {lost}, category is no class ({int((category < 0).sum())} rows);"
            " mend or leave out these"
        )
    order = descending(score, [rank_of_image[image], *boxes.T, category])
    probabilities = table.vectors["probabilities"]

    def distribution(rows: Rows) -> Floats:
        return as_distributions(probabilities[order[rows]], kind, protocol)

    return Predictions(image[order], boxes[order], score[order], category[order], distribution)


def _objects(soft_labels: Table, image_ids: Sequence[str], column: str) -> Objects:
    """Objects of the listed images, by box, so that equal overlaps do not go by row."""
    table, image = rows_of_images(soft_labels, image_ids)
    box_id = np.unique(table.frame["box_id"].to_numpy(), return_inverse=True)[1]
    order = np.lexsort([box_id, *table.boxes.T[::-1], image])
    labels = np.asarray(table.vectors[column], dtype=np.float64)
    return Objects(image[order], table.boxes[order], labels[order])


def as_distributions(probabilities: NDArray, kind: str, protocol: Protocol) -> Floats:
    """Distributions (n, K + 1), background last, from calibrated probabilities (paper 1, C.4).

    `sigmoid` (n, K): background is prod(1 - p). `softmax` (n, K): background is 0, or the product
    where the protocol says so. `softmax+background` (n, K + 1): as given. Calibration maps entry by
    entry, so no row need sum to 1 any more: each is divided by its sum, and one that calibration
    has set to 0 throughout becomes certain background.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if kind == "sigmoid" or (kind == "softmax" and protocol.softmax_background == "product"):
        return with_background(p)
    if kind == "softmax":
        p = np.concatenate([p, np.zeros((len(p), 1))], axis=1)
    total = p.sum(axis=1, keepdims=True)
    distributions = p / np.where(total > 0, total, 1.0)
    distributions[total[:, 0] == 0, -1] = 1.0
    return distributions


def summarize(rows: pd.DataFrame, protocol: Protocol, *, similarity: str = "tv") -> Summary:
    """The figures of paper 1's tables 8 and 43-46, from the rows of `evaluate`, in [0, 1].

    AS, AS_50, AS_75, AS_small, AS_medium, AS_large; AS_all, the mean over IoU thresholds with all
    sizes together, whatever the protocol's AS averages over; TVD, TVD_matched, root_JSD,
    root_JSD_matched, recall and mean_similarity: means over IoU thresholds at all sizes. The
    product of the last two explains most of AS_all. None is a mean over nothing.
    """
    chosen = rows[(rows["similarity"] == similarity) & (rows["ordering"] == protocol.ordering)]
    of_all = chosen[chosen["size"] == "all"]

    def at(iou: float) -> pd.Series:
        return of_all["AS"][np.isclose(of_all["iou"], iou)]

    by_size = {s: _mean(chosen["AS"][chosen["size"] == s]) for s in ("small", "medium", "large")}
    as_all = _mean(of_all["AS"])
    of_sizes = _mean(pd.Series([v for v in by_size.values() if v is not None], dtype=float))
    summary: Summary = {"AS": of_sizes if protocol.average_over_sizes else as_all}
    summary |= {"AS_50": _mean(at(0.5)), "AS_75": _mean(at(0.75))}
    summary |= {f"AS_{size}": value for size, value in by_size.items()}
    summary["AS_all"] = as_all
    for column in (
        "TVD",
        "TVD_matched",
        "root_JSD",
        "root_JSD_matched",
        "recall",
        "mean_similarity",
    ):
        summary[column] = _mean(of_all[column])
    return summary


def _mean(values: pd.Series) -> float | None:
    """Mean of the numbers that are not NaN, None where there is none."""
    known = values.dropna()
    return float(known.mean()) if len(known) else None
