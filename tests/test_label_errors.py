from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from label_error_tables import images, label_errors, originals, read_oracle, reannotated
from labelquality import label_errors as legt
from labelquality.errors import DataError
from labelquality.tables import BOX, Table, make_table, read_table, write_table
from oracles_label_errors import label_errors_of_image

SQUARE = (0, 0, 10, 10)


def compare(original: Table, soft_labels: Table, **options: Any) -> Table:
    return legt.build(original, soft_labels, images("i", "j", "k"), **options)


def kinds(errors: Table) -> list[str]:
    return errors.frame["kind"].tolist()


# IoU of SQUARE with the box of the same width and this height is height / 10.
@pytest.mark.parametrize(
    ("height", "defined", "released"),
    [
        (0.5, ["missing", "original_only"], ["missing", "original_only"]),
        (1, ["missing", "original_only"], ["missing", "original_only"]),
        (1.001, ["misaligned"], ["misaligned"]),
        (4.999, ["misaligned"], ["misaligned"]),
        (5, [], []),
        (10, [], []),
    ],
)
def test_one_box_on_each_side_by_their_iou(
    height: float, defined: list[str], released: list[str]
) -> None:
    tables = originals([SQUARE]), reannotated([(0, 0, 10, height)])
    assert kinds(compare(*tables)) == defined
    assert kinds(compare(*tables, protocol="released")) == released


@pytest.mark.parametrize(
    ("height", "defined", "released"),
    [
        (4.9, ["misaligned"], ["misaligned"]),
        (6, [], []),
        (7, [], ["classification"]),
        (7.001, ["classification"], ["classification"]),
    ],
)
def test_two_classes_by_their_iou(height: float, defined: list[str], released: list[str]) -> None:
    tables = originals([SQUARE], category=0), reannotated([(0, 0, 10, height)], category=1)
    assert kinds(compare(*tables)) == defined
    assert kinds(compare(*tables, protocol="released")) == released


@pytest.mark.parametrize(
    ("height", "defined", "released"),
    [
        (4.9, ["misaligned"], ["misaligned"]),
        (5, ["misaligned"], []),
        (6, ["missing"], []),
    ],
)
def test_an_object_beside_a_better_partner_of_its_original_box(
    height: float, defined: list[str], released: list[str]
) -> None:
    tables = originals([SQUARE]), reannotated([SQUARE, (0, 0, 10, height)])
    assert kinds(compare(*tables)) == defined
    assert kinds(compare(*tables, protocol="released")) == released
    if defined:
        error = compare(*tables).frame.iloc[0]
        assert error["max_iou"] == pytest.approx(height / 10)
        assert (error["original_box_id"], error["validated_box_id"]) == ("o0", "v1")


def test_the_columns_of_every_kind() -> None:
    original = originals([SQUARE, (20, 0, 30, 10), (60, 60, 70, 65)], category=[0, 1, 2])
    soft_labels = reannotated(
        [(0, 0, 10, 4), (20, 0, 30, 10), (40, 40, 50, 47)], category=[0, 0, 2], probability=0.75
    )
    frame = compare(original, soft_labels).frame.set_index("kind")
    columns = [*BOX, "category", "height", "max_iou", "original_box_id", "validated_box_id"]
    assert frame.loc["misaligned", columns].tolist() == [0, 0, 10, 4, 0, 4, 0.4, "o0", "v0"]
    assert frame.loc["classification", columns].tolist() == [20, 0, 30, 10, 0, 10, 1.0, "o1", "v1"]
    assert frame.loc["missing", columns].tolist() == [40, 40, 50, 47, 2, 7, 0.0, "", "v2"]
    assert frame.loc["original_only", columns].tolist() == [60, 60, 70, 65, 2, 5, 0.0, "o2", ""]
    assert frame["probability"].drop("original_only").tolist() == [0.75] * 3
    assert np.isnan(frame.loc["original_only", "probability"])


@pytest.mark.parametrize(("probability", "expected"), [(0.5, []), (0.501, ["missing"])])
def test_a_hard_label_needs_more_than_the_threshold(
    probability: float, expected: list[str]
) -> None:
    assert kinds(compare(originals([]), reannotated([SQUARE], probability=probability))) == expected


