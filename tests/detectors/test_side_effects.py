from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shipped_detectors import ROOT

WATCHED = """
import os
import sys

def hook(event, arguments):
    # ctypes asks these where a library of the system is.
    local = event == "subprocess.Popen" and os.path.basename(str(arguments[0])) in LINKERS
    if event in EVENTS and not local:
        tried.append((event, str(arguments)))

EVENTS = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system")
LINKERS = ("ldconfig", "gcc", "cc", "ld", "objdump")

tried = []
sys.addaudithook(hook)
sys.path[:0] = [{workflow!r}, {tests!r}]
from labelquality.detectors import load_detector
from shipped_detectors import CLASSES, shipped
import numpy as np
for name in ("yolov8_scenes", "rtdetr_scenes", "cascade_rcnn_scenes"):
    detector = load_detector(shipped(name), CLASSES)
    detector.detect([np.zeros((128, 128, 3), np.uint8)])
import torch
print(torch.get_num_threads(), tried)
"""


def test_detectors_look_nothing_up_and_leave_nothing_behind(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code = WATCHED.format(workflow=str(ROOT / "workflow"), tests=str(ROOT / "tests"))
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    home.mkdir()
    scratch.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("YOLO", "HF", "TRANS"))}
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | {"HOME": str(home), "TMPDIR": str(scratch), "MPLCONFIGDIR": str(home)},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert result.stdout.splitlines()[-1] == "1 []"
    assert not any(scratch.glob("labelquality-*"))
    left = [p.relative_to(home) for p in home.rglob("*") if p.is_file()]
    assert not [p for p in left if "fontlist" not in p.name]
