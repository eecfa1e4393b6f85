from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from label_error_tables import detected, originals
from labelquality.error_detection import METHODS, propose, reason_off
from labelquality.error_detection.false_positives import false_positives
from labelquality.errors import DataError
from labelquality.tables import Table, read_table, write_table

A, B = (0, 0, 10, 10), (20, 0, 30, 10)


@pytest.mark.parametrize(("height", "explained"), [(5, True), (4.999, False), (0.1, False)])
def test_an_object_explains_a_detection_from_iou_a_half_on(height: float, explained: bool) -> None:
    found = false_positives(detected([(0, 0, 10, height)]), originals([A]))
    assert found.tolist() == [not explained]


def test_only_objects_of_the_same_class_and_image_explain() -> None:
    annotations = originals([A, A, B], category=[0, 1, 2], image_id=["i", "i", "j"])
    detections = detected(
        [A, A, A, A, B, B], category=[0, 1, 2, 0, 2, 2], image_id=["i", "i", "i", "j", "i", "j"]
    )
    expected = [False, False, True, True, True, False]
    assert false_positives(detections, annotations).tolist() == expected


def test_one_object_explains_all_its_duplicates() -> None:
    assert false_positives(detected([A, A, (0, 0, 10, 8)]), originals([A])).sum() == 0


@pytest.mark.parametrize("area", [{"crowd": True, "region": "group"}, {"region": "dontcare"}])
def test_crowds_and_regions_explain_nothing(area: dict[str, Any]) -> None:
    assert false_positives(detected([A]), originals([A], **area)).tolist() == [True]


def test_boxes_of_no_known_class_explain_nothing() -> None:
    found = false_positives(detected([A, A], category=[-1, 2]), originals([A], category=-1))
    assert found.tolist() == [True, True]


def test_no_detections_and_no_annotations() -> None:
    assert false_positives(detected([]), originals([A])).shape == (0,)
    assert false_positives(detected([A]), originals([])).tolist() == [True]


def test_naive_and_score_propose_the_same_boxes(tmp_path: Path) -> None:
    detections = detected([A, B, (40, 0, 50, 10)], score=[0.9, 0.8, 0.3], category=[0, 1, 2])
    naive, score = (METHODS[name](detections, originals([A])) for name in ("naive", "score"))
    assert naive.boxes.tolist() == score.boxes.tolist() == detections.boxes[1:].tolist()
    assert score.frame["score"].tolist() == [0.8, 0.3]
    assert score.frame["category"].tolist() == [1, 2]
    assert naive.frame["score"].isna().all()
    assert naive.image_ids == detections.image_ids
    for name, table in (("naive", naive), ("score", score)):
        assert set(table.frame["method"]) == {name}
        write_table(table, tmp_path / name)
        assert len(read_table(tmp_path / name, "proposals")) == 2


@pytest.mark.parametrize("name", METHODS)
def test_every_method_answers_to_nothing(name: str, tmp_path: Path) -> None:
    candidates = made("candidates", detected([]))
    table = propose(name, detected([]), originals([]), candidates=candidates, seed=0)
    assert len(table) == 0
    write_table(table, tmp_path / "empty.parquet")


def made(kind: str, table: Table, **changes: Any) -> Table:
    return replace(table, kind=kind, vectors={}, meta={}, **changes)


def test_a_method_without_what_it_needs_is_switched_off_and_says_why(tmp_path: Path) -> None:
    detections = detected([A, B])
    of_no_image = made("candidates", detections.take(np.array([], int)), image_ids=())
    for candidates in (None, of_no_image):
        table = propose("metadetect", detections, originals([A]), candidates=candidates)
        assert len(table) == 0
        assert "boxes before suppression" in reason_off(table)
    write_table(table, tmp_path / "off.parquet")
    assert reason_off(read_table(tmp_path / "off.parquet", "proposals")) == reason_off(table)
    assert reason_off(propose("score", detections, originals([A]))) == ""


def test_a_method_gets_only_what_it_asks_for() -> None:
    given = propose("mistakenness", detected([A]), originals([A]), candidates=None, seed=3)
    assert len(given) == 1


def test_rules_keep_candidates_for_the_methods_that_need_them(repository: Path) -> None:
    asking = [m for m, f in METHODS.items() if "candidates" in inspect.signature(f).parameters]
    rules = (repository / "rules" / "common.smk").read_text("utf-8")
    [named] = re.findall(r"^NEED_CANDIDATES = (.*)$", rules, re.MULTILINE)
    assert ast.literal_eval(named) == asking


def test_the_configuration_knows_every_method(repository: Path) -> None:
    schema = yaml.safe_load((repository / "config/schemas/config.schema.yaml").read_text("utf-8"))
    methods = schema["properties"]["error_detection"]["properties"]["methods"]
    assert methods["items"]["enum"] == list(METHODS)
    guide = (repository / "config/README.md").read_text("utf-8")
    assert all(f"| `{name}` |" in guide for name in METHODS)


def test_the_method_in_the_guide_works(repository: Path) -> None:
    guide = (repository / "config/README.md").read_text("utf-8")
    [module] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {}
    exec(module, names)
    detections = detected([A, B], score=[0.5, 0.6], category=[0, 1])
    found = names["propose"](detections, originals([(50, 50, 60, 60)], category=1))
    assert found.frame["score"].tolist() == [0.5, 0.3]
    assert len(module.splitlines()) <= 20


def test_classes_must_agree() -> None:
    with pytest.raises(DataError, match="map them"):
        false_positives(detected([A], classes=("x", "b", "c")), originals([A]))
