"""The tables of the report: one function per table, and one way to write them all.

Every function takes the rows of its stage, all data sets and detectors in one frame, and returns
the tidy frame of its table. Rows that share their first columns stand together, otherwise they keep
their order. A frame without rows gives a table without rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from labelquality.frames import write_csv
from labelquality.geometry import areas
from labelquality.report import count_tables, evaluation_tables, review_tables
from labelquality.report.evaluation_tables import DISTANCES, PRECISIONS, RECALLS, SIMILARITIES
from labelquality.report.markup import to_html, to_tex
from labelquality.report.rows import select as _select
from labelquality.tables import Table, write_atomically

METHOD = ("protocol", "dataset", "detector", "variant", "method")
INTERVALS = ("AP_low", "AP_high", "best_f1_low", "best_f1_high")
BEST = ("best_f1", "best_precision", "best_recall", "best_threshold")


def write(
    frame: pd.DataFrame, stem: Path, *, digits: Mapping[str, int] | int = 3, title: str = ""
) -> None:
    """Write `stem`.csv, `stem`.tex and `stem`.html.

    The CSV is exact (a missing value is an empty field), the other two are rounded to `digits`
    decimals, for all columns or by column (3 for those not named), and show "–" where a value is
    missing. The .tex holds one booktabs tabular, the .html is a page of its own.
    """
    write_csv(frame, _beside(stem, "csv"))
    _write_text(_beside(stem, "tex"), to_tex(frame, digits=digits, title=title))
    _write_text(_beside(stem, "html"), to_html(frame, digits=digits, title=title))


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8", newline="\n"))


def _beside(stem: Path, suffix: str) -> Path:
    return stem.with_name(f"{stem.name}.{suffix}")


def count_objects(
    ground_truth: Table, n_images: int, *, size_limits: Sequence[float] = (32.0**2, 96.0**2)
) -> pd.DataFrame:
    """One row: images, objects, regions, small, medium, large, objects_per_image.

    `ground_truth` holds annotations, or soft labels of which every row is an object. Crowds and
    ignore regions are counted as `regions` alone. Small boxes have an area below the first of
    `size_limits` (px²), large ones reach the second.
    """
    frame = ground_truth.frame
    region = pd.Series(False, index=frame.index)
    if "crowd" in frame:
        region = frame["crowd"].astype(bool) | (frame["region"] != "")
    area = areas(ground_truth.boxes[~region.to_numpy(dtype=bool)])
    low, high = size_limits
    small, large = int((area < low).sum()), int((area >= high).sum())
    return pd.DataFrame(
        {
            "images": [n_images],
            "objects": [len(area)],
            "regions": [int(region.sum())],
            "small": [small],
            "medium": [len(area) - small - large],
            "large": [large],
            "objects_per_image": [len(area) / n_images if n_images else float("nan")],
        }
    )


def annotation_counts(rows: pd.DataFrame) -> pd.DataFrame:
    """Objects of each ground truth by size, from `count_objects` with dataset, ground_truth."""
    sizes = ("small", "medium", "large")
    return _select(
        rows,
        ("dataset", "ground_truth", "images", "objects", *sizes, "objects_per_image", "regions"),
    )


def average_precision(rows: pd.DataFrame) -> pd.DataFrame:
    """Tables 7 and 38 to 41: COCO's twelve numbers per dataset, detector and ground truth."""
    return _select(rows, ("dataset", "detector", "ground_truth", *PRECISIONS, *RECALLS))


