"""The simulated review decides by what is true, about exactly the boxes that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from labelquality import label_errors
from labelquality.datasets import read_dataset, read_reannotation, read_truth
from labelquality.datasets.adapter import ClassNames
from labelquality.geometry import iou
from labelquality.human_review import duplicates, false_negatives, original_only
from labelquality.matching import same_image_pairs
from labelquality.scenes import write_scenes
from labelquality.tables import Table, image_codes

N = 60


@pytest.fixture(scope="module")
def spec(repository: Path) -> dict[str, Any]:
    return yaml.safe_load((repository / "config/datasets/scenes.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def root(spec: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, split=spec["split"], n_images=N, seed=5)
    return folder


class Scenes:
    """Everything about the scenes, read as a run reads it."""

    def __init__(self, spec: dict[str, Any], root: Path) -> None:
        self.files = {item: root / name for item, name in spec["files"].items()}
        self.names = ClassNames.of(spec)
        dataset = read_dataset(spec, root)
        self.images, self.original = dataset.images, dataset.annotations
        reannotation = read_reannotation(spec, root, self.images)
        self.objects = reannotation.released
        pairs = duplicates.candidate_pairs(self.objects)
        self.decided = duplicates.decide(pairs, self.files["duplicate_decisions"])
        self.merged = duplicates.merge(reannotation.votes, self.objects, self.decided)[1]
        self.truth = read_truth(spec, root, self.images).objects


@pytest.fixture(scope="module")
def scenes(spec: dict[str, Any], root: Path) -> Scenes:
    return Scenes(spec, root)


def true_object(boxes: Table, truth: Table) -> pd.Series:
    """Id of the true object that every box lies on (IoU of 0.65 or more), by box id."""
    ia, ib = same_image_pairs(*image_codes(boxes.frame["image_id"], truth.frame["image_id"]))
    close = iou(boxes.boxes[ia], truth.boxes[ib]) >= 0.65
    ids, objects = boxes.frame["box_id"].to_numpy(), truth.frame["box_id"].to_numpy()
    return pd.Series(objects[ib[close]], index=ids[ia[close]])


def test_every_duplicate_is_found_and_nothing_else(scenes: Scenes) -> None:
    found = scenes.decided[scenes.decided["decision"] == duplicates.DUPLICATE]
    assert 5 < len(found) < 0.06 * len(scenes.objects)
    on = true_object(scenes.objects, scenes.truth)
    assert (on[found["first_box_id"]].to_numpy() == on[found["second_box_id"]].to_numpy()).all()
    assert len(scenes.objects) - len(scenes.merged) == len(found)
    left = true_object(scenes.merged, scenes.truth)
    assert not left.duplicated().any()
    assert set(left) == set(on)


def test_pairs_are_reviewed_down_to_a_small_overlap(scenes: Scenes) -> None:
    reviewed = scenes.decided["decision"] != ""
    assert (scenes.decided["iou"][reviewed] >= 0.1).all()
    assert (scenes.decided["iou"][~reviewed] < 0.1).all()
    assert reviewed.any()
    assert (~reviewed).any()


def test_all_original_only_boxes_are_reviewed_and_objects_accepted(scenes: Scenes) -> None:
    errors = label_errors.build(scenes.original, scenes.merged, scenes.images)
    listed = original_only.original_only(errors)
    review = original_only.decide(listed, scenes.files["original_only_votes"], scenes.names)
    assert len(review) > 5
    assert (review["decision"] != "").all()
    accepted = review[review["decision"] == original_only.ACCEPTED]
    ids = set(true_object(scenes.original, scenes.truth).index)
    on_objects = set(listed["box_id"]) & ids
    assert on_objects <= set(accepted["box_id"])
    assert len(on_objects) < len(review)
    assert (accepted["vote_1"] != "").all()


def test_visible_objects_are_the_true_ones(scenes: Scenes) -> None:
    review = false_negatives.read_review(
        scenes.files["false_negative_review"],
        scenes.original,
        scenes.merged,
        scenes.images,
        scenes.names,
    )
    reviewed = review["image_id"].unique()
    assert 0.25 * N < len(reviewed) < 0.75 * N
    truth = scenes.truth.frame
    assert len(review) == truth["image_id"].isin(reviewed).sum()
    on = true_object(scenes.merged, scenes.truth)
    given = set(review["validated_box_id"]) - {""}
    in_images = scenes.merged.frame["image_id"].isin(reviewed)
    assert given == set(scenes.merged.frame["box_id"][in_images]) & set(on.index)
