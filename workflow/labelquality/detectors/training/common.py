"""What the training of all tiny detectors shares: data, batches, watching, saving.

Reproducible on one machine: one process, one thread, every seed passed in.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.base import (
    Detector,
    ImageDetections,
    limit_side_effects,
    scores_and_categories,
)
from labelquality.detectors.weights import DIGESTS, TENSORS, tensor_digests, verify_digests
from labelquality.errors import DataError
from labelquality.images import load_rgb

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Split:
    """A split of the scenes in memory: images of one size and their true objects.

    images : (n, h, w, 3) uint8.
    boxes : n arrays (m, 4) float32, ``x1 y1 x2 y2`` pixels.
    labels : n arrays (m,) int64, indices into `classes`.
    """

    images: np.ndarray
    boxes: list[np.ndarray]
    labels: list[np.ndarray]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.images)


def load_split(folder: str | Path, split: str) -> Split:
    """Load a split of a scenes folder, with its true objects.

    The train split's instances *are* the truth; other splits carry injected label errors in
    their instances, so their truth file is read instead.
    """
    folder = Path(folder)
    instances = _json(folder / f"instances_{split}.json")
    truth_path = folder / f"truth_{split}.json"
    classes = tuple(c["name"] for c in sorted(instances["categories"], key=lambda c: c["id"]))
    index = {c["id"]: classes.index(c["name"]) for c in instances["categories"]}
    if truth_path.exists():
        objects = [
            (o["image_id"], o["bbox"], o["category_id"]) for o in _json(truth_path)["objects"]
        ]
    else:
        objects = [
            (a["image_id"], _corners(a["bbox"]), a["category_id"]) for a in instances["annotations"]
        ]
    images = sorted(instances["images"], key=lambda i: i["id"])
    rows: dict[Any, list[tuple[list[float], int]]] = {i["id"]: [] for i in images}
    for image_id, box, category in objects:
        rows[image_id].append((box, index[category]))
    return Split(
        images=np.stack([load_rgb(folder / "images" / i["file_name"]) for i in images]),
        boxes=[np.array([b for b, _ in rows[i["id"]]], np.float32).reshape(-1, 4) for i in images],
        labels=[np.array([c for _, c in rows[i["id"]]], np.int64) for i in images],
        classes=classes,
    )


def fingerprint(split: Split) -> str:
    """SHA-256 of a split's pixels, boxes and labels, to record what weights were trained on."""
    digest = hashlib.sha256(split.images.tobytes())
    for boxes, labels in zip(split.boxes, split.labels, strict=True):
        digest.update(boxes.tobytes() + labels.tobytes())
    return digest.hexdigest()


def _json(path: Path) -> Any:
    if not path.exists():
        raise DataError(f"{path}: not found; write the scenes first")
    return json.loads(path.read_text())


def _corners(xywh: Sequence[float]) -> list[float]:
    x, y, w, h = xywh
    return [x, y, x + w, y + h]


def start(seed: int) -> np.random.Generator:
    """Switch off side effects, fix torch's seed and threads; return the batches' generator."""
    limit_side_effects()
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    return np.random.default_rng(seed)


