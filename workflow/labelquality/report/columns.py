"""What the columns of the report's tables are called and what they mean."""

from __future__ import annotations

from dataclasses import dataclass

INTEGER = "integer"
SHARE = "0 to 1"
PIXELS = "px"


@dataclass(frozen=True)
class Column:
    """Header, what the column holds, and its unit: `integer`, a range, or none for text."""

    label: str
    explanation: str
    unit: str = ""


def describe(name: str) -> Column:
    """The column of that name; an unknown one is called by its name and left unexplained."""
    return COLUMNS.get(name, Column(name.replace("_", " "), ""))


_RANGE = "of IoU thresholds 0.50 to 0.95 in steps of 0.05"
_AP = f"Average precision, mean over classes and {_RANGE}"
_AR = "Average recall, mean over classes and IoU thresholds, with at most"
_AS = "Average similarity, the area under the similarity-recall curve"

COLUMNS: dict[str, Column] = {
    "dataset": Column("data set", "Name of the data set in the configuration"),
    "detector": Column("detector", "Name of the detector in the configuration"),
    "ground_truth": Column(
        "ground truth",
        "original: the data set's own annotations; validated: re-annotated objects whose"
        " probability exceeds the number; truth: the generated objects themselves",
    ),
    "images": Column("images", "Images that the ground truth covers", INTEGER),
    "objects": Column("objects", "Objects, crowd and ignore regions left out", INTEGER),
    "detections": Column("detections", "Detections that name the class", INTEGER),
    "points": Column(
        "points",
        "all: every detector on every data set; sound: without those whose calibration the released"
        " code breaks",
    ),
    "x": Column("measure", "One of AS, AP (p > 0.5), TVD and √JSD (all predictions)"),
    "y": Column("and", "The other one"),
    "choice": Column("choice", "What a definition of average similarity must choose"),
    "chosen": Column("chosen", "What the protocol takes; missing: nothing, the figure is missing"),
    "pearson": Column("Pearson", "Pearson's correlation over our detectors", "-1 to 1"),
    "spearman": Column("Spearman", "Spearman's rank correlation over our detectors", "-1 to 1"),
    "n_published": Column("n published", "Published points, detector by data set", INTEGER),
    "pearson_published": Column("Pearson published", "Over the published values", "-1 to 1"),
    "spearman_published": Column("Spearman published", "Over the published values", "-1 to 1"),
    "stated": Column("paper says", "Pearson's correlation as the paper states it", "-1 to 1"),
    "regions": Column("regions", "Crowd and ignore regions, not counted as objects", INTEGER),
    "small": Column("small", "Objects whose box area lies below the lower size limit", INTEGER),
    "medium": Column("medium", "Objects whose box area lies between the size limits", INTEGER),
    "large": Column("large", "Objects whose box area reaches the upper size limit", INTEGER),
    "objects_per_image": Column("objects / image", "Mean number of objects per image"),
    "split": Column("split", "Part of the data set; train+val: both together"),
    "super_category": Column("super-category", "Group of classes, or several together"),
    "class": Column("class", "Class of the data set; all: every class of the group or data set"),
    "region": Column(
        "region",
        "all of the image; inside: boxes more than half of which lie in a crowd or ignore region;"
        " outside: the others",
    ),
    "min_probability": Column("p from", "Least probability of the validated label", SHARE),
    "min_height": Column("height from", "Least height of the box", PIXELS),
    "touching": Column("touching", "Those that overlap a crowd or ignore region", INTEGER),
    "inside": Column(
        "inside", "Those more than half of whose box lies in a single such region", INTEGER
    ),
    "inside_same_class": Column(
        "inside own class", "Those for which that is so of a region of their class", INTEGER
    ),
    "share_inside": Column("share inside", "Inside divided by count", SHARE),
    "variant": Column(
        "variant", "Configuration of the label error ground truth: least probability and height"
    ),
    "kind": Column(
        "kind",
        "missing: validated object without original box; misaligned: box in the wrong place;"
        " classification: other class; original_only: original box without validated object",
    ),
    "count": Column("count", "Number of items", INTEGER),
    "share_of_original": Column(
        "share of original", "Count divided by the number of original objects", "ratio"
    ),
    "AP": Column("AP", _AP, SHARE),
    "AP50": Column("AP50", "Average precision at IoU 0.50, mean over classes", SHARE),
    "AP75": Column("AP75", "Average precision at IoU 0.75, mean over classes", SHARE),
    "AP_small": Column("AP small", "AP of small objects", SHARE),
    "AP_medium": Column("AP medium", "AP of medium objects", SHARE),
    "AP_large": Column("AP large", "AP of large objects", SHARE),
    "AR_1": Column("AR 1", f"{_AR} 1 detection per image", SHARE),
    "AR_10": Column("AR 10", f"{_AR} 10 detections per image", SHARE),
    "AR_100": Column("AR 100", f"{_AR} 100 detections per image", SHARE),
    "AR_small": Column("AR small", "AR 100 of small objects", SHARE),
    "AR_medium": Column("AR medium", "AR 100 of medium objects", SHARE),
    "AR_large": Column("AR large", "AR 100 of large objects", SHARE),
    "n": Column("n", "Number of items that the row's figures rest on", INTEGER),
    "binning": Column(
        "binning", "Bins of scores: of equal width, as in the paper, or of equal numbers"
    ),
    "ece_raw": Column("ECE raw", "Expected calibration error of the detector's scores", SHARE),
    "ece_platt": Column("ECE Platt", "The same after Platt scaling, out of fold", SHARE),
    "ece_isotonic": Column(
        "ECE isotonic", "The same after isotonic regression, out of fold", SHARE
    ),
    "protocol": Column(
        "protocol", "defined: as the paper's text says; released: as the authors' code does"
    ),
    "AS": Column(
        "AS",
        f"{_AS}, mean {_RANGE}; in the defined protocol over small, medium and large objects too",
        SHARE,
    ),
    "AS_50": Column("AS 50", f"{_AS} at IoU 0.50", SHARE),
    "AS_75": Column("AS 75", f"{_AS} at IoU 0.75", SHARE),
    "AS_small": Column("AS small", "AS of small objects", SHARE),
    "AS_medium": Column("AS medium", "AS of medium objects", SHARE),
    "AS_large": Column("AS large", "AS of large objects", SHARE),
    "AS_all": Column("AS all sizes", f"{_AS} with all sizes together, mean {_RANGE}", SHARE),
    "TVD": Column(
        "TVD",
        "Mean total variation distance between predicted distribution and soft label (background"
        " for a prediction without object), all predictions",
        SHARE,
    ),
    "TVD_matched": Column("TVD matched", "TVD of predictions matched to an object", SHARE),
    "root_JSD": Column(
        "√JSD",
        "Mean Jensen-Shannon distance (root of the divergence in nats), all predictions",
        "0 to 0.833",
    ),
    "root_JSD_matched": Column(
        "√JSD matched", "√JSD of predictions matched to an object", "0 to 0.833"
    ),
    "recall": Column("recall", "Share of the objects or errors that were found", SHARE),
    "mean_similarity": Column(
        "mean similarity", "Mean similarity (1 - TVD) over all predictions", SHARE
    ),
    "quantity": Column("quantity", "Which figure the row compares"),
    "value": Column("value", "The figure on all images", "value"),
    "n_images": Column("images", "Images that take part", INTEGER),
    "n_draws": Column("draws", "How often images were drawn anew", INTEGER),
    "ours": Column("ours", "What this run computed", "value"),
    "published": Column("published", "What the paper or its repository gives", "value"),
    "deviation": Column("deviation", "Ours less the published value", "value"),
    "status": Column(
        "status",
        "match: ours rounds to the published value; differs: it does not; data missing: the run"
        " lacks what the published value speaks of",
    ),
    "matching": Column(
        "matching",
        "greedy: a prediction whose object is taken tries the next most similar one;"
        " single_candidate: it stays unmatched",
    ),
    "cant_solve_objects": Column(
        "can't-solve", "What becomes of objects whose most likely entry is can't-solve"
    ),
    "ordering": Column("ordering", "Order of the predictions along the similarity-recall curve"),
    "recall_x_similarity": Column(
        "recall × similarity", f"Mean {_RANGE} of recall times mean similarity", SHARE
    ),
    "share_explained": Column("share of AS", "Recall × similarity divided by AS", "ratio"),
    "method": Column("method", "Label-error detection method"),
    "n_proposals": Column("proposals", "Boxes that the method proposes for review", INTEGER),
    "n_errors": Column("errors", "Label errors to be found", INTEGER),
    "best_f1": Column("best F1", "Highest F1 score along the ranking", SHARE),
    "best_precision": Column("precision", "Precision at the best F1", SHARE),
    "best_recall": Column("recall", "Recall at the best F1", SHARE),
    "best_threshold": Column("threshold", "Score at which the best F1 is reached", "score"),
    "AP_low": Column("AP from", "Lower end of the 95 % interval of AP", SHARE),
    "AP_high": Column("AP to", "Upper end of the 95 % interval of AP", SHARE),
    "best_f1_low": Column("best F1 from", "Lower end of the 95 % interval of best F1", SHARE),
    "best_f1_high": Column("best F1 to", "Upper end of the 95 % interval of best F1", SHARE),
    "switched_off": Column("switched off", "Why the method could not run on this detector"),
    "by": Column(
        "by",
        "What the groups go by: kind of label error, its class or super-category, size of its box,"
        " or whether its original object is flagged as difficult",
    ),
    "group": Column("group", "Name of the group; small, medium, large have the limits of AP"),
    "other": Column("other", "Method that it is compared with"),
    "measure": Column("measure", "AP or best_f1"),
    "difference": Column("difference", "Measure of the method minus that of the other", "-1 to 1"),
    "low": Column("from", "Lower end of the 95 % interval", "-1 to 1"),
    "high": Column("to", "Upper end of the 95 % interval", "-1 to 1"),
    "boxes_50": Column(
        "boxes for 50 %",
        "Boxes to review, in order of the ranking, until 50 % of the label errors are found",
        INTEGER,
    ),
    "effort_50": Column(
        "effort for 50 %", "Those, divided by the number expected in random order", "ratio"
    ),
    "boxes_80": Column(
        "boxes for 80 %",
        "Boxes to review, in order of the ranking, until 80 % of the label errors are found",
        INTEGER,
    ),
    "effort_80": Column(
        "effort for 80 %", "Those, divided by the number expected in random order", "ratio"
    ),
    "boxes_90": Column(
        "boxes for 90 %",
        "Boxes to review, in order of the ranking, until 90 % of the label errors are found",
        INTEGER,
    ),
    "effort_90": Column(
        "effort for 90 %", "Those, divided by the number expected in random order", "ratio"
    ),
    "errors": Column(
        "on errors",
        "Variant of the real label errors, or synthetic ones made of that share of the objects",
    ),
    "error_rate": Column(
        "error rate",
        "Label errors to be found, divided by the number of validated objects",
        "ratio",
    ),
    "injected": Column("injected", "Label errors put into the original annotations", INTEGER),
    "found": Column("found", "Those among them that were found", INTEGER),
    "found_at_best_f1": Column(
        "found at best F1", "Those found by proposals down to the best threshold", INTEGER
    ),
    "recall_at_best_f1": Column(
        "recall at best F1", "Share found by proposals down to the best threshold", SHARE
    ),
    "reported": Column("reported", "Label errors that were reported", INTEGER),
    "precision": Column("precision", "Found divided by reported", SHARE),
    "label": Column(
        "soft label", "raw: relative frequencies of the votes; corrected: after bias correction"
    ),
    "subset": Column(
        "objects", "ambiguous: no class has a known probability of 0.8 or more; clear: the others"
    ),
    "unmatched": Column("unmatched", "Re-annotated boxes without a true object", INTEGER),
    "mean_tvd": Column(
        "mean TVD", "Mean total variation distance to the known probabilities", SHARE
    ),
    "mean_root_jsd": Column(
        "mean √JSD", "Mean Jensen-Shannon distance to the known probabilities", "0 to 0.833"
    ),
    "same_class": Column(
        "same class", "Share of objects whose most likely entry is the true one", SHARE
    ),
    "false_negative_rate": Column(
        "FNR", "False negative rate: share of the visible objects that it lacks", SHARE
    ),
    "classes": Column(
        "classes", "Pairs of boxes whose most voted classes are the same or differ, or all pairs"
    ),
    "iou_from": Column("IoU from", "Least IoU of the pairs", SHARE),
    "iou_to": Column("IoU to", "Bound above, itself included where it is 1", SHARE),
    "pairs": Column("pairs", "Pairs of overlapping re-annotated boxes", INTEGER),
    "reviewed": Column("reviewed", "Pairs that people decided about", INTEGER),
    "duplicates": Column("duplicates", "Those that are one object", INTEGER),
    "duplicate_rate": Column("duplicate rate", "Duplicates among the reviewed pairs", SHARE),
    "file": Column("file", "File that was read"),
    "item": Column("item", "What kind of record"),
    "action": Column("action", "What was done with it"),
    "reason": Column("reason", "Why"),
    "stage": Column("stage", "Rules of one kind; all: the whole run"),
    "jobs": Column("jobs", "How often it was run for a data set, a detector, a table", INTEGER),
    "seconds": Column("time", "By the clock, of all jobs together", "s"),
    "longest": Column("longest job", "By the clock", "s"),
    "peak_mb": Column("memory", "Largest resident memory of a job", "MiB"),
}
