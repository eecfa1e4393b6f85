"""Writes a split of scenes to disk in the formats that real data sets come in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd
from PIL import Image

from labelquality.frames import write_csv
from labelquality.geometry import areas, xyxy_to_xywh
from labelquality.scenes.original import Original, annotate
from labelquality.scenes.reannotation import Proposal, drawn_again, reannotate
from labelquality.scenes.release import released_object, unbiased_keys
from labelquality.scenes.render import (
    ANNOTATION,
    DUPLICATES,
    HEIGHT,
    LABELS,
    REVIEW,
    VOTES,
    WIDTH,
    Scene,
    draw_scene,
    stream,
    training_labels,
)
from labelquality.scenes.review import DUPLICATES as DUPLICATE_COLUMNS
from labelquality.scenes.review import FALSE_NEGATIVES, ORIGINAL_ONLY, Row, review
from labelquality.scenes.shapes import CANT_SOLVE, CLASSES

Record = dict[str, Any]

REVIEWS = {
    "duplicates": ("duplicate_decisions", DUPLICATE_COLUMNS),
    "original_only": ("original_only_votes", ORIGINAL_ONLY),
    "false_negatives": ("false_negative_review", FALSE_NEGATIVES),
}
"""Field of a `Review`: the file that it is written to, and its columns."""
TRAIN = "train"
"""The one split that is written with its truth as annotations and without re-annotation."""


def write_scenes(folder: Path, *, split: str, n_images: int, seed: int) -> None:
    """Draw the first `n_images` scenes of a split and write them into `folder`.

    Image i depends on (seed, split, i) alone: two splits share no image, and more images only add
    to those there are. Image ids are 1-based, file names 0-based. Boxes are rounded to 4 decimals.

    =====================================  ======================================================
    images/scene_{split}_{index}.png       5 digits
    instances_{split}.json                 COCO instances, category ids from 1
    soft_scenes_{split}.json               re-annotation, released layout of paper 1
    soft_scenes_{split}_unbiased.json      the sample also voted on without a proposal
    truth_{split}.json                     true boxes, known probabilities, injected errors
    duplicate_decisions_{split}.csv        what people decided about overlapping re-annotated boxes
    original_only_votes_{split}.csv        and about original boxes that the re-annotation lacks
    false_negative_review_{split}.csv      the objects they saw, with their boxes
    =====================================  ======================================================

    Parameters
    ----------
    folder : Path
        Made if absent; files of the same name are replaced.
    split : str
        "train" gets the first two only, with the true boxes as annotations and the class of
        ambiguous objects drawn from the known probabilities; every other split gets all of them.
    n_images : int
    seed : int
        Non-negative.
    """
    (folder / "images").mkdir(parents=True, exist_ok=True)
    if split == TRAIN:
        _write_training(folder, n_images, seed)
    else:
        _write_evaluation(folder, split, n_images, seed)


def _write_training(folder: Path, n_images: int, seed: int) -> None:
    images: list[Record] = []
    annotations: list[Record] = []
    for index in range(n_images):
        scene, image = _drawn(folder, TRAIN, index, seed)
        images.append(image)
        labels = training_labels(scene, stream(TRAIN, index, seed, LABELS))
        crowd = np.zeros(len(labels), dtype=bool)
        annotations += _annotations(image["id"], scene.boxes, labels, crowd, len(annotations))
    _write_json(folder / f"instances_{TRAIN}.json", _instances(images, annotations))


def _write_evaluation(folder: Path, split: str, n_images: int, seed: int) -> None:
    images: list[Record] = []
    annotations: list[Record] = []
    objects: list[Record] = []
    errors: list[Record] = []
    released: dict[str, list[Record]] = {}
    unbiased: dict[str, list[Record]] = {}
    reviews: dict[str, list[Row]] = {name: [] for name in REVIEWS}
    for index in range(n_images):
        scene, image = _drawn(folder, split, index, seed)
        images.append(image)
        original = annotate(scene, stream(split, index, seed, ANNOTATION))
        errors += _errors(image["id"], original, len(objects), len(annotations))
        objects += _objects(image["id"], scene, len(objects))
        own = _annotations(
            image["id"], original.boxes, original.category, original.crowd, len(annotations)
        )
        annotations += own
        proposals, records = _reannotation(scene, original, split, index, seed)
        released[image["file_name"]] = records
        sample = [
            record | unbiased_keys(p.unbiased)
            for record, p in zip(records, proposals, strict=True)
            if p.unbiased is not None
        ]
        if sample:
            unbiased[image["file_name"]] = sample
        reviewed = review(
            Path(image["file_name"]).stem,
            scene,
            original,
            [str(record["id"]) for record in own],
            proposals,
            [record["mo_id"] for record in records],
            stream(split, index, seed, REVIEW),
        )
        for name in REVIEWS:
            reviews[name] += getattr(reviewed, name)
    _write_json(folder / f"instances_{split}.json", _instances(images, annotations))
    _write_json(folder / f"soft_scenes_{split}.json", _released(images, released))
    _write_json(folder / f"soft_scenes_{split}_unbiased.json", _released(images, unbiased))
    _write_json(folder / f"truth_{split}.json", _truth(images, objects, errors))
    for name, (file, columns) in REVIEWS.items():
        write_csv(pd.DataFrame(reviews[name], columns=columns), folder / f"{file}_{split}.csv")


def _reannotation(
    scene: Scene, original: Original, split: str, index: int, seed: int
) -> tuple[list[Proposal], list[Record]]:
    """Every proposal of a scene, duplicates last, and its record."""
    rng = stream(split, index, seed, VOTES)
    proposals = reannotate(scene, original.boxes, rng)
    records = [released_object(p, rng) for p in proposals]
    rng = stream(split, index, seed, DUPLICATES)
    duplicates = drawn_again(scene, proposals, rng)
    return [*proposals, *duplicates], records + [released_object(p, rng) for p in duplicates]


def _drawn(folder: Path, split: str, index: int, seed: int) -> tuple[Scene, Record]:
    """Draw one scene, save its image, and return it with its image record."""
    scene = draw_scene(split, index, seed)
    name = f"scene_{split}_{index:05d}.png"
    path = folder / "images" / name
    temporary = path.with_name(name + ".tmp")
    Image.fromarray(scene.image).save(temporary, format="PNG", compress_level=3)
    os.replace(temporary, path)
    return scene, {"id": index + 1, "file_name": name, "width": WIDTH, "height": HEIGHT}


def _annotations(
    image_id: int, boxes: np.ndarray, category: np.ndarray, crowd: np.ndarray, before: int
) -> list[Record]:
    """COCO annotations of one image; ids go on from the `before` earlier ones."""
    return [
        {
            "id": before + k + 1,
            "image_id": image_id,
            "category_id": int(category[k]) + 1,
            "bbox": _rounded(xyxy_to_xywh(box)),
            "area": round(float(areas(box)), 4),
            "iscrowd": int(crowd[k]),
        }
        for k, box in enumerate(boxes)
    ]


def _objects(image_id: int, scene: Scene, before: int) -> list[Record]:
    return [
        {
            "object_id": before + i + 1,
            "image_id": image_id,
            "bbox": _rounded(box),
            "category_id": int(scene.category[i]) + 1,
            "probabilities": _rounded_to_one(scene.probabilities[i]),
            "visible": round(float(scene.visible[i]), 4),
            "ambiguous": bool(scene.ambiguous[i]),
        }
        for i, box in enumerate(scene.boxes)
    ]


def _errors(
    image_id: int, original: Original, objects_before: int, annotations_before: int
) -> list[Record]:
    return [
        {
            "image_id": image_id,
            "kind": error.kind,
            "object_id": None if error.object is None else objects_before + error.object + 1,
            "annotation_id": (
                None if error.annotation is None else annotations_before + error.annotation + 1
            ),
            "in_region": error.in_region,
        }
        for error in original.errors
    ]


def _instances(images: list[Record], annotations: list[Record]) -> Record:
    return {
        "info": {"description": "Generated scenes of six shapes", "version": "1"},
        "licenses": [{"id": 1, "name": "MIT", "url": "https://spdx.org/licenses/MIT.html"}],
        "images": images,
        "annotations": annotations,
        "categories": [{"id": k + 1, "name": name} for k, name in enumerate(CLASSES)],
    }


def _released(images: list[Record], objects: dict[str, list[Record]]) -> Record:
    names = [*CLASSES, CANT_SOLVE]
    return {
        "dataset_name": "scenes",
        "description": (
            "Simulated re-annotation. The postprocessed vectors equal soft_label: they are not "
            "corrected for the proposal yet."
        ),
        "classes": names,
        "categories": [{"id": k, "name": name} for k, name in enumerate(names)],
        "images": images,
        "objects": objects,
    }


def _truth(images: list[Record], objects: list[Record], errors: list[Record]) -> Record:
    return {
        "description": (
            "What is true about the generated scenes: every object with the probability that a "
            "person gives each class (can't-solve last), and every error put into the original "
            "annotation. Boxes are x1 y1 x2 y2; category_id counts from 1, 'classes' from 0."
        ),
        "classes": [*CLASSES, CANT_SOLVE],
        "images": images,
        "objects": objects,
        "errors": errors,
    }


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(v), 4) for v in values]


def _rounded_to_one(probabilities: np.ndarray) -> list[float]:
    """Four decimals that still sum to 1; the largest entry takes what rounding left over."""
    tenthousandths = np.rint(probabilities * 10_000).astype(int)
    tenthousandths[tenthousandths.argmax()] += 10_000 - tenthousandths.sum()
    return [int(t) / 10_000 for t in tenthousandths]


def _write_json(path: Path, content: Record) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(orjson.dumps(content, option=orjson.OPT_SORT_KEYS) + b"\n")
    os.replace(temporary, path)
