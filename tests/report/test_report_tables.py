from __future__ import annotations

import math
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelquality.errors import DataError
from labelquality.frames import read_csv
from labelquality.report import tables
from labelquality.report.columns import COLUMNS
from labelquality.report.markup import escape_tex, format_cell, to_html, to_tex
from labelquality.tables import Table, make_table
from report_frames import detection_scores, distances

ROUNDED_WRONG_BY_SHORT_FORMATS = [0.1 + 0.2, 1 / 3, 5e-324, 1e22, 0.55312, -0.0]


def annotations(boxes: list[list[float]], **columns: object) -> Table:
    given = {
        "image_id": "a",
        "box_id": [str(k) for k in range(len(boxes))],
        "category": 0,
        "crowd": False,
        "difficult": False,
        "region": "",
        "annotator": "",
    }
    return make_table(
        "annotations",
        given | columns,
        ["square"],
        boxes=np.array(boxes, dtype=float).reshape(-1, 4),
    )


class Cells(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.inside = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def test_csv_reads_back_exactly(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "detector": ["a,b", 'say "x"', "NA", "é", "x_y", "z"],
            "AP": ROUNDED_WRONG_BY_SHORT_FORMATS,
        }
    )
    tables.write(frame, tmp_path / "t", title="t")
    pd.testing.assert_frame_equal(read_csv(tmp_path / "t.csv"), frame, check_exact=True)


def test_missing_is_an_empty_field_in_csv_and_a_dash_elsewhere(tmp_path: Path) -> None:
    frame = pd.DataFrame({"detector": ["a", None], "AP": [np.nan, 0.5], "n": [3, None]})
    tables.write(frame.astype({"n": "Int64"}), tmp_path / "t.v1", title="t")
    csv = (tmp_path / "t.v1.csv").read_text()
    assert csv == "detector,AP,n\na,,3\n,0.5,\n"
    assert "a & -- & 3" in (tmp_path / "t.v1.tex").read_text()
    assert "-- & 0.500 & --" in (tmp_path / "t.v1.tex").read_text()
    rows = Cells((tmp_path / "t.v1.html").read_text(encoding="utf-8")).rows
    assert rows[1:] == [["a", "–", "3"], ["–", "0.500", "–"]]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.12345, 3, "0.123"),
        (-0.0004, 3, "0.000"),
        (-0.0006, 3, "-0.001"),
        (12345, 3, "12,345"),
        (np.int64(12345), 3, "12,345"),
        (np.float64(2.0), 0, "2"),
        (pd.NA, 3, "–"),
        (None, 3, "–"),
        (True, 3, "True"),
        ("0.12345", 3, "0.12345"),
    ],
)
def test_cells(value: object, digits: int, text: str) -> None:
    assert format_cell(value, digits) == text


def test_digits_by_column_with_three_for_the_others() -> None:
    frame = pd.DataFrame({"AP": [0.123456], "AS": [0.123456]})
    assert "0.1235 & 0.123" in to_tex(frame, digits={"AP": 4}, title="")


def test_tex_escapes_what_latex_reads_as_its_own() -> None:
    assert escape_tex("a_b 5% R&D $x #1 {y} ~ ^ \\ <p>") == (
        r"a\_b 5\% R\&D \$x \#1 \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{}"
        r" \textless{}p\textgreater{}"
    )


