"""A data set of two images in the official layouts, to be written out whole or spoilt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labelquality.tables import Table, make_table

CLASSES = ("car", "person sitting")
FILE_CLASSES = ["person_sitting", "cantsolve", "Car"]  # neither the order nor the spelling of ours


def dataset_spec(**changes: Any) -> dict[str, Any]:
    return {
        "name": "toy",
        "format": "coco",
        "classes": list(CLASSES),
        "split": "val",
        "files": {
            "images": "images",
            "annotations": "instances.json",
            "reannotation": "soft.json",
            "unbiased": "unbiased.json",
            "truth": "truth.json",
        },
    } | changes


def instances() -> dict[str, Any]:
    return {
        "info": {},
        "licenses": [],
        "images": [
            {"id": 7, "file_name": "b.jpg", "width": 100, "height": 50},
            {"id": 3, "file_name": "folder/a.png", "width": 40, "height": 40},
        ],
        "categories": [
            {"id": 1, "name": "Person_sitting", "supercategory": "person"},
            {"id": 90, "name": "car"},
        ],
        "annotations": [
            {"id": 0, "image_id": 7, "category_id": 90, "bbox": [10, 5, 20.5, 30], "iscrowd": 0},
            {"id": 5, "image_id": 3, "category_id": 1, "bbox": [0, 0, 40, 40], "iscrowd": 1},
            {"id": 6, "image_id": 7, "category_id": 1, "bbox": [50, 0, 10, 10]},
        ],
    }


def soft_labels() -> dict[str, Any]:
    return {
        "dataset_name": "toy",
        "classes": list(FILE_CLASSES),
        "objects": {
            "b": [
                {
                    "mo_id": "one",
                    "bbox": [10, 5, 30, 35],
                    "proposed_class": "Car",
                    "frequencies": {"person_sitting": 1, "cantsolve": 2, "Car": 7},
                    "soft_label": [0.1, 0.2, 0.7],
                    "postprocessed_soft_label": [0.2, 0.2, 0.6],
                    "annotation_info": {
                        "x": [{"vote": "Car", "time": 1.5}, {"vote": "Car", "time": 2}],
                        "y": [{"vote": "cantsolve", "time": 0.5}],
                    },
                },
                {
                    "mo_id": "two",
                    "bbox": [50, 0, 60, 10],
                    "proposed_class_1": "car",
                    "proposed_class_2": "personsitting",
                    "frequencies_1": {"Car": 11},
                    "frequencies_2": {"person_sitting": 20, "Car": 2},
                    "frequencies": {"person_sitting": 20, "cantsolve": 0, "Car": 13},
                    "soft_label": [20 / 33, 0.0, 13 / 33],
                    "postprocessed_soft_label": [0.5, 0.0, 0.5],
                    "annotation_info": {},
                },
            ],
            "a.png": [],
        },
    }


def unbiased() -> dict[str, Any]:
    data = soft_labels()
    first, second = data["objects"]["b"]
    first["unbiased_frequencies"] = {"person_sitting": 4, "cantsolve": 1, "Car": 6}
    first["unbiased_annotation_info"] = [
        {"x": {"vote": "Car", "time": 3.5}},
        {"x": {"vote": "Car", "time": 4.5}},
    ]
    data["objects"] = {"b.jpg": [first, second]}
    return data


def truth() -> dict[str, Any]:
    return {
        "description": "known",
        "classes": ["car", "person sitting", "cantsolve"],
        "images": [{"id": 7, "file_name": "b.jpg", "width": 100, "height": 50}],
        "objects": [
            {
                "object_id": 1,
                "image_id": 7,
                "bbox": [10, 5, 30, 35],
                "category_id": 1,
                "probabilities": [0.75, 0.25, 0.0],
            },
            {
                "object_id": 2,
                "image_id": 7,
                "bbox": [70, 20, 80, 40],
                "category_id": 2,
                "probabilities": [0.0, 0.9, 0.1],
            },
        ],
        "errors": [
            {"image_id": 7, "kind": "missing", "object_id": 2, "in_region": True},
            {"image_id": 7, "kind": "original_only", "annotation_id": 6, "in_region": False},
            {
                "image_id": 7,
                "kind": "classification",
                "object_id": 1,
                "annotation_id": 0,
                "in_region": False,
            },
        ],
    }


FILES = {
    "instances.json": instances,
    "soft.json": soft_labels,
    "unbiased.json": unbiased,
    "truth.json": truth,
}


def write_json(folder: Path, name: str, content: object) -> None:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def toy_images() -> Table:
    return make_table(
        "images",
        {
            "image_id": ["b", "a"],
            "file_name": ["b.jpg", "folder/a.png"],
            "width": [100, 40],
            "height": [50, 40],
            "split": "val",
        },
        CLASSES,
    )


def counts(intake: Any) -> dict[tuple[str, str, str], int]:
    """Intake without the file: (item, action, reason) -> count."""
    rows = intake[["item", "action", "reason", "count"]].itertuples(index=False)
    return {(item, action, reason): count for item, action, reason, count in rows}
