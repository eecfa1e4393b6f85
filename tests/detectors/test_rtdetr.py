from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from labelquality.detectors import load_detector
from labelquality.detectors.base import limit_side_effects
from labelquality.errors import DataError
from placed_objects import PLACES, SIZES, noise, picture
from shipped_detectors import CLASSES, shipped

limit_side_effects()
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers.models.rt_detr.image_processing_pil_rt_detr import (  # noqa: E402
    RTDetrImageProcessorPil,
)

from labelquality.detectors.rtdetr import RtDetr  # noqa: E402
from labelquality.scenes.render import draw_scene  # noqa: E402

SIDE = 64
SPEC: dict[str, Any] = {
    "name": "tiny",
    "input_size": None,
    "score_threshold": 0.1,
    "nms_iou": None,
    "max_detections": 2,
}


class Finder(torch.nn.Module):
    """In place of a network: queries at the extent of what is pure red."""

    device = torch.device("cpu")

    def forward(self, batch: Any) -> SimpleNamespace:
        boxes = []
        for image in batch:
            ys, xs = torch.where((image[0] > 0.9) & (image[1] < 0.1))
            low, high = torch.stack([xs.min(), ys.min()]), torch.stack([xs.max(), ys.max()]) + 1
            boxes.append(torch.cat([(low + high) / 2, (high - low).float()]) / SIDE)
        rows = torch.tensor([[0.2, 0.05, 0.7], [0.1, 0.9, 0.3], [0.3, 0.3, 0.3], [0.1, 0.1, 0.1]])
        return SimpleNamespace(
            pred_boxes=torch.stack(boxes)[:, None].expand(-1, 4, -1),
            logits=torch.logit(rows).expand(len(batch), -1, -1),
        )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("place", PLACES)
def test_an_object_is_found_where_it_was_drawn(
    size: tuple[int, int], place: tuple[float, ...]
) -> None:
    image, box = picture(size, place)
    processor = RTDetrImageProcessorPil(size={"height": SIDE, "width": SIDE})
    found = RtDetr(Finder(), processor, np.arange(3), SPEC).detect([image])[0]
    pixel = np.array([size[1], size[0]]) / SIDE
    assert np.all(np.abs(found.boxes - box) <= np.maximum(np.tile(pixel, 2), 0.5))
    assert np.allclose(found.probabilities, [[0.1, 0.9, 0.3], [0.2, 0.05, 0.7]], atol=1e-6)


@pytest.fixture(scope="module")
def detector() -> Any:
    return load_detector(shipped("rtdetr_scenes") | {"score_threshold": 0.0}, CLASSES)


def test_the_best_class_of_each_query_is_the_librarys(detector: Any) -> None:
    images = [draw_scene("test", index, 5).image for index in range(3)]
    pixels = torch.cat([detector.processor(i, return_tensors="pt")["pixel_values"] for i in images])
    with torch.inference_mode():
        output = detector.model(pixels)
    n_queries, n_classes = output.logits.shape[1:]
    # One entry per query and class; the first entry of a query is its best class.
    theirs = detector.processor.post_process_object_detection(
        output, threshold=0.0, target_sizes=[(128, 128)] * 3
    )
    for found, expected in zip(detector.detect(images), theirs, strict=True):
        best = expected["scores"][0]
        assert len(found) == n_queries
        assert found.probabilities.shape == (n_queries, n_classes)
        assert np.isclose(found.probabilities.max(), best)
        assert found.probabilities[0].argmax() == expected["labels"][0]
        assert np.allclose(found.boxes[0], expected["boxes"][0].clip(0, 128), atol=1e-3)


def test_batch_mates_do_not_matter(detector: Any) -> None:
    images = [noise(size, seed=k) for k, size in enumerate([(50, 90), (128, 128)])]
    images += [draw_scene("test", index, 5).image for index in range(2)]
    for image, result in zip(images, detector.detect(images), strict=True):
        alone = detector.detect([image])[0]
        assert len(alone) == len(result) > 0
        assert np.abs(alone.probabilities - result.probabilities).max() < 1e-4
        assert np.abs(alone.boxes - result.boxes).max() < 1e-4 * max(image.shape)


def test_classes_are_matched_by_name_in_the_order_of_the_data_set(detector: Any) -> None:
    image = draw_scene("test", 0, 5).image
    other = load_detector(
        shipped("rtdetr_scenes") | {"score_threshold": 0.0}, ["Circle", "square", *CLASSES[2:]]
    )
    swapped = detector.detect([image])[0].probabilities[:, [1, 0, 2, 3, 4, 5]]
    assert np.array_equal(other.detect([image])[0].probabilities, swapped)


def test_a_hub_name_is_not_looked_up(tmp_path: Path) -> None:
    spec = shipped("rtdetr_scenes") | {"weights": "nobody/rtdetr_of_nobody"}
    with pytest.raises(DataError, match="nobody/rtdetr_of_nobody"):
        load_detector(spec, CLASSES)


def test_the_ultralytics_variant_keeps_every_querys_vector(tmp_path: Path) -> None:
    pytest.importorskip("ultralytics")
    from ultralytics.nn.tasks import RTDETRDetectionModel

    from labelquality.detectors.yolov8 import run_network

    torch.manual_seed(0)
    layers = {
        "nc": 3,
        "backbone": [
            [-1, 1, "Conv", [16, 3, 4]],
            [-1, 1, "Conv", [32, 3, 2]],
            [-1, 1, "Conv", [32, 3, 2]],
        ],
        "head": [[[1, 2], 1, "RTDETRDecoder", ["nc", 32, 20, 4, 4, 2, 64]]],
    }
    network = RTDETRDetectionModel(layers, nc=3, verbose=False)
    network.names = dict(enumerate("abc"))
    torch.save({"model": network, "train_args": {}}, tmp_path / "tiny.pt")
    spec = SPEC | {
        "family": "rtdetr_ultralytics",
        "weights": str(tmp_path / "tiny.pt"),
        "input_size": SIDE,
        "score_threshold": 0.0,
        "max_detections": 20,
    }
    detector = load_detector(spec, ["c", "a", "b"])
    image = noise((SIDE, SIDE))
    found = detector.detect([image, noise((30, 50))])[0]
    # Rows of the library: centre, size, score, class; the best pair of query and class first.
    best = run_network(detector.model, [image])[0][0, 0].numpy()
    assert np.isclose(found.probabilities.max(), best[4], atol=1e-6)
    assert [1, 2, 0][int(best[5])] == found.probabilities[0].argmax()
    middle = (found.boxes[0, :2] + found.boxes[0, 2:]) / 2
    inside = (best[:2] - best[2:4] / 2 > 0).all() and (best[:2] + best[2:4] / 2 < 1).all()
    assert not inside or np.allclose(middle, best[:2] * SIDE, atol=1e-3)
