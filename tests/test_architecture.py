from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

# A module imports only from floors below its own; what a package holds may import its siblings.
FLOORS = [
    {"errors", "geometry", "distributions", "ordering", "table_schemas"}
    | {"code_digest", "file_digest", "intervals", "class_names"},
    {"tables", "config", "logs"},
    {"frames", "labels", "matching", "images"},
    {"datasets", "scenes", "detectors", "download"},
    {"evaluation", "calibration", "label_errors", "bias_correction", "truth"}
    | {"synthetic_errors"},
    {"error_detection", "agreement", "imagenet", "human_review"} | {"label_error_counts"},
    {"report"},
]
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}
HEAVY = {"torch", "torchvision", "ultralytics", "transformers", "cv2"}


def modules(repository: Path) -> list[Path]:
    return sorted((repository / "workflow" / "labelquality").rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def part(module: str) -> str:
    return module.split(".")[1] if module.count(".") else ""


def test_imports_go_down_the_floors(repository: Path) -> None:
    package = repository / "workflow" / "labelquality"
    wrong = []
    for path in modules(repository):
        own = path.relative_to(package).with_suffix("").parts[0]
        for name in imported(path):
            other = part(name) if name.startswith("labelquality.") else ""
            if own != "__init__" and other in FLOOR and other != own and FLOOR[other] >= FLOOR[own]:
                wrong.append(f"{path.relative_to(package)} imports {name}")
    assert wrong == []


def test_every_part_of_the_package_has_its_floor(repository: Path) -> None:
    package = repository / "workflow" / "labelquality"
    parts = {path.relative_to(package).with_suffix("").parts[0] for path in modules(repository)}
    assert parts - {"__init__"} <= set(FLOOR)


def test_heavy_libraries_are_imported_by_detectors_alone(repository: Path) -> None:
    for path in modules(repository):
        if "detectors" not in path.parts:
            assert not {name.split(".")[0] for name in imported(path)} & HEAVY, path


def test_the_package_does_not_know_the_engine(repository: Path) -> None:
    for path in modules(repository):
        assert not any(name.startswith("snakemake") for name in imported(path)), path


def test_importing_the_package_is_cheap() -> None:
    code = (
        "import sys, time; start = time.process_time(); import labelquality;"
        "print(time.process_time() - start); print(*sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[1] / "workflow")},
    )
    seconds, names = result.stdout.splitlines()
    assert float(seconds) < 0.5
    assert not HEAVY & set(names.split())


def test_scripts_are_thin(repository: Path) -> None:
    for path in sorted((repository / "workflow" / "scripts").glob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 30, f"{path.name} has {len(lines)} lines"


def test_every_script_has_its_rule_and_every_rule_its_script(repository: Path) -> None:
    rules = "".join(p.read_text(encoding="utf-8") for p in sorted(repository.glob("rules/*.smk")))
    named = set(re.findall(r"workflow/scripts/(\w+)\.py|script=\"(\w+)\"", rules))
    named = {name for pair in named for name in pair if name}
    assert named == {path.stem for path in (repository / "workflow" / "scripts").glob("*.py")}


def locked(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", "\n".join(lines), flags=re.MULTILINE))


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", ["analysis", "detectors"])
def test_conda_environments_agree_with_the_project_and_its_lock(
    repository: Path, name: str
) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    if name == "detectors":
        wanted += project["optional-dependencies"]["detectors"]
    environment = yaml.safe_load((repository / "envs" / f"{name}.yaml").read_text(encoding="utf-8"))
    pins = dict(pin.split("==") for pin in environment["dependencies"][-1]["pip"])
    assert set(pins) == {re.match(r"[\w.-]+", requirement)[0] for requirement in wanted}
    lock: dict[str, str] = {}
    for part_of_lock in ("analysis", "detectors", "ultralytics"):
        lock |= locked(repository / "envs" / f"{part_of_lock}.txt")
    assert {canonical(n): v for n, v in pins.items()}.items() <= lock.items()
