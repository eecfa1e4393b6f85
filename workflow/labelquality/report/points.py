"""Detectors on data sets as points: AP on hard labels, AS and distances on soft ones (Fig. 4).

The published ones of paper 1 are there as well. Its released calibration of Faster R-CNN compares
classes one apart outside COCO, so what came of these points is an artefact; they are `broken`.
"""

from __future__ import annotations

import pandas as pd

WHO = ["dataset", "detector"]
MEASURES = ["AS", "TVD", "root_JSD"]
GROUND_TRUTH = "validated_0.5"
_PUBLISHED = {"paper_AS": "AS", "paper_TVD": "TVD", "paper_sqrtJS": "root_JSD"}
_PUBLISHED_GROUND_TRUTH = "_ours_0.5"


def own_points(
    average_precision: pd.DataFrame,
    soft_evaluation: pd.DataFrame,
    *,
    ground_truth: str = GROUND_TRUTH,
) -> pd.DataFrame:
    """Columns protocol, dataset, detector, AP, AS, TVD, root_JSD, from the tables 7 and 8.

    AP is that on `ground_truth`. Only what stands in both tables is a point.
    """
    columns = ["protocol", *WHO, "AP", *MEASURES]
    if not len(average_precision) or not len(soft_evaluation):
        return pd.DataFrame(columns=columns)
    hard = average_precision[average_precision["ground_truth"] == ground_truth]
    both = soft_evaluation.merge(hard[[*WHO, "AP"]], on=WHO, validate="many_to_one")
    return both.reindex(columns=columns)


def published_points(
    average_precision: pd.DataFrame, average_similarity: pd.DataFrame, artefacts: pd.DataFrame
) -> pd.DataFrame:
    """Columns dataset, detector, AP, AS, TVD, root_JSD, broken; names are those of the release.

    The frames are those of config/published; artefacts names the broken points.
    """
    hard = average_precision[average_precision["gt"].str.endswith(_PUBLISHED_GROUND_TRUTH)]
    hard = hard.drop_duplicates(["dataset", "model"])[["dataset", "model", "AP"]]
    chosen = average_similarity[average_similarity["quantity"].isin(_PUBLISHED)]
    soft = chosen.pivot_table("value", ["dataset", "model"], "quantity")
    points = hard.merge(soft.rename(columns=_PUBLISHED).reset_index(), on=["dataset", "model"])
    found = points.merge(artefacts, on=["dataset", "model"], how="left", indicator="known")
    points = points.assign(broken=(found["known"] == "both").to_numpy())
    return points.rename(columns={"model": "detector"})[[*WHO, "AP", *MEASURES, "broken"]]
