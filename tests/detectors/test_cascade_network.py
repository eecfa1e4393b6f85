from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labelquality.detectors.base import limit_side_effects
from oracles.box_losses import binary_cross_entropy, code, cross_entropy, moved, smooth_l1

limit_side_effects()
torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from labelquality.detectors.cascade_network import (  # noqa: E402
    CascadeNetwork,
    Stage,
    build,
    losses_per_box,
    refine,
)

SIDE, SIZE = 64, (64, 64)
ARCHITECTURE: dict[str, Any] = {
    "preset": "tiny",
    "input_size": SIDE,
    "iou_thresholds": [0.5, 0.6, 0.7],
    "names": ["a", "b"],
}
BOXES = torch.tensor([[5.0, 8.0, 30.0, 40.0], [20.0, 20.0, 28.0, 31.0]])
CLASSES = torch.tensor([1, 2])
NOTHING = torch.tensor([0])


@pytest.fixture(scope="module")
def network() -> CascadeNetwork:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    made = build(ARCHITECTURE).eval()
    for stage in made.stages:
        # Random weights hardly move a box.
        stage.box_predictor.bbox_pred.weight.data *= 30
    return made


@pytest.fixture(scope="module")
def features(network: CascadeNetwork) -> Any:
    with torch.inference_mode():
        return network.features([torch.rand(3, *SIZE)])


def test_a_stage_asks_for_more_overlap_than_the_one_before(network: CascadeNetwork) -> None:
    assert [s.proposal_matcher.high_threshold for s in network.stages] == [0.5, 0.6, 0.7]
    weights = [stage.box_coder.weights for stage in network.stages]
    assert weights == [(10, 10, 5, 5), (20, 20, 10, 10), (30, 30, 15, 15)]


def test_proposals_are_the_librarys(network: CascadeNetwork, features: Any) -> None:
    with torch.inference_mode():
        boxes, objectness = network.propose(*features)
        expected, _ = network.rpn(*features)
    assert torch.equal(boxes[0], expected[0])
    assert len(boxes[0]) == len(objectness[0]) > 0


def test_each_stage_is_fed_with_the_boxes_of_the_one_before(
    network: CascadeNetwork, features: Any
) -> None:
    with torch.inference_mode():
        said = network.cascade(features[1], [BOXES], [SIZE])
    assert torch.equal(said[0].boxes[0], BOXES)
    for stage, before, after in zip(network.stages, said, said[1:], strict=False):
        for k in range(2):
            there = moved(
                before.boxes[0][k].tolist(), before.deltas[k].tolist(), stage.box_coder.weights
            )
            assert np.allclose(after.boxes[0][k], np.clip(there, 0, SIDE), atol=1e-3)
        assert not torch.allclose(after.boxes[0], before.boxes[0], atol=0.1)


def test_losses_of_labels_are_those_of_the_definition(
    network: CascadeNetwork, features: Any
) -> None:
    with torch.inference_mode():
        said = network.cascade(features[1], [BOXES], [SIZE])
        classification, regression = network.losses_of_labels(features[1], BOXES, CLASSES, SIZE)
    assert classification.shape == regression.shape == (2, 4)
    assert classification[:, 0].tolist() == regression[:, 0].tolist() == [0, 0]
    for place, (stage, heard) in enumerate(zip(network.stages, said, strict=True), start=1):
        for k in range(2):
            aim = code(BOXES[k].tolist(), heard.boxes[0][k].tolist(), stage.box_coder.weights)
            assert classification[k, place].item() == pytest.approx(
                cross_entropy(heard.logits[k].tolist(), int(CLASSES[k])), rel=1e-5
            )
            assert regression[k, place].item() == pytest.approx(
                smooth_l1(heard.deltas[k].tolist(), aim), rel=1e-4, abs=1e-5
            )


