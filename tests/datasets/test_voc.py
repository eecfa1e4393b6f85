from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dataset_files import counts
from folder_files import VOC_OBJECT, spec_of, voc_xml, write_image, write_text, write_voc
from labelquality.datasets import Dataset, read_dataset
from labelquality.errors import DataError
from labelquality.tables import check_table

FILE = "Annotations/2008_000002.xml"


def read(root: Path, xml: str | None = None, **changes: Any) -> Dataset:
    write_voc(root)
    if xml is not None:
        write_text(root / FILE, xml)
    dataset = read_dataset(spec_of("voc", **changes), root)
    check_table(dataset.images, "images")
    check_table(dataset.annotations, "annotations")
    return dataset


def test_images_of_the_split(tmp_path: Path) -> None:
    images = read(tmp_path).images.frame
    assert images["image_id"].tolist() == ["2008_000002", "2011_000001"]
    assert images["file_name"].tolist() == ["2008_000002.jpg", "2011_000001.jpg"]
    assert images[["width", "height"]].to_numpy().tolist() == [[100, 50], [100, 50]]
    assert set(images["split"]) == {"val"}


def test_all_images_without_a_list(tmp_path: Path) -> None:
    files = {"images": "JPEGImages", "annotations": "Annotations"}
    assert len(read(tmp_path, files=files).images) == 3


def test_a_box_over_the_whole_image_covers_exactly_the_image(tmp_path: Path) -> None:
    assert read(tmp_path).annotations.boxes[0].tolist() == [0, 0, 100, 50]


def test_decimals_are_kept_and_parts_are_no_objects(tmp_path: Path) -> None:
    annotations = read(tmp_path).annotations
    assert annotations.boxes[1].tolist() == [44.70000076293945, 10, 60, 30]
    assert annotations.frame["category"].tolist() == [0, 2, 0]
    ids = ["2008_000002_0", "2008_000002_1", "2011_000001_0"]
    assert annotations.frame["box_id"].tolist() == ids


def test_difficult_objects_are_kept_with_their_flag(tmp_path: Path) -> None:
    frame = read(tmp_path).annotations.frame
    assert frame["difficult"].tolist() == [False, True, False]
    assert not frame["crowd"].any()
    xml = voc_xml(VOC_OBJECT.replace("<difficult>1</difficult>", ""))
    assert not read(tmp_path, xml).annotations.frame["difficult"].any()


def test_corners_that_count_from_0(tmp_path: Path) -> None:
    xml = voc_xml(VOC_OBJECT.replace("<ymin>11<", "<ymin>0<"))
    dataset = read(tmp_path, xml, box_origin=0)
    assert dataset.annotations.boxes[1].tolist() == [45.70000076293945, 0, 60, 30]
    assert ("annotation", "kept", "corner is below box_origin") not in counts(dataset.intake)
    found = counts(read(tmp_path, xml).intake)
    assert found["annotation", "kept", "corner is below box_origin"] == 1
    assert found["annotation", "clipped", "box left its image"] == 1


@pytest.mark.parametrize("size", ["", "<size><width>0</width><height>0</height></size>"])
def test_a_size_that_is_not_stated_is_that_of_the_image(tmp_path: Path, size: str) -> None:
    stated = "<size><width>100</width><height>50</height><depth>3</depth></size>"
    xml = voc_xml().replace(stated, size)
    with pytest.raises(DataError, match=r"2008_000002\.jpg: image not found"):
        read(tmp_path, xml)
    write_image(tmp_path / "JPEGImages/2008_000002.jpg", 120, 60)
    dataset = read(tmp_path, xml)
    assert dataset.images.frame["width"].tolist() == [120, 100]
    reason = "size is not stated: that of the image file"
    assert counts(dataset.intake)["image", "kept", reason] == 1


@pytest.mark.parametrize("name", ["", "2008_000002"])
def test_a_file_name_without_suffix(tmp_path: Path, name: str) -> None:
    dataset = read(tmp_path, voc_xml(name=name))
    assert dataset.images.frame["file_name"][0] == "2008_000002.jpg"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<ymin>11<", "<ymin>1_1<", "object 1: ymin is '1_1', should be a number"),
        ("<ymin>11<", "<ymin>nan<", "object 1: ymin is 'nan', should be a number"),
        ("<ymin>11<", "<ymin>1e999<", "object 1: ymin is '1e999', should be a number"),
        ("<ymin>11<", "<ymin><", "object 1: ymin is missing; add it or remove"),
        ("<ymin>11<", "<ymin>31<", "object 1: bbox has no area .* set repairs.empty_boxes"),
        ("<ymin>11<", "<ymin>41<", "object 1: bbox is inverted; set repairs.inverted_boxes"),
        ("<name>person<", "<name>lamp<", "category lamp is not among the data set's classes"),
        ("<name>person</name>", "", "object 1: name is missing"),
        ("<difficult>1<", "<difficult>yes<", "difficult is 'yes', should be 0 or 1"),
        ("<xmax>60</xmax>", "<xmax>60</xmax><xmax>61</xmax>", "xmax stands 2 times; leave one"),
        ("<width>100<", "<width>-3<", "width is -3, no number of pixels"),
        ("<width>100<", "<width>9.5<", "width is 9.5, no number of pixels"),
        ("<filename>2008", "<filename>2009", "filename is '2009_000002.jpg', should be"),
        ("</annotation>", "", "not valid XML"),
        ("<annotation>", "<?xml version='1.0' encoding='x'?><annotation>", "not valid XML"),
        (voc_xml(), "<html></html>", "holds html, should hold annotation"),
        (voc_xml(), "", "not valid XML"),
    ],
)
def test_a_spoilt_file_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in voc_xml()
    with pytest.raises(DataError, match=rf"2008_000002\.xml.*(:|,) .*{message}") as caught:
        read(tmp_path, voc_xml().replace(old, new, 1))
    assert "\n" not in str(caught.value)


def test_no_files_at_all_names_the_pattern(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"elsewhere/Annotations/\*\.xml: no such files; check"):
        read_dataset(spec_of("voc"), tmp_path / "elsewhere")


def test_real_annotations(shared_data: Path) -> None:
    """Every box is one of the XML files', counted from 0; all lie inside their images."""
    folder = shared_data / "voc100"
    trees = [ElementTree.parse(p).getroot() for p in sorted(folder.glob("Annotations/*.xml"))]
    names = sorted({o.findtext("name") or "" for tree in trees for o in tree.findall("object")})
    files = {"images": "JPEGImages", "annotations": "Annotations"}
    dataset = read_dataset(spec_of("voc", classes=names, files=files), folder)
    assert counts(dataset.intake) == {
        ("image", "read", ""): 100,
        ("annotation", "read", ""): 273,
    }
    assert dataset.annotations.frame["difficult"].sum() == 38
    expected = [
        [float(o.findtext(f"bndbox/{side}") or "nan") for side in ("xmin", "ymin", "xmax", "ymax")]
        for tree in trees
        for o in tree.findall("object")
    ]
    x1, y1, x2, y2 = dataset.annotations.boxes.T
    assert np.stack([x1 + 1, y1 + 1, x2, y2], axis=1).tolist() == expected