def test_the_vectors_to_use_are_a_choice() -> None:
    soft_labels = reannotated([SQUARE], category=1)
    unsure = np.full((1, 4), 0.25)
    soft_labels = Table(
        "soft_labels",
        soft_labels.frame,
        soft_labels.classes,
        {"soft_label": unsure, "corrected": soft_labels.vectors["corrected"]},
    )
    assert kinds(compare(originals([]), soft_labels)) == ["missing"]
    assert kinds(compare(originals([]), soft_labels, column="soft_label")) == []


@pytest.mark.parametrize(("category", "probability"), [(3, 0.9), (0, 0.4)])
def test_unsure_boxes_are_no_objects_yet_keep_original_ones_from_being_original_only(
    category: int, probability: float
) -> None:
    soft_labels = reannotated([SQUARE], category=category, probability=probability)
    assert kinds(compare(originals([SQUARE]), soft_labels)) == []
    assert kinds(compare(originals([(50, 50, 60, 60)]), soft_labels)) == ["original_only"]


def test_regions_and_unknown_classes_are_no_objects() -> None:
    original = originals(
        [SQUARE, SQUARE, SQUARE],
        category=[0, 1, -1],
        crowd=[True, False, False],
        region=["group", "dontcare", ""],
    )
    errors = compare(original, reannotated([(0, 0, 10, 8), (5, 0, 25, 10)]))
    assert kinds(errors) == ["missing", "missing"]
    assert errors.frame["ioa_dontcare"].tolist() == [1.0, 0.25]
    assert errors.frame["max_iou"].tolist() == [0.0, 0.0]


def test_crowds_are_objects_where_the_released_code_takes_them_for_some() -> None:
    original = originals([SQUARE, (50, 0, 60, 10)], category=[0, -1], crowd=[True, False])
    original = original.with_columns(region=["group", "dontcare"])
    soft_labels = reannotated([SQUARE, (50, 0, 60, 10)], category=1)
    errors = compare(original, soft_labels, crowds_are_objects=True)
    assert kinds(errors) == ["classification", "missing"]
    assert errors.frame["ioa_dontcare"].tolist() == [1.0, 1.0]
    assert kinds(compare(original, soft_labels)) == ["missing", "missing"]


def test_shares_in_several_regions_are_not_added() -> None:
    original = originals(
        [(0, 0, 4, 10), (4, 0, 10, 10), (50, 50, 60, 60)], region=["dontcare", "dontcare", ""]
    )
    errors = compare(original, reannotated([SQUARE]))
    assert errors.frame.set_index("kind")["ioa_dontcare"].to_dict() == {
        "missing": 0.6,
        "original_only": 0.0,
    }


def test_boxes_of_other_images_do_not_meet() -> None:
    errors = compare(originals([SQUARE], image_id="i"), reannotated([SQUARE], image_id="j"))
    assert list(zip(errors.frame["image_id"], kinds(errors), strict=True)) == [
        ("i", "original_only"),
        ("j", "missing"),
    ]


def test_an_image_that_was_not_reannotated_has_no_errors() -> None:
    errors = compare(
        originals([SQUARE, SQUARE], image_id=["i", "j"]), reannotated([], image_ids=["j", "k"])
    )
    assert errors.frame["image_id"].tolist() == ["j"]
    assert errors.image_ids == ("j", "k")


def test_nothing_against_nothing() -> None:
    errors = compare(originals([]), reannotated([]))
    assert len(errors) == 0
    assert legt.counts(errors)["count"].tolist() == [0, 0, 0, 0]
    assert len(legt.valid(errors, images("i"))) == 0


def test_ties_of_iou_keep_the_order_of_rows() -> None:
    original = originals([(0, 0, 10, 10), (0, 0, 10, 10)], category=[0, 1])
    errors = compare(original, reannotated([SQUARE], category=1))
    assert errors.frame[["kind", "original_box_id"]].to_numpy().tolist() == [
        ["classification", "o0"]
    ]


def test_the_result_is_a_table_that_can_be_stored(tmp_path: Path) -> None:
    errors = compare(
        originals([SQUARE, (50, 0, 60, 9)]), reannotated([(0, 0, 10, 3), (20, 0, 30, 10)])
    )
    write_table(errors, tmp_path / "errors.parquet")
    stored = read_table(tmp_path / "errors.parquet", "label_errors")
    pd.testing.assert_frame_equal(stored.frame, errors.frame, check_dtype=False)
    assert (stored.image_ids, stored.meta["protocol"]) == (("i", "j", "k"), "defined")


