from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataset_files import dataset_spec, write_json
from labelquality.bias_correction import cleverlabel, correct, downweight
from labelquality.datasets import Reannotation, read_reannotation
from labelquality.errors import DataError
from labelquality.labels import soft_label
from labelquality.tables import Table, check_table, make_table

CASES = (1, 2)


def votes_table(
    frequencies: list[list[float]],
    proposed: list[int],
    box_id: list[str] | None = None,
    source: list[int] | None = None,
) -> Table:
    n = len(frequencies)
    return make_table(
        "votes",
        {
            "image_id": ["i"] * n,
            "box_id": box_id or [str(i) for i in range(n)],
            "proposed": proposed,
            "source": source or [0] * n,
            "seconds": [[]] * n,
        },
        ("car", "van"),
        boxes=np.tile([0.0, 0.0, 1.0, 1.0], (n, 1)),
        vectors={"frequencies": np.array(frequencies, dtype=np.float64).reshape(n, 3)},
    )


# What the released code computes.


def oracle(shared_data: Path, case: int) -> dict[str, Any]:
    path = shared_data / "released_oracle" / f"bias_{case}.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))


def oracle_sample(data: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Shares (n, K + 1), normalised as the released code does it, and proposed classes (n,)."""
    sample, outputs = data["inputs"]["sample"], data["outputs"]
    classes = sample["classes"]
    ids = [name.rsplit("_", 1) for name in outputs["vector_ids"]]
    counts = [sample["objects"][image][int(index)]["frequencies"] for image, index in ids]
    shares = soft_label(np.array([[c.get(k, 0) for k in classes] for c in counts], dtype=float))
    proposed = [classes.index(outputs["proposed_class"][i]) for i in outputs["vector_ids"]]
    return shares / shares.sum(axis=1, keepdims=True), np.array(proposed)


@pytest.mark.parametrize("case", CASES)
def test_cleverlabel_is_that_of_the_released_code(shared_data: Path, case: int) -> None:
    data = oracle(shared_data, case)
    classes = data["inputs"]["sample"]["classes"]
    transition = np.array([data["outputs"]["transition_matrix"][name] for name in classes])
    shares, proposed = oracle_sample(data)
    settings = data["outputs"]["cleverlabel"]
    assert {s["mu"] for s in settings} == {0, 0.25, 0.5, 0.75, 1}
    for s in settings:
        ours = cleverlabel(
            shares, proposed, delta=s["delta"], mu=s["mu"], tau=s["tau"], transition=transition
        )
        np.testing.assert_allclose(ours, s["vectors"], rtol=0, atol=1e-12, err_msg=str(s)[:60])


@pytest.mark.parametrize("case", CASES)
def test_downweight_is_that_of_the_released_code(shared_data: Path, case: int) -> None:
    data = oracle(shared_data, case)
    shares, proposed = oracle_sample(data)
    for setting in data["outputs"]["downweight"]:
        ours = downweight(shares, proposed, factor=setting["factor"])
        np.testing.assert_allclose(ours, setting["vectors"], rtol=0, atol=1e-12)


def oracle_merged(data: dict[str, Any], folder: Path) -> Reannotation:
    """The merged objects of the oracle, written to a file and read as any re-annotation."""
    classes = data["inputs"]["sample"]["classes"]
    objects = [{**thing, "bbox": [0, 0, 9, 9]} for thing in data["inputs"]["merged_objects"]]
    write_json(folder, "soft.json", {"classes": classes, "objects": {"i.png": objects}})
    images = make_table(
        "images",
        {"image_id": ["i"], "file_name": ["i.png"], "width": 9, "height": 9, "split": "val"},
        classes[:-1],
    )
    return read_reannotation(dataset_spec(classes=classes[:-1]), folder, images)


@pytest.mark.parametrize("case", CASES)
def test_merged_objects_are_those_of_the_released_code(
    shared_data: Path, case: int, tmp_path: Path
) -> None:
    data = oracle(shared_data, case)
    merged = oracle_merged(data, tmp_path)
    for applied in data["outputs"]["apply_merged"]:
        given = applied["parameters"]
        parameters = (
            {"factor": given["downweight_factor"]}
            if given["method"] == "downweight"
            else {
                "delta": given["delta"],
                "mu": given["mu"],
                "tau": given["avoid_overcorrection_threshold"],
            }
        )
        result = correct(merged.votes, merged.released, method=given["method"], **parameters)
        expected = [r["postprocessed_soft_label"] for r in applied["results"]]
        np.testing.assert_allclose(result.vectors["corrected"], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_smoothed_vectors_are_those_of_the_released_code(shared_data: Path, case: int) -> None:
    data = oracle(shared_data, case)
    sample, outputs = data["inputs"]["sample"], data["outputs"]
    ids = [name.rsplit("_", 1) for name in outputs["vector_ids"]]
    counts = [sample["objects"][image][int(index)]["frequencies"] for image, index in ids]
    classes = sample["classes"]
    n = len(counts)
    votes = make_table(
        "votes",
        {
            "image_id": ["i"] * n,
            "box_id": outputs["vector_ids"],
            "proposed": [
                classes.index(outputs["proposed_class"][i]) for i in outputs["vector_ids"]
            ],
            "source": 0,
            "seconds": [[]] * n,
        },
        classes[:-1],
        boxes=np.tile([0.0, 0.0, 1.0, 1.0], (n, 1)),
        vectors={"frequencies": np.array([[c.get(k, 0) for k in classes] for c in counts], float)},
    )
    checked = 0
    for pipeline in outputs["pipelines"]:
        given = pipeline["params"]
        if pipeline["smoothing"] != "EPSILON" or given.get("mu", 1) < 1 or not given:
            continue
        parameters = (
            {"factor": given["downweight_factor"]}
            if pipeline["method"] == "downweight"
            else {
                "delta": given["delta"],
                "tau": given["avoid_overcorrection_threshold"],
            }
        )
        result = correct(votes, None, method=pipeline["method"], **parameters)
        np.testing.assert_allclose(
            result.vectors["corrected"], pipeline["vectors"], rtol=0, atol=1e-12
        )
        checked += 1
    assert checked == 2


# Worked by hand.


def test_cleverlabel_moves_probability_off_the_proposal() -> None:
    # (0.6 - 0.1) / (0.99 - 0.1) stays; the rest is shared 3 to 1 as before.
    kept = 0.5 / 0.89
    result = cleverlabel(np.array([[0.6, 0.3, 0.1]]), np.array([0]), delta=0.1, tau=0.5)
    np.testing.assert_allclose(result, [[kept, (1 - kept) * 0.75, (1 - kept) * 0.25]], rtol=1e-14)


@pytest.mark.parametrize(
    ("share", "delta", "expected"),
    [
        (0.05, 0.1, 0.0),  # below delta nothing is left
        (0.1, 0.1, 0.0),
        (0.99, 0.1, 1.0),
        (0.995, 0.1, 1.0),
        (0.5, 0.0, 0.5 / 0.99),  # without delta the share grows
        (10 / 11, 0.1, (10 / 11 - 0.1) / 0.89),
    ],
)
def test_new_share_of_the_proposal(share: float, delta: float, expected: float) -> None:
    result = cleverlabel(np.array([[1 - share, share, 0.0]]), np.array([1]), delta=delta)
    assert result[0, 1] == pytest.approx(expected, abs=1e-14)


def test_a_share_of_tau_is_corrected_and_less_is_not() -> None:
    shares = np.array([[0.5, 0.5, 0.0], [np.nextafter(0.5, 0), np.nextafter(0.5, 1), 0.0]])
    result = cleverlabel(shares, np.array([0, 0]), delta=0.2, tau=0.5)
    assert result[0, 0] < 0.5
    assert result[1].tolist() == shares[1].tolist()


def test_unanimous_votes_stay() -> None:
    unanimous = np.array([[0.0, 1.0, 0.0]])
    for delta in (0.0, 0.5, 0.98):
        assert cleverlabel(unanimous, np.array([1]), delta=delta).tolist() == unanimous.tolist()
    assert downweight(unanimous, np.array([1]), factor=0.1).tolist() == unanimous.tolist()


def test_class_blending_takes_the_first_of_equal_classes() -> None:
    transition = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    tie = np.array([[0.4, 0.4, 0.2]])
    result = cleverlabel(tie, np.array([2]), mu=0.0, transition=transition)
    assert result.tolist() == [[0.0, 0.0, 1.0]]


def test_downweight() -> None:
    result = downweight(np.array([[0.5, 0.25, 0.25]]), np.array([0]), factor=0.5)
    np.testing.assert_allclose(result, [[1 / 3, 1 / 3, 1 / 3]], rtol=1e-15)


def test_sources_count_the_same_whatever_their_votes() -> None:
    votes = votes_table([[11, 0, 0], [0, 33, 0]], [0, 1], box_id=["a", "a"], source=[0, 1])
    result = correct(votes, None, method="downweight", factor=0.5)
    assert result.vectors["soft_label"].tolist() == [[0.25, 0.75, 0.0]]
    np.testing.assert_allclose(result.vectors["corrected"], [[0.5, 0.5, 0.0]], atol=1e-9)
    assert result.frame["n_votes"].tolist() == [44]
    assert result.frame["proposed"].tolist() == [-1]


def test_an_object_without_proposal_keeps_its_label_untouched() -> None:
    votes = votes_table([[6, 5, 0], [6, 5, 0]], [-1, 0])
    result = correct(votes, None, method="cleverlabel", delta=0.1)
    soft, corrected = result.vectors["soft_label"], result.vectors["corrected"]
    assert corrected[0].tolist() == soft[0].tolist()
    assert corrected[1].tolist() != soft[1].tolist()


def test_identity_and_released() -> None:
    votes = votes_table([[6, 5, 0]], [0])
    plain = correct(votes, None, method="identity")
    assert plain.vectors["corrected"].tolist() == plain.vectors["soft_label"].tolist()
    published = make_table(
        "soft_labels",
        dict(plain.frame),
        plain.classes,
        vectors={"soft_label": np.array([[0.5, 0.5, 0.0]]), "corrected": np.array([[0.2, 0.8, 0]])},
    )
    result = correct(votes, published, method="released")
    assert result.vectors["corrected"].tolist() == [[0.2, 0.8, 0.0]]
    assert result.vectors["soft_label"].tolist() == [[0.5, 0.5, 0.0]]


@pytest.mark.parametrize("method", ["identity", "downweight", "cleverlabel"])
def test_no_votes_at_all(method: str) -> None:
    assert len(correct(votes_table([], []), None, method=method)) == 0


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        ("magic", {}, "method magic is none of released, identity"),
        ("downweight", {"delta": 0.1}, "downweight takes no delta"),
        ("identity", {"factor": 0.1}, "identity takes no factor"),
        ("downweight", {"factor": 0}, "factor is 0"),
        ("cleverlabel", {"delta": 0.99}, "delta is 0.99"),
        ("cleverlabel", {"mu": 1.5}, "mu is 1.5, should be"),
        ("cleverlabel", {"mu": 0.5}, "mu is 0.5, but without a transition matrix it must be 1"),
        ("released", {}, "needs released soft labels"),
    ],
)
def test_parameters_out_of_range(method: str, parameters: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=f"bias_correction: .*{message}"):
        correct(votes_table([[6, 5, 0]], [0]), None, method=method, **parameters)


def test_votes_of_an_unknown_object() -> None:
    released = correct(votes_table([[6, 5, 0]], [0], box_id=["a"]), None, method="identity")
    with pytest.raises(DataError, match="1 sources, the first of box b, belong to no released"):
        correct(votes_table([[6, 5, 0]], [0], box_id=["b"]), released, method="downweight")


vote_counts = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(sum)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(vote_counts, st.integers(-1, 1), st.integers(0, 4)), min_size=1, max_size=9),
    st.floats(0, 0.98),
    st.floats(0, 1),
)
def test_what_comes_out_is_a_distribution_whatever_the_order_of_rows(
    rows: list[tuple[list[int], int, int]], delta: float, tau: float
) -> None:
    frequencies, proposed, objects = map(list, zip(*rows, strict=True))
    votes = votes_table(frequencies, proposed, box_id=[str(i) for i in objects])
    result = correct(votes, None, method="cleverlabel", delta=delta, tau=tau)
    check_table(result, "soft labels")
    turned = correct(
        votes.take(np.arange(len(votes))[::-1]), None, method="cleverlabel", delta=delta, tau=tau
    )
    same = [turned.frame["box_id"].tolist().index(i) for i in result.frame["box_id"]]
    np.testing.assert_allclose(
        turned.vectors["corrected"][same], result.vectors["corrected"], rtol=0, atol=1e-14
    )
