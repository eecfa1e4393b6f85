"""The generated data set goes through the same adapters as real ones, and comes out as meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

from dataset_files import counts
from labelquality import geometry
from labelquality.bias_correction import correct
from labelquality.datasets import check_images, read_dataset, read_reannotation, read_truth
from labelquality.scenes import write_scenes
from labelquality.tables import read_table, write_table


@pytest.fixture(scope="module")
def spec(repository: Path) -> dict[str, Any]:
    return yaml.safe_load((repository / "config/datasets/scenes.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def root(spec: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, split=spec["split"], n_images=25, seed=spec["generate"]["seed"])
    return folder


def test_every_file_is_read_without_a_repair(spec: dict[str, Any], root: Path) -> None:
    dataset = read_dataset(spec, root)
    check_images(dataset.images, root / spec["files"]["images"])
    for intake in (
        dataset.intake,
        read_reannotation(spec, root, dataset.images).intake,
        read_reannotation(spec, root, dataset.images, which="unbiased").intake,
    ):
        changed = [note for note in counts(intake) if note[1] not in ("read", "kept")]
        assert changed == [("object", "dropped", "has no votes without proposal")] * len(changed)


def test_tables_survive_the_disk(spec: dict[str, Any], root: Path, tmp_path: Path) -> None:
    dataset = read_dataset(spec, root)
    votes = read_reannotation(spec, root, dataset.images)
    truth = read_truth(spec, root, dataset.images)
    for table in (
        dataset.images,
        dataset.annotations,
        votes.votes,
        votes.released,
        truth.objects,
        truth.injected,
    ):
        write_table(table, tmp_path / "table.parquet")
        assert len(read_table(tmp_path / "table.parquet", table.kind)) == len(table)


def test_injected_errors_keep_their_promises(spec: dict[str, Any], root: Path) -> None:
    images = read_dataset(spec, root).images
    injected = read_truth(spec, root, images).injected.frame
    overlap = injected.groupby("kind")["max_iou"]
    assert overlap.max()["missing"] <= 0.1
    assert overlap.max()["original_only"] <= 0.05
    assert 0.1 < overlap.min()["misaligned"] <= overlap.max()["misaligned"] < 0.5
    assert overlap.min()["classification"] >= 0.8


def test_correction_brings_soft_labels_closer_to_the_truth(
    spec: dict[str, Any], root: Path
) -> None:
    """Downweighting takes out part of the proposal bias that the scenes put in."""
    images = read_dataset(spec, root).images
    result = read_reannotation(spec, root, images)
    objects = read_truth(spec, root, images).objects
    labels = correct(result.votes, result.released, method="downweight", factor=0.8)
    same_image = (
        labels.frame["image_id"].to_numpy()[:, None] == objects.frame["image_id"].to_numpy()
    )
    overlap = np.where(same_image, geometry.pairwise_iou(labels.boxes, objects.boxes), 0)
    found = overlap.max(axis=1) > 0.75
    known = objects.vectors["corrected"][overlap.argmax(axis=1)[found]]
    proposed = labels.frame["proposed"].to_numpy()[found]
    rows = np.flatnonzero(proposed >= 0)

    def excess(name: str) -> float:
        vectors = labels.vectors[name][found]
        return float(np.mean((vectors - known)[rows, proposed[rows]]))

    assert excess("soft_label") > 0, "annotators lean towards the proposal"
    assert abs(excess("corrected")) < excess("soft_label")


@pytest.fixture(scope="module")
def schema(repository: Path) -> dict[str, Any]:
    path = repository / "config/schemas/dataset.schema.yaml"
    return yaml.safe_load(path.read_text("utf-8"))


def test_shipped_data_sets_follow_the_schema(schema: dict[str, Any], repository: Path) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    files = sorted((repository / "config/datasets").glob("*.yaml"))
    assert files
    for path in files:
        described = yaml.safe_load(path.read_text("utf-8"))
        validator.validate(described)
        assert described["name"] == path.stem


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "red"},
        {"classes": []},
        {"classes": ["a", "a"]},
        {"format": "xml"},
        {"files": {"images": "images"}},
        {"files": {"images": "images", "annotations": "a.json", "votes": "v.json"}},
        {"generate": {"split": "val", "images": 0, "seed": 1}},
        {"repairs": {"empty_boxes": "swap"}},
        {"bias_correction": {"method": "cleverlabel"}},
        {"bias_correction": {"method": "cleverlabel", "delta": 0.99}},
        {"bias_correction": {"method": "cleverlabel", "delta": 0.1, "mu": 0.5}},
        {"bias_correction": {"method": "downweight"}},
        {"bias_correction": {"method": "downweight", "factor": 0}},
        {"bias_correction": {"method": "identity", "delta": 0.1}},
        {"size_limits": [256]},
    ],
)
def test_the_schema_refuses(
    change: dict[str, Any], schema: dict[str, Any], spec: dict[str, Any]
) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(spec)
    assert list(validator.iter_errors(spec | change))


def test_the_schema_is_a_schema_that_explains_every_key(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)

    def unexplained(part: dict[str, Any], path: str) -> list[str]:
        missing = []
        for name, value in part.get("properties", {}).items():
            missing += [] if "description" in value else [f"{path}/{name}"]
            missing += unexplained(value, f"{path}/{name}")
        if part.get("type") == "object" and "additionalProperties" not in part:
            missing.append(path)
        return missing

    assert unexplained(schema, "") == []