def test_protocols_are_bundles_of_parameters() -> None:
    tables = originals([SQUARE]), reannotated([(0, 0, 10, 6)])
    strict = legt.LegtProtocol(match_iou=0.65)
    assert kinds(compare(*tables, protocol=strict)) == ["misaligned"]
    with pytest.raises(DataError, match=r"'other'.*defined.*released"):
        compare(*tables, protocol="other")


def test_errors_name_what_does_not_fit() -> None:
    with pytest.raises(DataError, match=r"image x of the original boxes.*2 boxes"):
        compare(originals([SQUARE, SQUARE], image_id="x"), reannotated([]))
    with pytest.raises(DataError, match="image y of the re-annotated boxes"):
        compare(originals([]), reannotated([SQUARE], image_id="y"))
    with pytest.raises(DataError, match="classes"):
        compare(originals([], classes=("a", "b")), reannotated([]))
    with pytest.raises(DataError, match="image z"):
        legt.valid(label_errors([SQUARE], image_id="z"), images("i"))


def test_valid_errors_lie_in_their_image_edges_included() -> None:
    good = [(0, 0, 100, 100), (1, 2, 3, 4)]
    bad = [
        (-0.1, 0, 5, 5),
        (0, -0.1, 5, 5),
        (0, 0, 100.1, 5),
        (0, 0, 5, 100.1),
        (5, 5, 5, 9),
        (5, 5, 9, 5),
        (5, 5, np.nan, 9),
    ]
    kept = legt.valid(label_errors([*bad, *good]), images("i"))
    assert kept.boxes.tolist() == [list(map(float, box)) for box in good]


def test_variants_include_their_bounds() -> None:
    errors = label_errors(
        [(0, 0, 5, 40), (0, 0, 5, 39.9), (0, 0, 5, 40), (0, 0, 5, 40), (0, 0, 5, 30)],
        kind=["missing", "missing", "misaligned", "original_only", "original_only"],
        probability=[0.8, 0.9, 0.79, np.nan, np.nan],
        ioa_dontcare=[0.5, 0.0, 0.0, 0.51, 0.0],
    )

    def kept(**options: Any) -> list[int]:
        chosen = errors.with_columns(category=np.arange(5))
        defaults = {"min_probability": 0.5, "min_height": 0}
        return legt.variant(chosen, **defaults | options).frame["category"].tolist()

    assert kept() == [0, 1, 2, 3, 4]
    assert kept(min_probability=0.8) == [0, 1, 3, 4]
    assert kept(min_height=40) == [0, 2, 3]
    assert kept(max_ioa_dontcare=0.5) == [0, 1, 2, 4]
    assert kept(min_probability=0.8, min_height=40, keep_original_only=False) == [0]


def test_counts_give_every_kind_in_order() -> None:
    errors = label_errors([SQUARE] * 3, kind=["misaligned", "missing", "misaligned"])
    assert legt.counts(errors).to_numpy().tolist() == [
        ["missing", 1],
        ["misaligned", 2],
        ["classification", 0],
        ["original_only", 0],
    ]


def test_against_truth_by_hand() -> None:
    injected = label_errors(
        [SQUARE, (20, 0, 30, 10), (40, 0, 50, 10), (60, 0, 70, 10)],
        kind=["missing", "missing", "misaligned", "missing"],
        ioa_dontcare=[0, 0, 0, 0.51],
    )
    reported = label_errors(
        # found at IoU 0.5; the same again; another kind; inside a region
        [(0, 0, 10, 5), SQUARE, (40, 0, 50, 10), (60, 0, 70, 10)],
        kind=["missing", "missing", "classification", "missing"],
        ioa_dontcare=[0, 0.5, 0, 1],
    )
    table = legt.against_truth(reported, injected).set_index("kind")
    assert table.loc["missing"].tolist() == [2, 1, 0.5, 2, 0.5]
    assert table.loc["misaligned", ["injected", "found", "recall", "reported"]].tolist() == [
        1,
        0,
        0,
        0,
    ]
    assert table.loc["classification", ["found", "reported", "precision"]].tolist() == [0, 1, 0]
    assert table.loc[["misaligned", "original_only"], "precision"].isna().all()
    assert table.loc[["classification", "original_only"], "recall"].isna().all()
    higher = legt.against_truth(reported.take(np.array([0])), injected, min_iou=0.51)
    assert higher["found"].sum() == 0