def batches(
    n: int, batch_size: int, steps: int, rng: np.random.Generator
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (step, image indices): each epoch a new order of all images, last batch dropped."""
    step = 0
    while step < steps:
        order = rng.permutation(n)
        for start_row in range(0, n - batch_size + 1, batch_size):
            if step == steps:
                return
            yield step, order[start_row : start_row + batch_size]
            step += 1


def augmented(
    split: Split, indices: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Return a batch with random flips and brightness, boxes moved along.

    Images : (b, 3, h, w) float32 in 0-1; boxes: (m, 4) float32 pixels; labels.
    """
    images, boxes = [], []
    for i in indices:
        image = split.images[i].astype(np.float32) / 255.0
        box = split.boxes[i].copy()
        height, width = image.shape[:2]
        if rng.random() < 0.5:
            image, box = (
                image[:, ::-1],
                np.stack([width - box[:, 2], box[:, 1], width - box[:, 0], box[:, 3]], axis=1),
            )
        if rng.random() < 0.5:
            image, box = (
                image[::-1],
                np.stack([box[:, 0], height - box[:, 3], box[:, 2], height - box[:, 1]], axis=1),
            )
        image = np.clip(image * rng.uniform(0.85, 1.15) + rng.uniform(-0.05, 0.05), 0.0, 1.0)
        images.append(image.transpose(2, 0, 1))
        boxes.append(box)
    return (
        np.ascontiguousarray(np.stack(images), dtype=np.float32),
        boxes,
        [split.labels[i] for i in indices],
    )


def one_cycle(step: int, steps: int, warmup: float = 0.05, final: float = 0.02) -> float:
    """Learning-rate factor in (0, 1]: linear warm-up, then a cosine down to `final`."""
    progress = (step + 1) / steps
    if progress < warmup:
        return progress / warmup
    return final + (1 - final) * 0.5 * (1 + np.cos(np.pi * (progress - warmup) / (1 - warmup)))


def relative_centres(boxes: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return ``x1 y1 x2 y2`` pixels as centre x, centre y, width, height in fractions; float32."""
    corners = boxes / np.array([width, height, width, height], np.float32)
    low, high = corners[:, :2], corners[:, 2:]
    return np.concatenate([(low + high) / 2, high - low], axis=1).astype(np.float32)


def report(step: int, steps: int, loss: float, watch: Callable[[], Mapping[str, float]]) -> None:
    """Print the loss a hundred times and the watched AP ten times over the whole training.

    Raises
    ------
    DataError : the loss is not finite.
    """
    if not np.isfinite(loss):
        raise DataError(f"training: loss is {loss} at step {step}; lower the learning rate")
    if (step + 1) % max(1, steps // 100) == 0:
        print(f"step {step + 1}/{steps} loss {loss:.3f}", flush=True)
    if (step + 1) % max(1, steps // 10) == 0:
        print(f"step {step + 1}/{steps} {dict(watch())}", flush=True)


class MovingAverage:
    """Exponential moving average of a model's parameters and buffers: steadier than the last step.

    The average forgets faster at first, so that the random start does not linger.
    """

    def __init__(self, model: torch.nn.Module, decay: float = 0.998) -> None:
        self.model = copy.deepcopy(model).eval()
        self.decay = decay
        self.updates = 0

    def update(self, model: torch.nn.Module) -> None:
        """Move the average towards the model's present state."""
        self.updates += 1
        decay = min(self.decay, self.updates / (self.updates + 20))
        state = model.state_dict()
        for name, value in self.model.state_dict().items():
            if value.is_floating_point():
                value.lerp_(state[name].detach(), 1 - decay)
            else:
                value.copy_(state[name])


def average_precision(
    results: Sequence[ImageDetections], split: Split, max_detections: int = 100
) -> dict[str, float]:
    """COCO AP and AP50 (pycocotools) of one `ImageDetections` per image of `split`."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = _coco(split)
        truth.createIndex()
        records = _records(results, len(split.classes))
        if not records:
            return {"AP": 0.0, "AP50": 0.0}
        evaluation = COCOeval(truth, truth.loadRes(records), "bbox")
        evaluation.params.maxDets = [1, 10, max_detections]
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][..., 0, -1]
    return {
        "AP": float(precision[precision > -1].mean()),
        "AP50": float(precision[0][precision[0] > -1].mean()),
    }


def _coco(split: Split) -> dict[str, Any]:
    annotations: list[dict[str, Any]] = []
    for i, (boxes, labels) in enumerate(zip(split.boxes, split.labels, strict=True)):
        for box, label in zip(boxes.astype(float), labels, strict=True):
            w, h = box[2:] - box[:2]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": i,
                    "category_id": int(label),
                    "bbox": [box[0], box[1], w, h],
                    "area": w * h,
                    "iscrowd": 0,
                }
            )
    return {
        "info": {},
        "images": [{"id": i} for i in range(len(split))],
        "annotations": annotations,
        "categories": [{"id": k, "name": name} for k, name in enumerate(split.classes)],
    }


def _records(results: Sequence[ImageDetections], n_classes: int) -> list[dict[str, Any]]:
    records = []
    for i, result in enumerate(results):
        scores, categories = scores_and_categories(result.probabilities, n_classes)
        for box, score, category in zip(result.boxes, scores, categories, strict=True):
            records.append(
                {
                    "image_id": i,
                    "category_id": int(category),
                    "bbox": [*box[:2], *(box[2:] - box[:2])],
                    "score": float(score),
                }
            )
    return records


def watch(detector: Detector, split: Split, batch_size: int = 20) -> dict[str, float]:
    """AP and AP50 of a detector on a split in memory (use the split `watch`, never `val`)."""
    results: list[ImageDetections] = []
    for first in range(0, len(split), batch_size):
        results += detector.detect(list(split.images[first : first + batch_size]))
    return average_precision(results, split)


def save_weights(
    folder: str | Path, state: Mapping[str, torch.Tensor], training: Mapping[str, Any]
) -> None:
    """Write model.safetensors (fp16), digests.json and training.json into `folder`.

    training : seed, data_seed, steps, AP50 and what else tells how the weights were made.

    Raises
    ------
    DataError : a tensor is not finite in half precision.
    """
    from safetensors.numpy import save

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: _half(name, tensor) for name, tensor in state.items()}
    (folder / TENSORS).write_bytes(save(tensors, metadata={"format": "pt"}))
    _write_json(folder / DIGESTS, tensor_digests(tensors))
    _write_json(folder / "training.json", dict(training))
    verify_digests(folder)


def _half(name: str, tensor: torch.Tensor) -> np.ndarray:
    array = tensor.detach().cpu().contiguous().numpy()
    if array.dtype != np.float32:
        return array.copy()
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    if not np.isfinite(half).all():
        raise DataError(f"tensor {name}: not finite in half precision; training has diverged")
    return half


def library_versions(*distributions: str) -> dict[str, str]:
    """Versions to record in training.json."""
    return {name: version(name) for name in sorted(distributions)}


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
