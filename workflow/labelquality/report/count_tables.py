"""Tables of counts, with what paper 1 published beside them: data sets, objects, label errors.

Rows name the data set by its configuration and the split by its table of images. A data set called
`voc_train` whose split is `train` is the part `train` of `voc`; where a run has several parts of a
data set, their sum is one more, `train+val`. `published` holds values of config/published or is
None; the values of a data set that is not in the run are there with the status `data missing` in
the tables of all data sets, unless none of the run's data sets has any.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from labelquality.report.rows import beside, select, with_whole_numbers

PART = ["dataset", "split"]
CELL = ("published", "deviation", "status")
OBJECTS = (*PART, "super_category", "class", "quantity")
ERRORS = (*PART, "region", "min_probability", "min_height", "kind")
COUNTS = ["original", "validated"]
TOTAL = "all"


def data_sets(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Table 1 (b): images and classes of each data set, from `objects_by_class` with images."""
    keys, quantities = (*PART, "quantity"), ["images", "classes"]
    if rows.empty:
        return select(rows, (*keys, "ours", *CELL))
    of_part = _in_parts(rows).groupby(PART, sort=False)
    sizes = of_part.agg(images=("images", "first"), classes=("class", "size")).reset_index()
    return _quantities(sizes, quantities, _of_whole(published, sizes, quantities), keys)