# Small integer coordinates make ties and IoUs on a threshold frequent.
random_box = st.tuples(*[st.integers(0, 12)] * 2, *[st.integers(1, 10)] * 2).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)
random_side = st.lists(
    st.tuples(st.sampled_from("ijk"), random_box, st.integers(-1, 2)), max_size=14
)


def random_tables(original: list, soft_labels: list) -> tuple[Table, Table]:
    return (
        originals([o[1] for o in original], [o[2] for o in original], [o[0] for o in original]),
        reannotated(
            [r[1] for r in soft_labels],
            [3 if r[2] < 0 else r[2] for r in soft_labels],
            [r[0] for r in soft_labels],
        ),
    )


def entries(errors: Table) -> Counter:
    frame = errors.frame
    return Counter(
        zip(
            frame["image_id"],
            frame["kind"],
            map(tuple, errors.boxes.tolist()),
            frame["category"],
            frame["max_iou"],
            strict=True,
        )
    )


@settings(max_examples=40, deadline=None)
@given(random_side, random_side, st.sampled_from(["defined", "released"]))
def test_equals_the_literal_version(original: list, soft_labels: list, protocol: str) -> None:
    expected: Counter = Counter()
    for image in "ijk":
        errors = label_errors_of_image(
            [(box, c) for i, box, c in original if i == image and c >= 0],
            [(box, c) for i, box, c in soft_labels if i == image],
            released=protocol == "released",
        )
        expected.update((image, kind, box, c, float(overlap)) for kind, box, c, overlap in errors)
    assert entries(compare(*random_tables(original, soft_labels), protocol=protocol)) == expected


@settings(max_examples=20, deadline=None)
@given(random_side, random_side)
def test_every_box_is_in_one_error_at_most_and_kinds_keep_their_promises(
    original: list, soft_labels: list
) -> None:
    errors = compare(*random_tables(original, soft_labels))
    frame = errors.frame
    validated = frame[frame["kind"] != "original_only"]
    assert validated["validated_box_id"].is_unique
    assert frame.loc[frame["kind"] == "classification", "original_box_id"].is_unique
    assert frame.loc[frame["kind"] == "original_only", "original_box_id"].is_unique
    crowded_out = (frame["kind"] == "missing") & (frame["max_iou"] > 0.1)
    assert (frame.loc[crowded_out, "max_iou"] > 0.5).all()
    assert frame.loc[frame["kind"] == "misaligned", "max_iou"].between(0.1, 0.5).all()
    assert (frame.loc[frame["kind"] == "classification", "max_iou"] > 0.7).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_is_irrelevant_without_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corner, sides = rng.uniform(0, 15, (24, 2)), rng.uniform(2, 12, (24, 2))
    boxes = np.hstack([corner, corner + sides]).tolist()
    image = rng.choice(list("ijk"), 24).tolist()
    category = rng.integers(-1, 3, 24).tolist()
    rows = list(zip(image, boxes, category, strict=True))
    original, soft_labels = random_tables(rows[:12], rows[12:])
    shuffled = [table.take(rng.permutation(12)) for table in (original, soft_labels)]
    a, b = compare(original, soft_labels), compare(*shuffled)
    pd.testing.assert_frame_equal(a.frame, b.frame)


def oracle_tables(case: dict[str, Any]) -> tuple[Table, Table, Table]:
    """The oracle's inputs; ids are positions in the file, classes other than its own are -1."""
    classes, soft, dontcare = (
        case["class_names"],
        case["inputs"]["soft"],
        case["inputs"]["dontcare"],
    )
    column = "postprocessed_soft_label"
    rows, sizes = [], []
    for image, content in case["inputs"]["original"].items():
        height = content.get("height", content.get("imgHeight"))
        width = content.get("width", content.get("imgWidth"))
        sizes.append((image, width, height))
        for box in content["objects"]:
            label = box["label"]
            category = classes.index(label) if label in classes else -1
            rows.append((image, box["bbox"], category, ""))
        regions = dontcare[image]["objects"] if dontcare else []
        rows += [(image, box["bbox"], -1, "dontcare") for box in regions]
    objects = [
        (image.removesuffix(".jpg"), o["bbox"], o[column])
        for image, found in soft["objects"].items()
        for o in found
    ]
    original = originals(
        [r[1] for r in rows],
        [r[2] for r in rows],
        [r[0] for r in rows],
        region=[r[3] for r in rows],
        classes=classes,
    )
    soft_labels = reannotated(
        [o[1] for o in objects],
        image_id=[o[0] for o in objects],
        vectors=np.array([o[2] for o in objects]),
        image_ids=[image.removesuffix(".jpg") for image in soft["objects"]],
        classes=classes,
    )
    table = make_table(
        "images",
        {
            "image_id": [s[0] for s in sizes],
            "file_name": "",
            "width": [s[1] for s in sizes],
            "height": [s[2] for s in sizes],
            "split": "",
        },
        classes,
    )
    return original, soft_labels, table


