"""What jobs load before they begin to work; there are hundreds of them in a run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

SLOW = ("cv2", "scipy.stats", "sklearn", "torch", "torchvision", "transformers", "ultralytics")


def imports_of(script: Path) -> str:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join(map(ast.unparse, imports))


def test_no_job_loads_at_its_start_what_is_slow_to_load(repository: Path) -> None:
    scripts = sorted((repository / "workflow" / "scripts").glob("*.py"))
    assert len(scripts) > 20
    code = "\n".join(["import sys", *map(imports_of, scripts)])
    found = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(*(set({SLOW}) & set(sys.modules)))"],
        env=os.environ | {"PYTHONPATH": str(repository / "workflow")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert found.stdout.split() == []
