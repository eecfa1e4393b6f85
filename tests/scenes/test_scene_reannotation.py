from __future__ import annotations

import numpy as np
import pytest

from labelquality.geometry import pairwise_iou
from labelquality.scenes.reannotation import Proposal, biased, reannotate
from labelquality.scenes.release import released_object, unbiased_keys
from labelquality.scenes.render import Scene, draw_scene, stream

Pair = tuple[Scene, list[Proposal]]


@pytest.fixture(scope="module")
def voted() -> list[Pair]:
    scenes = [draw_scene("test", i, 9) for i in range(120)]
    return [(s, reannotate(s, s.boxes, stream("test", i, 9, 3))) for i, s in enumerate(scenes)]


def _on_objects(voted: list[Pair]) -> list[tuple[Scene, int, Proposal]]:
    return [(s, p.object, p) for s, ps in voted for p in ps if p.object is not None]


def test_nearly_all_objects_are_proposed_once_and_some_proposals_are_rejected(
    voted: list[Pair],
) -> None:
    n = sum(len(s.boxes) for s, _ in voted)
    assert 0.95 < len(_on_objects(voted)) / n < 0.99
    assert all(
        len({p.object for p in ps}) >= sum(p.object is not None for p in ps) for _, ps in voted
    )
    rejected = [(s, p) for s, ps in voted for p in ps if p.object is None]
    assert 0.02 < len(rejected) / n < 0.08
    assert np.mean([p.ballots[0].frequencies.argmax() == 6 for _, p in rejected]) > 0.95
    for scene, p in rejected:
        assert pairwise_iou(p.box[None].astype(float), scene.boxes).max() <= 0.1


def test_boxes_are_whole_pixels_near_the_true_ones(voted: list[Pair]) -> None:
    ious = [
        pairwise_iou(p.box[None].astype(float), s.boxes[[i]])[0, 0]
        for s, i, p in _on_objects(voted)
    ]
    assert min(ious) > 0.65
    assert np.mean(np.array(ious) >= 0.75) > 0.99
    boxes = np.array([p.box for _, ps in voted for p in ps])
    assert boxes.dtype == np.int64
    assert boxes.min() >= 0
    assert boxes.max() <= 128
    assert (boxes[:, 2:] > boxes[:, :2]).all()


def test_votes_come_in_rounds_of_11_until_the_answer_is_clear(voted: list[Pair]) -> None:
    ballots = [b for _, ps in voted for p in ps for b in p.ballots]
    assert {len(b.votes) for b in ballots} == {11, 22, 33}
    for b in ballots:
        assert len(b.seconds) == len(b.annotators) == len(b.votes)
        assert b.seconds.min() > 0
        for start in range(0, len(b.votes), 11):
            assert len(set(b.annotators[start : start + 11].tolist())) == 11
        if len(b.votes) < 33:
            assert b.frequencies.max() >= 0.8 * len(b.votes)
        if len(b.votes) > 11:
            assert np.bincount(b.votes[:11]).max() < 0.8 * 11


def test_votes_follow_the_known_probabilities_with_a_pull_to_the_proposal(
    voted: list[Pair],
) -> None:
    """Over all first rounds, so that the stopping rule cannot pull on the shares."""
    said = np.zeros(7)
    expected = np.zeros(7)
    for scene, i, p in _on_objects(voted):
        ballot = p.ballots[0]
        said += np.bincount(ballot.votes[:11], minlength=7)
        expected += 11 * biased(scene.probabilities[i], ballot.proposed)
    np.testing.assert_allclose(said / said.sum(), expected / expected.sum(), atol=0.01)
    unclear = [(p, s.probabilities[i]) for s, i, p in _on_objects(voted) if s.ambiguous[i]]
    with_pull = np.mean([p.ballots[0].votes[:11] == p.ballots[0].proposed for p, _ in unclear])
    without = np.mean([seen[p.ballots[0].proposed] for p, seen in unclear])
    assert with_pull - without == pytest.approx(0.1 * (1 - without), abs=0.04)


def test_biased_mixes_the_proposal_in() -> None:
    seen = np.array([0.5, 0.5, 0.0])
    np.testing.assert_allclose(biased(seen, 2), [0.45, 0.45, 0.1])
    assert biased(seen, None) is seen


def test_doubt_takes_time(voted: list[Pair]) -> None:
    found = _on_objects(voted)
    clear = np.concatenate([p.ballots[0].seconds for s, i, p in found if not s.ambiguous[i]])
    unclear = np.concatenate([p.ballots[0].seconds for s, i, p in found if s.ambiguous[i]])
    assert np.median(unclear) > 1.15 * np.median(clear)


def test_a_sample_is_voted_on_without_proposal(voted: list[Pair]) -> None:
    found = _on_objects(voted)
    sample = [p for _, _, p in found if p.unbiased is not None]
    assert 0.12 < len(sample) / len(found) < 0.2
    for p in sample:
        assert p.unbiased is not None
        assert len(p.ballots) == 1
        assert p.unbiased.proposed is None
        keys = unbiased_keys(p.unbiased)
        assert sum(keys["unbiased_frequencies"].values()) == 11
        assert len(keys["unbiased_annotation_info"]) == 11
        assert all(len(entry) == 1 for entry in keys["unbiased_annotation_info"])


def test_released_objects_add_up(voted: list[Pair]) -> None:
    rng = np.random.default_rng(0)
    merged = 0
    for _, proposals in voted:
        for p in proposals:
            record = released_object(p, rng)
            votes = [v for given in record["annotation_info"].values() for v in given]
            total = sum(record["frequencies"].values())
            assert len(votes) == total
            assert record["soft_label"] == [n / total for n in record["frequencies"].values()]
            assert record["postprocessed_soft_label"] == record["soft_label"]
            assert record["postprocessed_selected_soft_label"] == record["soft_label"]
            for name, count in record["frequencies"].items():
                assert sum(v["vote"] == name for v in votes) == count
            if "mo_id_2" in record:
                merged += 1
                assert "proposed_class" not in record
                assert record["proposed_class_1"] in record["frequencies"]
                for name, count in record["frequencies"].items():
                    assert record["frequencies_1"][name] + record["frequencies_2"][name] == count
            else:
                assert record["proposed_class"] in record["frequencies"]
    assert 0.02 < merged / sum(len(ps) for _, ps in voted) < 0.09
