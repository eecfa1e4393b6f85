from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelquality.detectors import load_detector
from labelquality.detectors.base import limit_side_effects
from labelquality.errors import DataError
from placed_objects import noise

limit_side_effects()
torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from torchvision.models.detection import fasterrcnn_resnet50_fpn_v2  # noqa: E402

SIDE = 64
NAMES = ("a", "b", "c")


def spec(path: Path) -> dict[str, Any]:
    return {
        "name": "f",
        "family": "faster_rcnn",
        "weights": str(path),
        "input_size": SIDE,
        "score_threshold": 0.0,
        "nms_iou": None,
        "max_detections": None,
    }


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The library's own model with random weights, and the file of them."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = fasterrcnn_resnet50_fpn_v2(
        weights=None,
        weights_backbone=None,
        num_classes=4,
        min_size=SIDE,
        max_size=107,
        rpn_post_nms_top_n_test=1000,
        box_score_thresh=-1.0,
        box_nms_thresh=1.1,
        box_detections_per_img=10**6,
    ).eval()
    model.roi_heads.box_predictor.cls_score.weight.data *= 20
    path = tmp_path_factory.mktemp("weights") / "model.pth"
    torch.save(model.state_dict(), path)
    return model, path


@pytest.mark.parametrize("size", [(64, 64), (90, 60)])
def test_every_proposal_has_the_librarys_box_of_its_best_class(
    theirs: Any, size: tuple[int, int]
) -> None:
    model, path = theirs
    image = noise(size, seed=1)
    found = load_detector(spec(path), NAMES).detect([image])[0]
    with torch.inference_mode():
        [all_of_them] = model([torch.from_numpy(image.transpose(2, 0, 1) / np.float32(255))])
    boxes, labels = all_of_them["boxes"].numpy(), all_of_them["labels"].numpy()
    assert len(found) > 10
    assert found.probabilities.sum(axis=1) == pytest.approx(1)
    for box, vector in zip(found.boxes[:50], found.probabilities, strict=False):
        best = vector[:3].argmax()
        same = (labels == best + 1) & np.isclose(all_of_them["scores"].numpy(), vector[best])
        assert np.abs(boxes[same] - box).max(axis=1).min() < 1e-2


def test_losses_of_a_single_stage(theirs: Any) -> None:
    image, labels = noise((64, 64), seed=1), np.array([[5.0, 5, 30, 40]])
    told = load_detector(spec(theirs[1]), NAMES).losses(image, labels, np.array([2]))
    assert told.classification.shape == told.regression.shape == (1, 2)
    assert told.background.shape == (len(told.detections), 2)
    background = told.detections.probabilities[:, -1]
    assert np.allclose(np.exp(-told.background[:, 1]), background, atol=1e-6)


def test_weights_that_do_not_fit_are_refused(theirs: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"not found; nothing is downloaded"):
        load_detector(spec(tmp_path / "nothing.pth"), NAMES)
    with pytest.raises(DataError, match=r"have 4 outputs, which are neither COCO's 91 nor"):
        load_detector(spec(theirs[1]), NAMES[:2])
    other = tmp_path / "other.pth"
    torch.save({"a": torch.zeros(1)}, other)
    with pytest.raises(DataError, match=r"no state dict of fasterrcnn_resnet50_fpn_v2"):
        load_detector(spec(other), NAMES)
    other.write_text("no weights")
    with pytest.raises(DataError, match=r"no state dict of fasterrcnn_resnet50_fpn_v2"):
        load_detector(spec(other), NAMES)
