"""Data sets of one annotation file for each image, in their official layouts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

FILES = {
    "voc": {
        "images": "JPEGImages",
        "annotations": "Annotations",
        "image_list": "ImageSets/Main/val.txt",
    },
    "kitti": {"images": "training/image_2", "annotations": "training/label_2"},
    "cityscapes": {"images": "leftImg8bit/val", "annotations": "gtFine/val"},
    "yolo": {"images": "images/val", "annotations": "labels/val"},
}


def spec_of(format: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": "toy",
        "format": format,
        "classes": ["car", "person sitting", "person"],
        "split": "val",
        "files": FILES[format],
    } | changes


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_image(path: Path, width: int = 100, height: int = 50) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((height, width, 3), np.uint8)).save(path)


VOC_OBJECT = """
  <object>
    <name>person</name>
    <pose>Left</pose>
    <truncated>1</truncated>
    <difficult>1</difficult>
    <bndbox>
      <xmin>45.70000076293945</xmin>
      <ymin>11</ymin>
      <xmax>60</xmax>
      <ymax>30</ymax>
    </bndbox>
    <part>
      <name>head</name>
      <bndbox><xmin>47</xmin><ymin>12</ymin><xmax>50</xmax><ymax>16</ymax></bndbox>
    </part>
  </object>"""


def voc_xml(objects: str = VOC_OBJECT, name: str = "2008_000002.jpg") -> str:
    return f"""<annotation>
  <folder>VOC2012</folder>
  <filename>{name}</filename>
  <source><database>The VOC2008 Database</database></source>
  <size><width>100</width><height>50</height><depth>3</depth></size>
  <segmented>0</segmented>
  <object>
    <name>car</name>
    <bndbox>
      <ymin>1</ymin><xmin>1</xmin><ymax>50</ymax><xmax>100</xmax>
    </bndbox>
    <difficult>0</difficult>
  </object>{objects}
</annotation>
"""


def write_voc(root: Path) -> None:
    write_text(root / "ImageSets/Main/val.txt", "2008_000002\n2011_000001\n")
    write_text(root / "Annotations/2008_000002.xml", voc_xml())
    write_text(root / "Annotations/2011_000001.xml", voc_xml("", "2011_000001.jpg"))
    write_text(root / "Annotations/2012_000009.xml", voc_xml("", "2012_000009.jpg"))


KITTI = """\
DontCare -1 -1 -10 50.5 10.25 70 20 -1 -1 -1 -1000 -1000 -1000 -10
Car 0.00 0 1.85 10.63 18.54 42.81 30.12 1.67 1.87 3.69 -16.53 2.39 58.49 1.57
Misc 0.00 0 -1.82 80.79 16.34 99.43 32.94 1.63 1.48 2.37 3.23 1.59 8.55 -1.47
Person_sitting 0.00 0 1.1 1.5 2 3 4.5 1 1 1 1 1 1 1 0.75
"""


def write_kitti(root: Path) -> None:
    for name, text in {"000000": KITTI, "000001": ""}.items():
        write_text(root / f"training/label_2/{name}.txt", text)
        write_image(root / f"training/image_2/{name}.png")


def cityscapes_objects() -> list[dict[str, Any]]:
    return [
        {"label": "road", "polygon": [[0, 25], [99, 25], [99, 49]], "deleted": 0},
        {"label": "car", "polygon": [[10, 5], [30, 8], [20, 35]], "deleted": 0, "verified": 0},
        {"label": "cargroup", "polygon": [[50, 10], [70, 10], [70, 20], [50, 20]]},
        {"label": "car", "polygon": [[1, 1], [2, 2], [3, 1]], "deleted": 1},
        {"label": "person", "polygon": [[-3, 40], [8, 45], [5, 60]]},
        {"label": "license plate", "polygon": [[1, 1], [2, 2], [3, 1]]},
        {"label": "ridergroup", "polygon": [[1, 1], [2, 2], [3, 1]]},
        {"label": "polegroup", "polygon": [[1, 1], [2, 2], [3, 1]]},
    ]


def cityscapes_json(objects: list[dict[str, Any]]) -> str:
    return json.dumps({"imgHeight": 50, "imgWidth": 100, "objects": objects})


def write_cityscapes(root: Path, objects: list[dict[str, Any]] | None = None) -> None:
    first = cityscapes_objects() if objects is None else objects
    content = {"aachen/aachen_000000_000019": first, "ulm/ulm_000001_000019": []}
    for name, these in content.items():
        write_text(root / f"gtFine/val/{name}_gtFine_polygons.json", cityscapes_json(these))


YOLO = "0 0.5 0.5 0.2 0.4\n2 0.98 0.5 0.1 0.1\n"


def write_yolo(root: Path) -> None:
    for name in ("a", "in/b", "c"):
        write_image(root / f"images/val/{name}.png")
    write_text(root / "labels/val/a.txt", YOLO)
    write_text(root / "labels/val/in/b.txt", "")


WRITERS: Mapping[str, Callable[[Path], None]] = {
    "voc": write_voc,
    "kitti": write_kitti,
    "cityscapes": write_cityscapes,
    "yolo": write_yolo,
}
ONE_FILE = {
    "voc": "Annotations/2008_000002.xml",
    "kitti": "training/label_2/000000.txt",
    "cityscapes": "gtFine/val/aachen/aachen_000000_000019_gtFine_polygons.json",
    "yolo": "labels/val/a.txt",
}
RULES = {"kitti": {"excluded_classes": ["Misc"]}}
