from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from labelquality.scenes import CANT_SOLVE, CLASSES, draw_scene, write_scenes

N = 30


@pytest.fixture(scope="module")
def val(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("val")
    write_scenes(folder, split="val", n_images=N, seed=3)
    return folder


def _read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_writes_exactly_the_promised_files(val: Path) -> None:
    names = {p.name for p in val.iterdir()}
    assert names == {
        "images",
        "instances_val.json",
        "soft_scenes_val.json",
        "soft_scenes_val_unbiased.json",
        "truth_val.json",
        "duplicate_decisions_val.csv",
        "original_only_votes_val.csv",
        "false_negative_review_val.csv",
    }
    images = sorted(p.name for p in (val / "images").iterdir())
    assert images == [f"scene_val_{i:05d}.png" for i in range(N)]


def test_another_process_with_another_hash_seed_writes_the_same_bytes(
    val: Path, tmp_path: Path, repository: Path
) -> None:
    call = (
        "import sys; from pathlib import Path; from labelquality.scenes import write_scenes;"
        f"write_scenes(Path(sys.argv[1]), split='val', n_images={N}, seed=3)"
    )
    path = str(repository / "workflow")
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", call, str(tmp_path)], check=True, env=environment)
    assert _digests(tmp_path) == _digests(val)


def test_an_image_does_not_depend_on_how_many_there_are(val: Path, tmp_path: Path) -> None:
    write_scenes(tmp_path, split="val", n_images=12, seed=3)
    few, many = _digests(tmp_path / "images"), _digests(val / "images")
    assert few == {name: many[name] for name in few}
    for name in ("instances_val.json", "truth_val.json"):
        few_file, many_file = _read(tmp_path / name), _read(val / name)
        for key in few_file.keys() & {"annotations", "objects", "errors"}:
            assert few_file[key] == [r for r in many_file[key] if r["image_id"] <= 12]
    few_soft, many_soft = (_read(f / "soft_scenes_val.json")["objects"] for f in (tmp_path, val))
    assert few_soft == {name: many_soft[name] for name in few_soft}
    for name in ("duplicate_decisions", "original_only_votes", "false_negative_review"):
        few_lines, many_lines = (
            (folder / f"{name}_val.csv").read_text(encoding="utf-8") for folder in (tmp_path, val)
        )
        assert many_lines.startswith(few_lines)
        assert few_lines.count("\n") > 3


def test_splits_share_no_image(val: Path, tmp_path: Path) -> None:
    write_scenes(tmp_path, split="train", n_images=N, seed=3)
    train, other = _digests(tmp_path / "images"), _digests(val / "images")
    assert len({*train.values(), *other.values()}) == 2 * N


def test_images_on_disk_are_the_drawn_ones(val: Path) -> None:
    pixels = np.asarray(Image.open(val / "images" / "scene_val_00005.png"))
    assert (pixels == draw_scene("val", 5, 3).image).all()


def test_instances_open_in_pycocotools(val: Path) -> None:
    from pycocotools.coco import COCO

    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO(str(val / "instances_val.json"))
    assert [c["name"] for c in coco.loadCats(coco.getCatIds())] == list(CLASSES)
    assert sorted(coco.getImgIds()) == list(range(1, N + 1))
    for annotation in coco.loadAnns(coco.getAnnIds()):
        x, y, width, height = annotation["bbox"]
        assert min(width, height) > 0
        assert 0 <= x <= x + width <= 128 + 1e-9
        assert 0 <= y <= y + height <= 128 + 1e-9
        assert annotation["area"] == pytest.approx(width * height, abs=1e-3)


def test_training_split_is_annotated_with_the_truth(tmp_path: Path) -> None:
    write_scenes(tmp_path, split="train", n_images=6, seed=3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["images", "instances_train.json"]
    annotations = _read(tmp_path / "instances_train.json")["annotations"]
    assert not any(a["iscrowd"] for a in annotations)
    for index in range(6):
        scene = draw_scene("train", index, 3)
        mine = [a for a in annotations if a["image_id"] == index + 1]
        boxes = np.array([a["bbox"] for a in mine])
        boxes[:, 2:] += boxes[:, :2]
        np.testing.assert_allclose(boxes, scene.boxes)
        labels = np.array([a["category_id"] for a in mine]) - 1
        assert (labels == scene.category)[~scene.ambiguous].all()


def test_truth_sums_to_1_and_its_errors_point_at_what_exists(val: Path) -> None:
    truth = _read(val / "truth_val.json")
    annotations = {a["id"]: a for a in _read(val / "instances_val.json")["annotations"]}
    objects = {o["object_id"]: o for o in truth["objects"]}
    assert truth["classes"] == [*CLASSES, CANT_SOLVE]
    for o in objects.values():
        assert sum(o["probabilities"]) == pytest.approx(1.0, abs=1e-9)
        assert int(np.argmax(o["probabilities"][:-1])) + 1 == o["category_id"]
    assert {e["kind"] for e in truth["errors"]} == {
        "missing",
        "misaligned",
        "classification",
        "original_only",
    }
    for e in truth["errors"]:
        assert (e["object_id"] is None) == (e["kind"] == "original_only")
        assert (e["annotation_id"] is None) == (e["kind"] == "missing")
        if e["object_id"] is not None:
            assert objects[e["object_id"]]["image_id"] == e["image_id"]
        if e["annotation_id"] is not None:
            assert annotations[e["annotation_id"]]["image_id"] == e["image_id"]


def test_released_files_have_the_released_layout(val: Path) -> None:
    soft = _read(val / "soft_scenes_val.json")
    sample = _read(val / "soft_scenes_val_unbiased.json")
    names = [*CLASSES, CANT_SOLVE]
    for file in (soft, sample):
        assert file["classes"] == names
        assert file["categories"] == [{"id": k, "name": name} for k, name in enumerate(names)]
        assert len(file["images"]) == N
        assert set(file["objects"]) <= {image["file_name"] for image in file["images"]}
    by_id = {o["mo_id"]: o for objects in soft["objects"].values() for o in objects}
    assert len(by_id) == sum(map(len, soft["objects"].values()))
    for o in by_id.values():
        assert sum(o["frequencies"].values()) % 11 == 0
        assert sum(o["soft_label"]) == pytest.approx(1.0, abs=1e-12)
    for objects in sample["objects"].values():
        for o in objects:
            extra = {k for k in o if k.startswith("unbiased_")}
            assert len(extra) == 3
            assert {k: v for k, v in o.items() if k not in extra} == by_id[o["mo_id"]]