def oracle_entries(case: dict[str, Any], chosen: dict[str, list[int]] | None = None) -> list[tuple]:
    """The released code's errors as rows of our table; `chosen` indexes them by image."""
    rows = []
    for image, content in case["outputs"]["legt"].items():
        errors = content["errors"]
        if chosen is not None:
            errors = [errors[i] for i in chosen[image]]
        for e in errors:
            box = e["original_box" if e["type"] == "original_only" else "validated_box"]
            rows.append(
                (
                    image.removesuffix(".jpg"),
                    e["type"],
                    *map(float, box["bbox"]),
                    case["class_names"].index(box["label"]),
                    box.get("prob", -1.0),
                    box["bbox_height"],
                    e.get("max_iou", e.get("iou")),
                    box.get("ioa_with_dont_care", 0.0),
                )
            )
    return sorted(rows)


def our_entries(errors: Table) -> list[tuple]:
    frame = errors.frame.drop(columns=["original_box_id", "validated_box_id"])
    return sorted(frame.fillna({"probability": -1.0}).itertuples(index=False, name=None))


@pytest.mark.parametrize("name", ["legt_1", "legt_2"])
def test_protocol_released_equals_the_released_code_entry_by_entry(
    shared_data: Path, name: str
) -> None:
    case = read_oracle(shared_data, name)
    output = case["outputs"]
    original, soft_labels, table = oracle_tables(case)
    errors = legt.build(original, soft_labels, table, protocol="released")
    assert our_entries(errors) == oracle_entries(case)
    assert legt.counts(errors).set_index("kind")["count"].to_dict() == output["counts"]["all"]
    clean = legt.valid(errors, table)
    assert our_entries(clean) == oracle_entries(case, output["kept_by_validity_filter"])
    for variant, probability, height in (("variant1", 0.5, 0), ("variant2", 0.8, 40)):
        kept = legt.variant(
            clean, min_probability=probability, min_height=height, keep_original_only=False
        )
        assert our_entries(kept) == oracle_entries(case, output[variant])


@pytest.mark.parametrize("name", ["legt_1", "legt_2"])
def test_classification_pairs_are_the_released_ones(shared_data: Path, name: str) -> None:
    case = read_oracle(shared_data, name)
    original, soft_labels, table = oracle_tables(case)
    errors = legt.build(original, soft_labels, table, protocol="released").frame
    box_of = dict(zip(original.frame["box_id"], original.boxes.tolist(), strict=True))
    pairs = errors[errors["kind"] == "classification"]
    ours = sorted(zip(pairs["image_id"], map(box_of.get, pairs["original_box_id"]), strict=True))
    theirs = sorted(
        (image.removesuffix(".jpg"), list(map(float, e["original_box"]["bbox"])))
        for image, content in case["outputs"]["legt"].items()
        for e in content["errors"]
        if e["type"] == "classification"
    )
    assert ours == theirs


@pytest.mark.parametrize("name", ["legt_1", "legt_2"])
def test_protocol_defined_differs_only_where_the_text_does(shared_data: Path, name: str) -> None:
    case = read_oracle(shared_data, name)
    tables = oracle_tables(case)
    defined, released = (
        Counter(our_entries(legt.build(*tables, protocol=protocol)))
        for protocol in ("defined", "released")
    )
    only_released, only_defined = released - defined, defined - released
    assert {(e[1], e[9]) for e in only_released} <= {("classification", 0.7)}
    assert all(
        (e[1] == "missing" and e[9] > 0.5) or (e[1] == "misaligned" and e[9] == 0.5)
        for e in only_defined
    )
    assert only_defined


def test_fractions_of_the_literal_version_are_exact() -> None:
    (error,) = label_errors_of_image([(SQUARE, 0)], [((0, 0, 10, 3), 0)], released=False)
    assert error == ("misaligned", (0, 0, 10, 3), 0, Fraction(3, 10))
