from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelquality.detectors import load_detector
from labelquality.detectors.base import limit_side_effects
from labelquality.errors import DataError
from labelquality.images import load_rgb
from placed_objects import PLACES, SIZES, noise, picture
from shipped_detectors import CLASSES, shipped

limit_side_effects()
torch = pytest.importorskip("torch")
pytest.importorskip("ultralytics")

from labelquality.detectors.yolov8 import YoloV8, build, letterbox  # noqa: E402

SPEC: dict[str, Any] = {
    "name": "tiny",
    "family": "yolov8",
    "input_size": 64,
    "score_threshold": 0.1,
    "nms_iou": 0.5,
    "max_detections": 10,
}
TINY = {"depth": 0.33, "width": 0.125, "max_channels": 128, "names": list(CLASSES)}


class Finder(torch.nn.Module):
    """In place of a network: the extent of what is pure red, as three copies and a far box."""

    def __init__(self) -> None:
        super().__init__()
        self.nothing = torch.nn.Parameter(torch.zeros(1))

    def forward(self, batch: Any) -> tuple[Any, None]:
        rows = []
        for image in batch:
            ys, xs = torch.where((image[0] > 0.9) & (image[1] < 0.1))
            low, high = torch.stack([xs.min(), ys.min()]), torch.stack([xs.max(), ys.max()]) + 1
            box = torch.cat([(low + high) / 2, (high - low).float()])
            rows.append(
                torch.tensor(
                    [
                        [*box, 0.2, 0.8, 0.3],
                        [*box, 0.2, 0.9, 0.6],
                        [*box, 0.85, 0.2, 0.1],
                        [-50, -50, 4, 4, 0.5, 0.4, 0.3],
                        [9, 9, 4, 4, 0.09, 0.09, 0.05],
                    ]
                ).T
            )
        return torch.stack(rows), None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("place", PLACES)
def test_an_object_is_found_where_it_was_drawn(
    size: tuple[int, int], place: tuple[float, ...]
) -> None:
    image, box = picture(size, place)
    found = YoloV8(Finder(), np.arange(3), SPEC).detect([image])[0]
    pixel = max(size) / SPEC["input_size"]
    assert np.abs(found.boxes - box).max() <= max(pixel, 0.5)
    assert np.allclose(found.probabilities, [[0.2, 0.9, 0.6], [0.85, 0.2, 0.1]])
    assert found.degenerate == 1


def test_candidates_are_the_boxes_before_suppression() -> None:
    image, _ = picture((64, 64), PLACES[0])
    found = YoloV8(Finder(), np.arange(3), SPEC).detect([image])[0]
    assert found.candidates is not None
    assert found.candidates.scores == pytest.approx([0.9, 0.85, 0.8])
    assert found.candidates.categories.tolist() == [1, 0, 1]
    assert (found.candidates.boxes == found.boxes[0]).all()


def test_columns_pick_the_classes_of_the_data_set() -> None:
    image, _ = picture((64, 64), PLACES[0])
    found = YoloV8(Finder(), np.array([2, 0]), SPEC).detect([image])[0]
    assert np.allclose(found.probabilities, [[0.1, 0.85], [0.6, 0.2]])


@pytest.mark.parametrize("size", [(333, 500), (500, 333), (64, 64), (31, 17), (1, 200)])
def test_the_letterbox_is_that_of_the_library(size: tuple[int, int]) -> None:
    from ultralytics.data.augment import LetterBox

    image = noise(size)
    square, scale, offset = letterbox(image, 64)
    theirs = LetterBox((64, 64), auto=False)(image=image)
    # Where the padding is odd, the library's spare row stands on the other side or not: same rule.
    assert np.array_equal(square, theirs)
    end = np.array(size[::-1]) * scale + offset
    assert np.all(np.abs(end - np.round(end)) < 1e-9)
    assert np.all(end <= 64)


def test_batch_mates_do_not_matter() -> None:
    limit_side_effects()
    torch.manual_seed(0)
    network = build(TINY)
    for norm in (m for m in network.modules() if isinstance(m, torch.nn.BatchNorm2d)):
        torch.nn.init.normal_(norm.weight, 1.5)
    detector = YoloV8(network.eval(), np.arange(len(CLASSES)), SPEC | {"score_threshold": 0.0})
    images = [noise(size, seed=k) for k, size in enumerate([(50, 90), (64, 64), (90, 20)])]
    together = detector.detect(images)
    for image, result in zip(images, together, strict=True):
        alone = detector.detect([image])[0]
        assert len(alone) == len(result) > 0
        assert np.abs(alone.boxes - result.boxes).max() < 1e-3
        assert np.abs(alone.probabilities - result.probabilities).max() < 1e-4


def test_shipped_weights_give_the_boxes_and_scores_of_the_librarys_own_suppression() -> None:
    from ultralytics.utils.nms import non_max_suppression

    from labelquality.detectors.yolov8 import run_network
    from labelquality.scenes.render import draw_scene

    spec = shipped("yolov8_scenes") | {"score_threshold": 0.05}
    detector = load_detector(spec, CLASSES)
    images = [draw_scene("test", index, 5).image for index in range(6)]
    raw = run_network(detector.model, images)[0]
    theirs = non_max_suppression(raw, 0.05, spec["nms_iou"], max_det=100, max_time_img=60)
    for found, expected in zip(detector.detect(images), theirs, strict=True):
        kept = expected.numpy()
        assert len(found) == len(kept) > 0
        assert np.allclose(found.probabilities.max(axis=1), kept[:, 4])
        assert np.array_equal(found.probabilities.argmax(axis=1), kept[:, 5])
        assert np.allclose(found.boxes, kept[:, :4].clip(0, 128), atol=1e-3)


def test_an_official_checkpoint_is_read_with_its_class_names(tmp_path: Path) -> None:
    limit_side_effects()
    network = build(TINY)
    network.names = dict(enumerate(["Square", "traffic light", *CLASSES[2:]]))
    torch.save({"model": network, "train_args": {}}, tmp_path / "tiny.pt")
    spec = SPEC | {"weights": str(tmp_path / "tiny.pt")}
    detector = load_detector(spec, ["traffic_light", "square"])
    assert isinstance(detector, YoloV8)
    assert detector.columns.tolist() == [1, 0]
    with pytest.raises(DataError, match="does not know the classes bus"):
        load_detector(spec, ["bus"])


def test_missing_weights_are_not_fetched_but_named(tmp_path: Path) -> None:
    spec = SPEC | {"weights": str(tmp_path / "yolov8l.pt")}
    with pytest.raises(DataError, match=r"yolov8l\.pt not found; nothing is downloaded"):
        load_detector(spec, CLASSES)


def test_an_unreadable_image_is_not_the_librarys_reason_to_install_packages(tmp_path: Path) -> None:
    load_detector(shipped("yolov8_scenes"), CLASSES)
    (tmp_path / "text.png").write_text("not an image")
    with pytest.raises(DataError, match=r"text\.png: not an image"):
        load_rgb(tmp_path / "text.png")


def test_a_size_that_the_strides_do_not_divide_is_refused() -> None:
    with pytest.raises(DataError, match="input_size 100 is not a multiple of 32"):
        load_detector(shipped("yolov8_scenes") | {"input_size": 100}, CLASSES)