def test_losses_where_nothing_is_labelled_are_those_of_the_definition(
    network: CascadeNetwork, features: Any
) -> None:
    with torch.inference_mode():
        boxes, objectness = network.propose(*features)
        said = network.cascade(features[1], boxes, [SIZE])
        losses = network.losses_of_background(said, objectness[0], NOTHING)
    for k in (0, len(losses) - 1):
        expected = [binary_cross_entropy(objectness[0][k].item(), is_object=False)]
        expected += [cross_entropy(heard.logits[k].tolist(), 0) for heard in said]
        assert losses[k].tolist() == pytest.approx(expected, rel=1e-4)


def test_a_sure_proposal_without_a_label_has_a_finite_loss(network: CascadeNetwork) -> None:
    stage = Stage([BOXES], torch.zeros(1, 3), torch.zeros(1, 4))
    assert torch.isfinite(network.losses_of_background([stage], torch.ones(1), NOTHING)).all()


def test_labels_do_not_change_each_others_losses(network: CascadeNetwork, features: Any) -> None:
    with torch.inference_mode():
        both = network.losses_of_labels(features[1], BOXES, CLASSES, SIZE)
        alone = network.losses_of_labels(features[1], BOXES[:1], CLASSES[:1], SIZE)
    for together, one in zip(both, alone, strict=True):
        assert torch.allclose(together[:1], one, atol=1e-5)


def test_a_label_whose_box_was_moved_out_of_the_image_has_a_finite_loss(
    network: CascadeNetwork, features: Any
) -> None:
    corner = torch.tensor([[0.0, 0.0, 0.5, 0.5]])
    with torch.inference_mode():
        losses = network.losses_of_labels(features[1], corner, CLASSES[:1], SIZE)
        nothing = network.losses_of_labels(features[1], corner[:0], CLASSES[:0], SIZE)
    assert all(torch.isfinite(part).all() for part in losses)
    assert [part.shape for part in nothing] == [(0, 4), (0, 4)]


def test_regression_by_class_takes_that_of_the_label_and_of_the_best_class() -> None:
    logits = torch.tensor([[9.0, 0.0, 2.0], [0.0, 3.0, 2.0]])
    deltas = torch.arange(24, dtype=torch.float32).reshape(2, 12) / 24
    said = Stage([BOXES], logits, deltas)
    classification, regression = losses_per_box(said, torch.tensor([1, 0]), torch.zeros(2, 4))
    assert regression.tolist() == pytest.approx([smooth_l1(deltas[0, 4:8].tolist(), [0] * 4), 0])
    assert classification[1].item() == pytest.approx(cross_entropy([0.0, 3.0, 2.0], 0))
    from torchvision.models.detection._utils import BoxCoder

    class Head:
        box_coder = BoxCoder((10.0, 10.0, 5.0, 5.0))

    found = refine(Head(), said, [SIZE])[0]  # type: ignore[arg-type]
    for row, best in ((0, 2), (1, 1)):
        own = deltas[row, 4 * best : 4 * best + 4].tolist()
        expected = moved(BOXES[row].tolist(), own, Head.box_coder.weights)
        assert np.allclose(found[row], expected, atol=1e-4)


def test_the_full_size_is_a_resnet_50_with_a_pyramid_of_five_levels() -> None:
    full = build(ARCHITECTURE | {"preset": "resnet50"}).eval()
    with torch.inference_mode():
        batch, maps = full.features([torch.rand(3, *SIZE)])
        boxes, _ = full.propose(batch, maps)
        [*_, last] = full.cascade(maps, [boxes[0][:5]], [SIZE])
    assert [maps[name].shape[-1] for name in maps] == [16, 8, 4, 2, 1]
    assert last.logits.shape == (5, 3)
    assert last.deltas.shape == (5, 4)
    # Canonical sizes of the feature pyramid paper: 224 pixels belong to stride 16.
    pool = full.stages[0].box_roi_pool
    assert pool.canonical_scale * 2 ** (4 - pool.canonical_level) == 224
