from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from labelquality.detectors.training.common import save_weights
from labelquality.detectors.weights import load_float32, tensor_digests, verify_digests
from labelquality.errors import DataError
from shipped_detectors import ROOT

torch = pytest.importorskip("torch")


def saved(folder: Path) -> Path:
    state = {"a": torch.tensor([[1.0, 0.1]]), "n": torch.tensor(3), "empty": torch.zeros(0)}
    save_weights(folder, state, {"seed": 1})
    return folder


def test_weights_come_back_in_half_precision_and_counters_as_they_are(tmp_path: Path) -> None:
    tensors = load_float32(saved(tmp_path))
    assert tensors["a"].dtype == np.float32
    assert tensors["a"].tolist() == [[1.0, float(np.float16(0.1))]]
    assert tensors["n"] == 3
    assert json.loads((tmp_path / "training.json").read_text()) == {"seed": 1}


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = saved(tmp_path / "1"), saved(tmp_path / "2")
    for name in ("model.safetensors", "digests.json", "training.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_a_changed_bit_is_found_and_the_tensor_named(tmp_path: Path) -> None:
    path = saved(tmp_path) / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[content.rfind(np.float16(0.1).tobytes())] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"1 of 3 tensors differ from digests\.json \(first: a\)"):
        load_float32(tmp_path)


def test_a_tensor_too_many_or_too_few_is_found(tmp_path: Path) -> None:
    digests = json.loads((saved(tmp_path) / "digests.json").read_text())
    for changed in ({**digests, "b": "0"}, {"a": digests["a"]}):
        (tmp_path / "digests.json").write_text(json.dumps(changed))
        with pytest.raises(DataError, match="tensors differ"):
            verify_digests(tmp_path)


def test_a_cut_or_missing_file_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DataError, match=r"model\.safetensors: not readable as safetensors"):
        verify_digests(tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"model\.safetensors: weights not found"):
        verify_digests(tmp_path)


def test_a_folder_without_digests_is_not_ours_to_check(tmp_path: Path) -> None:
    verify_digests(tmp_path)


def test_diverged_weights_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="tensor a: not finite in half precision"):
        save_weights(tmp_path, {"a": torch.tensor([1e6])}, {})


def test_digests_are_of_the_bytes() -> None:
    known = "df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119"
    assert tensor_digests({"x": np.zeros(4, np.uint8)}) == {"x": known}


@pytest.mark.parametrize("name", ["yolov8_scenes", "rtdetr_scenes", "cascade_rcnn_scenes"])
def test_shipped_weights_are_whole_small_and_say_how_they_were_made(name: str) -> None:
    folder = ROOT / "workflow" / "resources" / "detectors" / name
    verify_digests(folder)
    assert (folder / "digests.json").exists()
    assert (folder / "model.safetensors").stat().st_size < 4e6
    training = json.loads((folder / "training.json").read_text())
    assert {"seed", "steps", "images", "watch", "libraries"} <= set(training)
