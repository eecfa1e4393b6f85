"""Profiles for clusters, as far as they can be judged without one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

cli = pytest.importorskip("snakemake.cli")
pytestmark = pytest.mark.workflow
CLUSTERS = ("slurm", "kubernetes")
IMAGE = "registry.example.org/labelquality:0.1.0"


def profile(repository: Path, name: str) -> dict:
    path = repository / "profiles" / name / "config.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["default", *CLUSTERS])
def test_every_setting_is_an_option_of_the_engine(repository: Path, name: str) -> None:
    parser = cli.get_argument_parser()
    options = {option for action in parser._actions for option in action.option_strings}
    settings = {key for key in profile(repository, name) if not key.startswith(f"{name}-")}
    assert {f"--{key}" for key in settings} <= options


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_tries_again_and_goes_on(repository: Path, name: str) -> None:
    settings = profile(repository, name)
    assert settings["retries"] > 0
    assert settings["keep-going"]
    assert settings["latency-wait"] >= 60
    assert not set(settings) & set(profile(repository, "default"))


@pytest.mark.parametrize("configuration", ["config.yaml", "papers.yaml"])
def test_groups_are_of_rules_that_exist_and_wait_for_nothing_outside(
    repository: Path, clone: Path, engine, configuration: str
) -> None:
    settings = profile(repository, "slurm")
    grouped = {assignment.split("=")[0] for assignment in settings["groups"]}
    listed = engine(clone, "--list-rules", "--quiet", "all").stdout.splitlines()
    assert grouped <= {line.split()[0] for line in listed if line}
    options = [
        part for key in ("groups", "group-components") for part in (f"--{key}", *settings[key])
    ]
    run = engine(clone, "--dry-run", "--configfile", f"config/{configuration}", *options)
    assert run.returncode == 0, run.stdout[-3000:]


def test_the_pod_has_what_its_jobs_may_take_together(repository: Path, clone: Path, engine) -> None:
    path = repository / "profiles" / "kubernetes" / "job.yaml"
    pod = yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]["template"]["spec"]
    [container] = pod["containers"]
    settings = profile(repository, "kubernetes")
    resources = dict(part.split("=") for part in settings["resources"])
    limits = container["resources"]["limits"]
    assert limits["memory"] == f"{resources['mem_mb']}M"
    assert str(limits["nvidia.com/gpu"]) == resources["gpu"]
    assert container["resources"]["requests"]["cpu"] == str(settings["cores"])
    assert container["image"] == IMAGE

    command = container["command"][-1].split("exec snakemake ")[1].split()
    run = engine(clone, *command, "--dry-run")
    assert run.returncode == 0, run.stdout[-3000:]


def test_the_image_is_made_of_files_that_are_there(repository: Path) -> None:
    text = (repository / "envs" / "Containerfile").read_text(encoding="utf-8")
    assert IMAGE in text
    [copied] = re.findall(r"^COPY (.+) /envs/$", text, re.MULTILINE)
    installed = re.findall(r"-r /(envs/\w+\.txt)", text)
    assert sorted(installed) == sorted(copied.split())
    assert all((repository / path).is_file() for path in installed)