def test_tex_is_one_aligned_tabular_with_gaps_between_groups() -> None:
    frame = pd.DataFrame(
        {"dataset": ["a_1", "a_1", "b"], "detector": ["x", "y", "x"], "AP": [0.1, 0.2, np.nan]}
    )
    assert to_tex(frame, digits=2, title="50 % of\n all").splitlines() == [
        "% 50 % of all",
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{llr}",
        r"\toprule",
        r"data set & detector & AP \\",
        r"\midrule",
        r"a\_1 & x & 0.10 \\",
        r"a\_1 & y & 0.20 \\",
        r"\addlinespace",
        r"b & x & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_html_escapes_and_needs_nothing_from_elsewhere() -> None:
    page = to_html(pd.DataFrame({"detector": ["<b>&</b>"], "AP": [1.0]}), title="a < b")
    assert Cells(page).rows[1] == ["<b>&</b>", "1.000"]
    assert "<b>" not in page
    assert "<title>a &lt; b</title>" in page
    assert not any(word in page for word in ("http", "src=", "href", "@import", "url("))


def test_numbers_are_right_aligned_and_headers_give_their_unit() -> None:
    page = to_html(pd.DataFrame({"detector": ["a"], "AP": [1.0]}), title="")
    assert page.count('class="number"') == 2
    assert Cells(page).rows[0] == ["detector", "AP0 to 1"]
    assert COLUMNS["AP"].explanation in page


def test_an_empty_table_says_so() -> None:
    frame = tables.average_precision(pd.DataFrame())
    assert Cells(to_html(frame, title="")).rows[1:] == [["no rows"]]
    assert r"\begin{tabular}{lllrrrrrrrrrrrr}" in to_tex(frame, title="")


@pytest.mark.parametrize("name", tables.LEAVES)
def test_every_leaf_is_written_without_rows_and_explains_its_columns(
    name: str, tmp_path: Path
) -> None:
    tables.write_leaf(name, pd.DataFrame(), tmp_path / name, title="A title")
    frame = pd.read_csv(tmp_path / f"{name}.csv")
    assert len(frame) == 0
    assert set(frame.columns) <= set(COLUMNS)
    assert sorted(p.name for p in (tmp_path / name).parent.iterdir()) == [
        f"{Path(name).name}.{suffix}" for suffix in ("csv", "html", "tex")
    ]


def test_label_error_detection_of_one_variant_leaves_out_the_others() -> None:
    rows = pd.concat([detection_scores(), detection_scores().assign(variant="stricter")])
    some = tables.label_error_detection(rows, variant=rows["variant"].iloc[-1])
    whole = tables.label_error_detection(rows)
    assert 0 < len(some) < len(whole)
    assert set(some["variant"]) == {rows["variant"].iloc[-1]}


def test_a_missing_column_is_named() -> None:
    with pytest.raises(DataError, match="no column best_f1"):
        tables.label_error_detection(detection_scores().drop(columns="best_f1"))


def test_rows_of_one_protocol_stand_together_in_the_order_given() -> None:
    rows = pd.DataFrame(
        {
            "protocol": ["released", "defined", "released", "defined"],
            "dataset": ["b", "a", "a", "b"],
            "kind": "missing",
            "injected": 1,
            "found": [1, 2, 3, 4],
            "recall": 1.0,
            "reported": 1,
            "precision": 1.0,
        }
    )
    assert tables.label_errors_against_truth(rows)["found"].tolist() == [1, 3, 4, 2]


def test_a_method_that_is_off_somewhere_says_why_in_a_column_of_its_own() -> None:
    rows = detection_scores()
    assert "switched_off" not in tables.label_error_detection(rows)
    rows.loc[rows.index[-1], "switched_off"] = "needs more"
    table = tables.label_error_detection(rows)
    assert table.columns[-1] == "switched_off"
    assert table["switched_off"].dropna().tolist() == ["needs more"]


def test_counts_stay_integers_beside_missing_ones() -> None:
    rows = detection_scores()
    rows["n_errors"] = [9.0, np.nan, 9.0, 9.0]
    table = tables.label_error_detection(rows)
    assert table["n_errors"].tolist()[:1] == [9]
    assert "40 & 9 &" in to_tex(table, title="")


def test_sizes_part_at_the_limits_and_regions_are_no_objects() -> None:
    boxes = [[0, 0, 31, 31], [0, 0, 32, 32], [0, 0, 95, 97], [0, 0, 96, 96], [0, 0, 9, 9]]
    boxes.append([0, 0, 200, 200])
    table = annotations(
        boxes,
        crowd=[False] * 5 + [True],
        region=["", "", "", "", "dontcare", "group"],
    )
    counts = tables.count_objects(table, 2).iloc[0].to_dict()
    assert counts == {
        "images": 2,
        "objects": 4,
        "regions": 2,
        "small": 1,
        "medium": 2,
        "large": 1,
        "objects_per_image": 2.0,
    }


def test_counts_of_no_images_have_no_mean() -> None:
    counts = tables.count_objects(annotations([]), 0).iloc[0]
    assert counts["objects"] == 0
    assert math.isnan(counts["objects_per_image"])


def test_calibration_error_has_one_row_per_detector() -> None:
    rows = pd.DataFrame(
        [
            ("scenes", detector, stage, ece, 50)
            for detector, errors in (("a", (0.3, 0.2, 0.1)), ("b", (0.6, 0.5)))
            for stage, ece in zip(("raw", "isotonic", "platt"), errors, strict=False)
        ],
        columns=["dataset", "detector", "stage", "ece", "n"],
    )
    table = tables.calibration_error(rows)
    assert table.astype(object).where(table.notna(), None).to_numpy().tolist() == [
        ["scenes", "a", 50, 0.3, 0.1, 0.2],
        ["scenes", "b", 50, 0.6, None, 0.5],
    ]
    assert table.columns[-3:].tolist() == ["ece_raw", "ece_platt", "ece_isotonic"]


def test_soft_labels_are_averaged_over_matched_objects_and_subsets() -> None:
    table = tables.soft_labels_against_truth(distances()).set_index(["label", "subset"])
    assert table.loc[("raw", "all"), ["n", "unmatched"]].tolist() == [3, 1]
    assert table.loc[("raw", "all"), "mean_tvd"] == pytest.approx(0.3)
    assert table.loc[("raw", "clear"), "mean_root_jsd"] == pytest.approx(0.3)
    assert table.loc[("raw", "clear"), "same_class"] == 0.5
    assert table.loc[("corrected", "ambiguous"), "mean_tvd"] == 0.4
    assert pd.isna(table.loc[("raw", "clear"), "unmatched"])