def calibration_error(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 42: ECE before and after calibration, from dataset, detector, stage, ece, n.

    One row per dataset, detector and (where given) binning, one column per stage.
    """
    keys = [c for c in ("dataset", "detector", "binning") if c in rows or c != "binning"]
    stages = ("raw", "platt", "isotonic")
    columns = (*keys, "n", *(f"ece_{stage}" for stage in stages))
    if not len(rows):
        return _select(rows, columns)
    rows = _select(rows, (*keys, "stage", "ece", "n"))
    wide = rows[[*keys, "n"]].drop_duplicates(keys, ignore_index=True)
    for stage in stages:
        of_stage = rows.loc[rows["stage"] == stage, [*keys, "ece"]]
        wide = wide.merge(of_stage.rename(columns={"ece": f"ece_{stage}"}), on=keys, how="left")
    return _select(wide, columns)


def soft_evaluation(rows: pd.DataFrame) -> pd.DataFrame:
    """Tables 8 and 43 to 46: average similarity and distances by protocol and detector."""
    return _select(
        rows,
        (
            *("protocol", "dataset", "detector", *SIMILARITIES, *DISTANCES),
            *("AS_all", "recall", "mean_similarity"),
        ),
    )


def average_similarity_sensitivity(rows: pd.DataFrame) -> pd.DataFrame:
    """Average similarity by matching rule, can't-solve objects and ordering, from `sensitivity`."""
    keys = ("dataset", "detector", "matching", "cant_solve_objects", "ordering")
    measures = ("AS", "recall", "mean_similarity", "recall_x_similarity", "share_explained")
    return _select(rows, (*keys, *measures))


def soft_evaluation_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """Figures of the soft evaluation with their intervals, from `bootstrap.intervals`."""
    keys = ("protocol", "dataset", "detector", "quantity")
    return _select(rows, (*keys, "value", "low", "high", "n_images", "n_draws"))


def published_comparison(rows: pd.DataFrame) -> pd.DataFrame:
    """Our values beside the published ones, from `published.comparison`."""
    keys = ("protocol", "dataset", "detector", "ground_truth", "quantity")
    return _select(rows, (*keys, "ours", "published", "deviation", "status"))


def label_error_detection(rows: pd.DataFrame, *, variant: str | None = None) -> pd.DataFrame:
    """Tables 9 and 51 to 53: label-error detection methods against the LEGT, or one `variant`.

    Where a method could not run on a detector, a last column says why.
    """
    if variant is not None and len(rows):
        rows = rows[rows["variant"] == variant]
    off = ("switched_off",) if "switched_off" in rows else ()
    columns = (*METHOD, "n_proposals", "n_errors", "AP", *BEST, *INTERVALS, *off)
    return _select(rows, columns, optional=INTERVALS)


def label_error_recall(rows: pd.DataFrame) -> pd.DataFrame:
    """Share of the label errors of each kind and of each size that a method proposes."""
    best = ("found_at_best_f1", "recall_at_best_f1")
    return _select(rows, (*METHOD, "by", "group", "n", "found", "recall", *best))


def review_effort(rows: pd.DataFrame) -> pd.DataFrame:
    """Boxes to review until half, 80 % and 90 % of the label errors are found."""
    measures = [f"{name}_{percent}" for name in ("boxes", "effort") for percent in (50, 80, 90)]
    return _select(rows, (*METHOD, "n_proposals", "n_errors", *measures))


def method_differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Differences of AP and of best F1 between each two methods, with paired 95 % intervals."""
    keys = (*METHOD[:-1], "measure", "method", "other")
    return _select(rows, (*keys, "difference", "low", "high"))


def synthetic_against_real(rows: pd.DataFrame) -> pd.DataFrame:
    """Methods on synthetic errors at several rates, and on each variant of the real ones."""
    keys = ("protocol", "dataset", "detector", "method", "errors")
    return _select(rows, (*keys, "error_rate", "n_proposals", "n_errors", "AP", *BEST))


def label_errors_against_truth(rows: pd.DataFrame) -> pd.DataFrame:
    """Label errors found in generated data against those that were put there, by kind."""
    measures = ("injected", "found", "recall", "reported", "precision")
    return _select(rows, ("protocol", "dataset", "kind", *measures))


def soft_labels_against_truth(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean distance to the known probabilities, from `soft_label_distances` with dataset.

    One row per dataset, label and subset of the objects: all, clear, ambiguous.
    """
    measures = {"mean_tvd": "tvd", "mean_root_jsd": "root_jsd", "same_class": "same_class"}
    columns = ("dataset", "label", "subset", "n", "unmatched", *measures)
    if not len(rows):
        return _select(rows, columns)
    rows = _select(rows, ("dataset", "label", "subset", *measures.values()))
    table = []
    for (dataset, label), group in rows.groupby(["dataset", "label"], sort=False):
        matched = group[group["tvd"].notna()]
        for subset in ("all", "clear", "ambiguous"):
            part = matched if subset == "all" else matched[matched["subset"] == subset]
            unmatched = len(group) - len(matched) if subset == "all" else None
            row = {"dataset": dataset, "label": label, "subset": subset, "n": len(part)}
            means = {name: part[column].mean() for name, column in measures.items()}
            table.append(row | {"unmatched": unmatched} | means)
    return _select(pd.DataFrame(table), columns)


def intake(rows: pd.DataFrame) -> pd.DataFrame:
    """What reading the data sets dropped, mended or left out, and why."""
    return _select(rows, ("dataset", "file", "item", "action", "reason", "count"))


def injected_error_recall(rows: pd.DataFrame) -> pd.DataFrame:
    """Share of the label errors put into generated data that each method proposes, by kind."""
    keys = ("protocol", "dataset", "detector", "method", "kind")
    best = ("found_at_best_f1", "recall_at_best_f1")
    return _select(rows, (*keys, "n", "found", "recall", *best))


@dataclass(frozen=True)
class Leaf:
    """A table of the report: the function that builds it, its decimals (else 3)."""

    build: Callable[..., pd.DataFrame]
    digits: Mapping[str, int] = field(default_factory=dict)


COUNTS = {"ours": 1, "published": 1, "deviation": 1}
BOUNDS = {"min_probability": 1, "min_height": 0}
FOUR = dict.fromkeys(("ours", "published", "deviation"), 4)
LEAVES: dict[str, Leaf] = {
    "paper1/table_01_data_sets": Leaf(count_tables.data_sets, COUNTS),
    "paper1/table_02_object_counts": Leaf(count_tables.object_counts, COUNTS),
    "paper1/table_03_false_negative_rates": Leaf(review_tables.false_negative_rates),
    "paper1/table_04_label_errors": Leaf(count_tables.label_errors),
    "paper1/table_07_average_precision": Leaf(average_precision),
    "paper1/table_08_soft_evaluation": Leaf(soft_evaluation),
    "paper1/table_09_label_error_detection": Leaf(label_error_detection),
    "paper1/table_42_calibration_error": Leaf(
        calibration_error,
        {"ece_raw": 4, "ece_platt": 4, "ece_isotonic": 4},
    ),
    "paper1/table_49_average_precision_original": Leaf(
        evaluation_tables.average_precision_original
    ),
    "ours/average_precision_per_class": Leaf(evaluation_tables.average_precision_per_class),
    "ours/soft_evaluation_per_class": Leaf(evaluation_tables.soft_evaluation_per_class),
    "ours/soft_evaluation_choices": Leaf(evaluation_tables.soft_evaluation_choices),
    "ours/correlations": Leaf(evaluation_tables.correlations),
    "paper1/table_20_false_negatives": Leaf(review_tables.false_negatives, FOUR),
    "paper1/table_29_original_only_review": Leaf(review_tables.original_only_review, FOUR),
    "paper1/table_30_original_only_added": Leaf(review_tables.original_only_added, FOUR),
    "paper1/table_31_false_negative_rates": Leaf(
        review_tables.false_negative_rates_with_original_only
    ),
    "ours/annotation_counts": Leaf(annotation_counts, {"objects_per_image": 2}),
    "ours/objects_by_class": Leaf(count_tables.class_counts, COUNTS),
    "ours/label_errors_by_threshold": Leaf(count_tables.label_errors_by_threshold, BOUNDS),
    "ours/label_errors_by_group": Leaf(count_tables.label_errors_by_group),
    "ours/label_errors_in_regions": Leaf(count_tables.label_errors_in_regions),
    "ours/duplicate_rates": Leaf(review_tables.duplicate_rates, {"iou_from": 2, "iou_to": 2}),
    "ours/label_error_recall": Leaf(label_error_recall),
    "ours/review_effort": Leaf(review_effort),
    "ours/method_differences": Leaf(method_differences),
    "ours/average_similarity_sensitivity": Leaf(average_similarity_sensitivity),
    "ours/soft_evaluation_intervals": Leaf(soft_evaluation_intervals),
    "ours/published_comparison": Leaf(published_comparison, FOUR),
    "ours/synthetic_against_real": Leaf(synthetic_against_real),
    "ours/label_errors_against_truth": Leaf(label_errors_against_truth),
    "ours/soft_labels_against_truth": Leaf(soft_labels_against_truth),
    "ours/intake": Leaf(intake),
    "ours/injected_error_recall": Leaf(injected_error_recall),
}


def write_leaf(name: str, rows: pd.DataFrame, stem: Path, *, title: str, **options: object) -> None:
    """Build the table `name` (a key of LEAVES) from `rows` and write it to `stem`, see `write`.

    `options` are those of the function that builds it.
    """
    leaf = LEAVES[name]
    write(leaf.build(rows, **options), stem, digits=leaf.digits, title=title)
