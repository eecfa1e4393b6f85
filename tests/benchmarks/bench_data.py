"""Speed and memory of reading data sets and of the label error ground truth.

    make bench SIZES="1000 5000"

Sizes are numbers of images, each with about 7 original objects of 80 classes and 10 re-annotated
ones, as in COCO val. What is written stands in harness.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from PIL import Image

from benchmarks import harness
from benchmarks.harness import Bench, Work
from labelquality import label_errors
from labelquality.datasets import read_dataset, read_reannotation
from labelquality.tables import Table, make_table

N_CLASSES = 80
CLASSES = [f"class {k}" for k in range(N_CLASSES)]
WIDTH, HEIGHT = 640, 480
FILES = {
    "coco": ("instances.json", "images"),
    "voc": ("Annotations", "JPEGImages"),
    "kitti": ("label_2", "image_2"),
    "cityscapes": ("gtFine/val", "leftImg8bit/val"),
    "yolo": ("labels", "images"),
}


@dataclass(frozen=True)
class Objects:
    """Boxes (n, 4) in whole pixels, with the row of their image and their class, by image."""

    boxes: np.ndarray
    image: np.ndarray
    category: np.ndarray

    def of_images(self, n_images: int) -> Iterator[list[tuple[list[int], str]]]:
        """Boxes and class names of each image."""
        ends = np.searchsorted(self.image, np.arange(n_images), side="right")
        start = 0
        for end in ends:
            names = [CLASSES[k] for k in self.category[start:end]]
            yield list(zip(self.boxes[start:end].tolist(), names, strict=True))
            start = end


@dataclass(frozen=True)
class Inputs:
    """Original and re-annotated objects of one size, and their votes (n, K + 1)."""

    image_ids: list[str]
    original: Objects
    reannotated: Objects
    votes: np.ndarray

    @property
    def images(self) -> Table:
        """The table of images."""
        names = [f"{name}.jpg" for name in self.image_ids]
        columns = {"image_id": self.image_ids, "file_name": names, "split": "val"}
        return make_table("images", columns | {"width": WIDTH, "height": HEIGHT}, CLASSES)


def inputs(n_images: int, seed: int = 0) -> Inputs:
    """Objects spread as COCO's; two thirds of the re-annotated ones lie near original ones."""
    rng = np.random.default_rng(seed)
    n_original, n_validated = round(7.3562 * n_images), round(10.2974 * n_images)

    def objects(boxes: np.ndarray, image: np.ndarray, category: np.ndarray) -> Objects:
        order = np.argsort(image, kind="stable")
        return Objects(boxes[order], image[order], category[order])

    def drawn(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sides = np.exp(rng.normal(3.9, 1, (count, 2))).clip(3, 400).round()
        corner = (rng.random((count, 2)) * ((WIDTH, HEIGHT) - sides)).round()
        category = np.minimum(rng.geometric(0.06, count) - 1, N_CLASSES - 1)
        boxes = np.hstack([corner, corner + sides]).astype(np.int64)
        return boxes, rng.integers(0, n_images, count), category

    original = objects(*drawn(n_original))
    boxes, image, category = drawn(n_validated)
    near = np.arange(2 * n_validated // 3)
    of = rng.integers(0, n_original, len(near))
    moved = original.boxes[of] + rng.integers(-2, 3, (len(near), 4))
    moved = moved.clip(0, [WIDTH - 2, HEIGHT - 2, WIDTH, HEIGHT])
    moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 1)
    boxes[near], image[near], category[near] = moved, original.image[of], original.category[of]
    reannotated = objects(boxes, image, category)
    votes = np.zeros((n_validated, N_CLASSES + 1), dtype=np.int64)
    rows = np.arange(n_validated)
    votes[rows, reannotated.category] = 8
    for _ in range(3):
        np.add.at(votes, (rows, rng.integers(0, N_CLASSES + 1, n_validated)), 1)
    return Inputs([f"{i:012d}" for i in range(n_images)], original, reannotated, votes)


def coco_json(given: Inputs) -> bytes:
    """The original annotations, as COCO's instances JSON."""
    images = [
        {"id": i, "file_name": f"{name}.jpg", "width": WIDTH, "height": HEIGHT}
        for i, name in enumerate(given.image_ids)
    ]
    boxes = given.original.boxes
    sides = boxes[:, 2:] - boxes[:, :2]
    corners = np.random.default_rng(0).random((len(boxes), 20, 2)) * sides[:, None]
    outlines = (boxes[:, None, :2] + corners).round(2).reshape(len(boxes), 40)
    columns = (given.original.image, given.original.category, boxes, sides, outlines)
    annotations = [
        {"id": i, "image_id": image, "category_id": category, "bbox": [*box[:2], *side]}
        | {"area": side[0] * side[1], "iscrowd": 0, "segmentation": [outline]}
        for i, (image, category, box, side, outline) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]
    categories = [{"id": k, "name": name} for k, name in enumerate(CLASSES)]
    return orjson.dumps({"images": images, "annotations": annotations, "categories": categories})


def soft_label_json(given: Inputs) -> Iterator[bytes]:
    """The re-annotation as it is released, image by image."""
    names = [*CLASSES, "cantsolve"]
    yield b'{"classes":' + orjson.dumps(names) + b',"objects":{'
    row = 0
    for i, found in enumerate(given.reannotated.of_images(len(given.image_ids))):
        objects = []
        for box, name in found:
            votes = given.votes[row].tolist()
            vector = (given.votes[row] / given.votes[row].sum()).tolist()
            seconds = {f"{k}{row:031x}": [{"vote": name, "time": 1.5}] for k in range(11)}
            objects.append(
                {"mo_id": f"{row:032x}", "bbox": box, "proposed_class": name}
                | {"frequencies": dict(zip(names, votes, strict=True)), "soft_label": vector}
                | {"postprocessed_soft_label": vector, "annotation_info": seconds}
                | {"postprocessed_selected_soft_label": vector}
            )
            row += 1
        key = orjson.dumps(f"{given.image_ids[i]}.jpg")
        yield (b"," if i else b"") + key + b":" + orjson.dumps(objects)
    yield b"}}"


def voc_xml(objects: list[tuple[list[int], str]]) -> str:
    """One image's objects in Pascal VOC's layout."""
    sides = ("xmin", "ymin", "xmax", "ymax")
    size = f"<size><width>{WIDTH}</width><height>{HEIGHT}</height></size>"
    lines = [
        f"<object><name>{name}</name><difficult>0</difficult><bndbox>"
        + "".join(f"<{s}>{v}</{s}>" for s, v in zip(sides, (x1 + 1, y1 + 1, x2, y2), strict=True))
        + "</bndbox></object>"
        for (x1, y1, x2, y2), name in objects
    ]
    return f"<annotation>{size}{''.join(lines)}</annotation>"


def kitti_text(objects: list[tuple[list[int], str]]) -> str:
    """One image's objects in KITTI's layout."""
    lines = [
        f"{name.replace(' ', '')} 0.00 0 1.5 {' '.join(map(str, box))} 1 1 1 1 1 9 0\n"
        for box, name in objects
    ]
    return "".join(lines)


def cityscapes_json(objects: list[tuple[list[int], str]]) -> str:
    """One image's objects in Cityscapes' layout."""
    polygons = [
        {"label": name, "polygon": [[x1, y1], [x2, y1], [x2, y2], [x1, y2]]}
        for (x1, y1, x2, y2), name in objects
    ]
    size = {"imgHeight": HEIGHT, "imgWidth": WIDTH}
    return orjson.dumps(size | {"objects": polygons}).decode()


def yolo_text(objects: list[tuple[list[int], str]]) -> str:
    """One image's objects in YOLO's layout."""
    lines = [
        f"{CLASSES.index(name)} {(x1 + x2) / 2 / WIDTH} {(y1 + y2) / 2 / HEIGHT}"
        f" {(x2 - x1) / WIDTH} {(y2 - y1) / HEIGHT}\n"
        for (x1, y1, x2, y2), name in objects
    ]
    return "".join(lines)


FOLDERS = {
    "voc": (voc_xml, "{}.xml"),
    "kitti": (kitti_text, "{}.txt"),
    "cityscapes": (cityscapes_json, "town/{}_gtFine_polygons.json"),
    "yolo": (yolo_text, "{}.txt"),
}


def spec_of(format: str) -> dict[str, Any]:
    """Settings of a data set of that format."""
    annotations, images = FILES[format]
    files = {"annotations": annotations, "images": images, "reannotation": "soft.json"}
    return {"name": format, "format": format, "classes": CLASSES, "split": "val", "files": files}


def coco(given: Inputs) -> tuple[Work, str, Work]:
    """Reading the original JSON, against parsing it."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / FILES["coco"][0]
    path.write_bytes(coco_json(given))

    def work() -> object:
        return read_dataset(spec_of("coco"), Path(folder.name))

    return work, "orjson", lambda: orjson.loads(path.read_bytes())


def reannotation(given: Inputs) -> tuple[Work, str, Work]:
    """Reading the released soft labels, against parsing them."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "soft.json"
    with open(path, "wb") as file:
        file.writelines(soft_label_json(given))

    def work() -> object:
        return read_reannotation(spec_of("coco"), Path(folder.name), given.images)

    return work, "orjson", lambda: orjson.loads(path.read_bytes())


def of_folder(given: Inputs, format: str) -> tuple[Work, None, None]:
    """Reading a data set of one annotation file for each image."""
    folder = tempfile.TemporaryDirectory()
    (annotations, images), (text, name) = FILES[format], FOLDERS[format]
    picture = Path(folder.name) / "picture.png"
    Image.new("L", (WIDTH, HEIGHT)).save(picture)
    for image_id, objects in zip(
        given.image_ids, given.original.of_images(len(given.image_ids)), strict=True
    ):
        path = Path(folder.name) / annotations / name.format(image_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(objects), encoding="utf-8")
        link = Path(folder.name) / images / f"{image_id}.png"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.hardlink_to(picture)

    def work() -> object:
        return read_dataset(spec_of(format), Path(folder.name))

    return work, None, None


def legt(given: Inputs) -> tuple[Work, None, None]:
    """The label error ground truth; a matching pass of COCO val's size takes hotcoco 0.24 s."""
    names = np.array(given.image_ids, dtype=object)
    found, old = given.reannotated, given.original
    vectors = given.votes / given.votes.sum(axis=1, keepdims=True)
    flags = {"crowd": False, "difficult": False, "region": "", "annotator": ""}

    def named(objects: Objects) -> dict[str, object]:
        ids = [str(i) for i in range(len(objects.boxes))]
        return {"image_id": names[objects.image], "box_id": ids}

    original = make_table(
        "annotations",
        named(old) | {"category": old.category} | flags,
        CLASSES,
        boxes=old.boxes.astype(float),
    )
    soft_labels = make_table(
        "soft_labels",
        named(found) | {"n_votes": 11, "proposed": found.category},
        CLASSES,
        boxes=found.boxes.astype(float),
        vectors={"soft_label": vectors, "corrected": vectors},
    )
    return lambda: label_errors.build(original, soft_labels, given.images), None, None


BENCHES: dict[str, Bench] = {
    "read_coco": coco,
    "read_reannotation": reannotation,
    "label_error_ground_truth": legt,
    **{f"read_{format}": partial(of_folder, format=format) for format in FOLDERS},
}


def main() -> None:
    """Run the benchmarks that the command line asks for, print and write what they give."""
    harness.main(__doc__, BENCHES, inputs)


if __name__ == "__main__":
    main()