def object_counts(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Table 2: objects of the original and the validated ground truth, from `objects_by_class`."""
    keys = (*PART, "quantity")
    if rows.empty:
        return select(rows, (*keys, "ours", *CELL))
    totals = _in_parts(rows).groupby(PART, sort=False)[COUNTS].sum().reset_index()
    totals = _with_change(_with_sums(totals, [], COUNTS))
    known = _of_whole(published, totals, [*COUNTS, "change"])
    return _quantities(totals, [*COUNTS, "change"], known, keys)


def class_counts(
    rows: pd.DataFrame,
    published: pd.DataFrame | None = None,
    *,
    super_categories: Sequence[str] = (),
) -> pd.DataFrame:
    """Tables 12 to 19: the same by class, of `super_categories` only where any are given."""
    if rows.empty:
        return select(rows, (*OBJECTS, "ours", *CELL))
    groups = rows["super_category"].astype(object).fillna("")
    rows = _in_parts(rows).assign(super_category=groups)
    if super_categories:
        rows = rows[rows["super_category"].isin(super_categories)]
    totals = rows.groupby(PART, sort=False)[COUNTS].sum().reset_index()
    totals["super_category"], totals["class"] = "+".join(super_categories), TOTAL
    every = _with_change(pd.concat([rows, totals], ignore_index=True))
    known = _occurring(published, every, ["dataset", "super_category"])
    if known is not None:
        known = known[known["class"].notna()]
    return _quantities(every, [*COUNTS, "change"], known, OBJECTS)


def label_errors(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Table 4: label errors by kind and variant, from `of_variants` of `counts` with n_original."""
    keys = ("protocol", *PART, "variant", "kind")
    columns = (*keys, "count", "share_of_original", *CELL)
    if rows.empty:
        return select(rows, columns)
    bounds = ["protocol", "variant", "min_probability", "min_height", "kind"]
    ours = _with_sums(_in_parts(rows), bounds, ["count", "n_original"])
    ours["share_of_original"] = ours["count"] / ours["n_original"]
    ours["min_probability"] = ours["min_probability"].where(ours["kind"] != "original_only")
    known = _of_papers(published, ours)
    if known is not None:
        known = known[known["region"] == TOTAL].merge(ours[bounds[1:]].drop_duplicates())
    return _counted(beside(ours, known, keys[1:], "count"), columns)


def label_errors_by_threshold(
    rows: pd.DataFrame, published: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Tables 22 to 28: label errors by probability, height and region, from `by_threshold`."""
    columns = ("protocol", *ERRORS, "count", *CELL)
    if rows.empty:
        return select(rows, columns)
    ours = _in_parts(rows)
    known = _occurring(published, ours, [*PART, "region"])
    return _counted(beside(ours, known, ERRORS, "count"), columns)


def label_errors_by_group(rows: pd.DataFrame) -> pd.DataFrame:
    """Label errors by class, super-category, size and difficulty, from `by_group`."""
    if len(rows):
        share = rows["count"] / rows["objects"].where(rows["objects"] > 0)
        rows = rows.assign(share_of_original=share)
    keys = ("protocol", "dataset", "variant", "by", "group", "kind")
    return select(rows, (*keys, "count", "objects", "share_of_original"))


def label_errors_in_regions(rows: pd.DataFrame) -> pd.DataFrame:
    """Label errors in crowds and ignore regions, from `in_regions`."""
    measures = ("count", "touching", "inside", "inside_same_class", "share_inside", "regions")
    return select(rows, ("protocol", "dataset", "variant", "kind", *measures))


def _in_parts(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose data set is the one that theirs is a part of."""
    known = rows[PART].drop_duplicates()
    whole = [name.removesuffix(f"_{split}") for name, split in known.itertuples(index=False)]
    if len({*zip(whole, known["split"], strict=True)}) < len(known):
        return rows
    return rows.assign(dataset=rows["dataset"].map(dict(zip(known["dataset"], whole, strict=True))))


def _with_sums(rows: pd.DataFrame, keys: list[str], values: list[str]) -> pd.DataFrame:
    """Rows with the sum over its splits after those of every data set that has several."""
    several = rows.groupby("dataset")["split"].transform("nunique") > 1
    parts = rows[several]
    splits = parts.groupby("dataset")["split"].unique().map(lambda of: "+".join(sorted(of)))
    sums = parts.groupby(["dataset", *keys], sort=False)[values].sum().reset_index()
    return pd.concat([rows, sums.assign(split=sums["dataset"].map(splits))], ignore_index=True)


def _with_change(rows: pd.DataFrame) -> pd.DataFrame:
    before = rows["original"].where(rows["original"] > 0)
    return rows.assign(change=100 * (rows["validated"] / before - 1))


def _quantities(
    rows: pd.DataFrame,
    quantities: list[str],
    published: pd.DataFrame | None,
    keys: Sequence[str],
) -> pd.DataFrame:
    """One row for each quantity, its value in the column `ours`, beside the published ones."""
    names = [key for key in keys if key != "quantity"]
    ours = rows.melt(names, quantities, "quantity", "ours")
    table = beside(ours, published, keys, "ours")
    table = with_whole_numbers(table, table["quantity"] != "change")
    return select(table, (*keys, "ours", *CELL))


def _counted(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    return select(with_whole_numbers(rows, rows["published"].notna()), columns)


def _of_papers(published: pd.DataFrame | None, ours: pd.DataFrame) -> pd.DataFrame | None:
    """The published values, None where they speak of none of our data sets."""
    known = published is not None and published["dataset"].isin(ours["dataset"]).any()
    return published if known else None


def _of_whole(
    published: pd.DataFrame | None, ours: pd.DataFrame, quantities: list[str]
) -> pd.DataFrame | None:
    """The published quantities of whole data sets, none where they speak of none of ours."""
    known = _of_papers(published, ours)
    if known is None:
        return None
    whole = known["super_category"].isna() & (known["class"].isna() | (known["class"] == TOTAL))
    return known[whole & known["quantity"].isin(quantities)]


def _occurring(
    published: pd.DataFrame | None, ours: pd.DataFrame, keys: list[str]
) -> pd.DataFrame | None:
    """The published values whose `keys` occur together in ours."""
    if published is None:
        return None
    published = published.assign(**{key: published[key].astype(object).fillna("") for key in keys})
    return published.merge(ours[keys].drop_duplicates(), on=keys)
