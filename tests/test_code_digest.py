from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labelquality import code_digest


def in_copy(copy: Path, *roots: str) -> str:
    """Digest as computed by a fresh process that runs a copy of the package."""
    code = (
        "import sys; from pathlib import Path; from labelquality.code_digest import digest;"
        "print(digest(*[Path(r) if '/' in r else r for r in sys.argv[1:]]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *roots],
        env={"PYTHONPATH": str(copy)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def copy(repository: Path, tmp_path: Path) -> Path:
    ignore = shutil.ignore_patterns("resources", "__pycache__")
    return Path(shutil.copytree(repository / "workflow", tmp_path / "workflow", ignore=ignore))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_changed_formula_changes_its_users_alone(copy: Path) -> None:
    users, others = "labelquality.label_errors", "labelquality.logs"
    before = in_copy(copy, users), in_copy(copy, others)
    edit(copy / "labelquality" / "geometry.py", "denominator > 0", "denominator > 1")
    after = in_copy(copy, users), in_copy(copy, others)
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_comments_docstrings_and_layout_change_nothing(copy: Path) -> None:
    before = in_copy(copy, "labelquality.geometry")
    path = copy / "labelquality" / "geometry.py"
    edit(path, '"""Boxes and their overlaps.', '"""Overlaps of boxes.')
    path.write_text(path.read_text(encoding="utf-8") + "\n\n# a remark\n", encoding="utf-8")
    assert in_copy(copy, "labelquality.geometry") == before


def test_the_place_of_the_repository_does_not_enter(copy: Path, repository: Path) -> None:
    script = "scripts/build_legt.py"
    here = in_copy(repository / "workflow", str(repository / "workflow" / script))
    assert in_copy(copy, str(copy / script)) == here


def test_a_script_brings_in_what_its_imports_import(repository: Path) -> None:
    script = repository / "workflow" / "scripts" / "build_legt.py"
    names = {path.name for path in code_digest.closure(script)}
    assert {"build_legt.py", "label_errors.py", "geometry.py", "matching.py"} <= names
    assert "calibration.py" not in names


def test_unknown_roots_are_refused() -> None:
    with pytest.raises(FileNotFoundError, match=r"labelquality\.nothing"):
        code_digest.digest("labelquality.nothing")
