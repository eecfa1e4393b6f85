"""Pascal VOC detection: one XML file for each image (http://host.robots.ox.ac.uk/pascal/VOC).

Corners count pixels from 1 and are inclusive, so a box over the whole image is (1, 1) to (width,
height); here it is 0, 0, width, height. Coordinates may have decimals. A part of an object (a head,
say) has a box, too, but is none of the image's objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from labelquality.datasets.adapter import IMAGE_SUFFIXES, Dataset, Intake, file_path, image_stem
from labelquality.datasets.folder import (
    Objects,
    files_below,
    images_table,
    in_split,
    number,
    whole,
)
from labelquality.errors import DataError
from labelquality.images import image_size

_FLAGS = {"": False, "0": False, "1": True}


def read_voc(spec: Mapping[str, Any], root: Path) -> Dataset:
    """Read the XML files in the data set's `annotations` folder below `root`.

    `files.image_list` is the split's file in ImageSets/Main; without it every XML file is read.
    Difficult objects are kept, with their flag. `box_origin` 0 is for files whose corners count
    from 0 and are not inclusive. Where a file does not state the image's size it is taken from the
    image.

    Raises DataError for anything that the layout or the data set's rules do not permit.
    """
    folder, image_folder = file_path(spec, root, "annotations"), file_path(spec, root, "images")
    paths = {path.stem: path for path in files_below(folder, "*.xml")}
    origin = float(spec.get("box_origin", 1))
    intake, objects = Intake(folder.name), Objects()
    files: dict[str, str] = {}
    sizes = []
    from_header = below_origin = 0
    for image_id in in_split(spec, root, paths, str(folder)):
        path = paths[image_id]
        tree = _parse(path)
        files[image_id] = _file_name(tree, path)
        size = _size(tree, path)
        from_header += size is None
        sizes.append(size or image_size(image_folder / files[image_id]))
        for index, element in enumerate(tree.findall("object")):
            place = f"{path.name}, object {index}"
            corners = _corners(element, place)
            below_origin += min(corners) < origin
            x1, y1, x2, y2 = corners
            objects.add(
                len(files) - 1,
                index,
                place,
                _text(element, "name", place),
                (x1 - origin, y1 - origin, x2, y2),
                difficult=_difficult(element, place),
            )
    images = images_table(spec, files, sizes)
    intake.add("image", "read", "", len(images))
    intake.add("image", "kept", "size is not stated: that of the image file", from_header)
    intake.add("annotation", "kept", "corner is below box_origin", below_origin)
    return Dataset(images, objects.table(images, spec, intake), intake.frame())


def _parse(path: Path) -> ElementTree.Element:
    try:
        tree = ElementTree.fromstring(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check it") from None
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise DataError(f"{path}: not valid XML ({error}); fetch it again, or mend it") from None
    if tree.tag != "annotation":
        raise DataError(
            f"{path}: holds {tree.tag}, should hold annotation; check that it is the right folder"
        )
    return tree


def _only(parent: ElementTree.Element, tag: str, place: str) -> ElementTree.Element | None:
    """The direct child `tag`, None where there is none; DataError where there are several."""
    found = parent.findall(tag)
    if len(found) > 1:
        raise DataError(f"{place}: {tag} stands {len(found)} times; leave one")
    return found[0] if found else None


def _text(parent: ElementTree.Element, tag: str, place: str) -> str:
    element = _only(parent, tag, place)
    text = "" if element is None else (element.text or "").strip()
    if not text:
        raise DataError(f"{place}: {tag} is missing; add it or remove the record")
    return text


def _corners(element: ElementTree.Element, place: str) -> tuple[float, float, float, float]:
    box = _only(element, "bndbox", place)
    if box is None:
        raise DataError(f"{place}: bndbox is missing; add it or remove the record")
    x1, y1, x2, y2 = (
        number(_text(box, side, place), side, place) for side in ("xmin", "ymin", "xmax", "ymax")
    )
    return x1, y1, x2, y2


def _difficult(element: ElementTree.Element, place: str) -> bool:
    flag = _only(element, "difficult", place)
    text = "" if flag is None else (flag.text or "").strip()
    if text not in _FLAGS:
        raise DataError(f"{place}: difficult is {text[:40]!r}, should be 0 or 1; mend it")
    return _FLAGS[text]


def _file_name(tree: ElementTree.Element, path: Path) -> str:
    """The image's file name; tools leave it out, or its suffix."""
    element = _only(tree, "filename", path.name)
    given = "" if element is None else (element.text or "").strip()
    if given and image_stem(given) != path.stem:
        raise DataError(
            f"{path}: filename is {given[:80]!r}, should be that of image {path.stem}; mend it, or"
            " rename the XML file"
        )
    name = PurePosixPath(given)
    return given if name.suffix.lower() in IMAGE_SUFFIXES else f"{path.stem}.jpg"


def _size(tree: ElementTree.Element, path: Path) -> tuple[int, int] | None:
    """Stated width and height, None where either is absent or 0."""
    size = _only(tree, "size", path.name)
    sides = []
    for side in ("width", "height"):
        element = None if size is None else _only(size, side, path.name)
        text = "" if element is None else (element.text or "").strip()
        value = number(text, side, path.name) if text else 0.0
        if value == 0:
            return None
        sides.append(whole(value, side, path.name))
    return sides[0], sides[1]
