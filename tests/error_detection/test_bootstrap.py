from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from label_error_tables import label_errors, proposals
from labelquality.error_detection.bootstrap import (
    Draws,
    differences,
    draw_images,
    interval,
    intervals,
    scores_of_draws,
)
from labelquality.error_detection.scoring import Ranked, rank, score, score_ranked
from labelquality.tables import Table, concatenate

A, B, FAR = (0, 0, 10, 10), (20, 0, 30, 10), (80, 80, 90, 90)


def some(seed: int, n_images: int = 8) -> tuple[Table, Table]:
    """Proposals with scores of their own and errors; some images have none of one or of both."""
    rng = np.random.default_rng(seed)
    images = [f"{i:02d}" for i in rng.integers(0, n_images - 1, 40)]
    corner = rng.integers(0, 30, (40, 2))
    found = proposals(np.hstack([corner, corner + 10]), rng.permutation(40) / 40, images)
    corner = rng.integers(0, 30, (12, 2))
    ids = [f"{i:02d}" for i in range(n_images)]
    of_error = [f"{i:02d}" for i in rng.integers(1, n_images, 12)]
    return found, label_errors(np.hstack([corner, corner + 10]), "missing", of_error, image_ids=ids)


def drawn(copies: list[int], ids: tuple[str, ...]) -> Draws:
    return Draws(pd.Index(ids), np.array([copies], dtype=np.int32))


@pytest.mark.parametrize("seed", range(5))
def test_every_image_once_is_the_score_itself(seed: int) -> None:
    found, errors = some(seed)
    ids = errors.image_ids or ()
    for table in (found, found.with_columns(score=np.nan)):
        values = scores_of_draws(rank(table, errors), drawn([1] * len(ids), ids))
        summary = score(table, errors).summary
        for name in ("AP", "best_f1"):
            assert values[name] == pytest.approx([summary[name]], nan_ok=True)


@pytest.mark.parametrize("seed", range(5))
def test_leaving_images_out_is_scoring_on_the_others(seed: int) -> None:
    found, errors = some(seed)
    ids = errors.image_ids or ()
    copies = [int(i % 3 > 0) for i in range(len(ids))]
    values = scores_of_draws(rank(found, errors), drawn(copies, ids))
    summary = score(found, errors, [i for i, k in zip(ids, copies, strict=True) if k]).summary
    assert values["AP"] == pytest.approx([summary["AP"]])
    assert values["best_f1"] == pytest.approx([summary["best_f1"]])


@pytest.mark.parametrize("seed", range(5))
def test_an_image_drawn_twice_is_two_images(seed: int) -> None:
    found, errors = some(seed)
    ids = errors.image_ids or ()
    copies = [(2, 0, 1)[i % 3] for i in range(len(ids))]
    twice = [i for i, k in zip(ids, copies, strict=True) if k == 2]

    def doubled(table: Table) -> Table:
        kept = table.take(
            table.frame["image_id"]
            .isin([i for i, k in zip(ids, copies, strict=True) if k])
            .to_numpy()
        )
        again = kept.take(kept.frame["image_id"].isin(twice).to_numpy())
        again = again.with_columns(image_id=again.frame["image_id"] + " again")
        return concatenate([kept, again])

    values = scores_of_draws(rank(found, errors), drawn(copies, ids))
    result = score(doubled(found), doubled(errors), [*ids, *(f"{i} again" for i in ids)])
    # Copies share a rank: of each score, the curve has the last point only.
    curve = result.curve.groupby("threshold", sort=False).tail(1)
    envelope = np.maximum.accumulate(curve["precision"].to_numpy()[::-1])[::-1]
    expected = np.sum(np.diff(curve["recall"], prepend=0) * envelope)
    assert values["AP"] == pytest.approx([expected])
    assert values["best_f1"] == pytest.approx([curve["f1"].max()])


def test_blocks_of_draws_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found, errors = some(0)
    ranked, draws = rank(found, errors), draw_images(pd.Index(errors.image_ids), 50, seed=1)
    whole = scores_of_draws(ranked, draws)
    monkeypatch.setattr("labelquality.error_detection.bootstrap._ENTRIES_AT_ONCE", 100)
    for name, values in scores_of_draws(ranked, draws).items():
        assert np.array_equal(values, whole[name])


def test_draws_are_as_many_images_as_there_are_and_the_seed_decides() -> None:
    index = pd.Index(list("abcde"))
    draws = draw_images(index, 200, seed=3)
    assert (draws.copies.sum(axis=1) == 5).all()
    assert draws.copies.mean() == 1
    assert (draw_images(index, 200, seed=3).copies == draws.copies).all()
    assert (draw_images(index, 200, seed=4).copies != draws.copies).any()


@pytest.mark.parametrize(("boxes", "error_boxes"), [([], [A]), ([A], []), ([], []), ([FAR], [A])])
def test_nothing_proposed_nothing_wrong_or_nothing_right(boxes: list, error_boxes: list) -> None:
    errors = label_errors(error_boxes, image_ids=["i", "j"])
    ranked = rank(proposals(boxes, 0.5), errors)
    draws = draw_images(pd.Index(["i", "j"]), 20, seed=0)
    values = scores_of_draws(ranked, draws)["AP"]
    assert np.isnan(values[draws.copies[:, 0] == 0]).all()
    expected = score_ranked(ranked).summary["AP"]
    assert set(values[draws.copies[:, 0] > 0].round(9)) <= {expected} or np.isnan(expected)


def test_intervals_hold_the_middle_and_need_values() -> None:
    assert interval(np.arange(101.0)) == pytest.approx((2.5, 97.5))
    assert interval(np.array([np.nan, 1.0])) == (1, 1)
    assert np.isnan(interval(np.array([np.nan]))).all()
    found = intervals({"AP": np.array([np.nan]), "best_f1": np.arange(101.0)})
    assert list(found) == ["AP_low", "AP_high", "best_f1_low", "best_f1_high"]


def test_differences_are_paired() -> None:
    noise = np.random.default_rng(0).normal(0, 10, 100)
    naive = {"AP": np.full(100, np.nan), "best_f1": noise}
    table = differences(
        {"naive": {"AP": np.nan, "best_f1": 1.0}, "score": {"AP": 0.5, "best_f1": 1.5}},
        {"naive": naive, "score": {"AP": noise, "best_f1": noise + 0.5}},
    )
    # AP has one side only; the noise that both share drops out.
    assert table.to_dict("records") == [
        {
            "method": "naive",
            "other": "score",
            "measure": "best_f1",
            "difference": -0.5,
            "low": pytest.approx(-0.5),
            "high": pytest.approx(-0.5),
        }
    ]


def test_ranked_tells_where_each_error_was_found() -> None:
    ranked: Ranked = rank(
        proposals([FAR, B, A], [0.9, 0.5, 0.7]), label_errors([A, B, (50, 50, 60, 60)])
    )
    assert ranked.found_at.tolist() == [2, 3, np.inf]
    assert ranked.right.tolist() == [False, True, True]
