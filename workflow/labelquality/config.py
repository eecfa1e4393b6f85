"""The configuration: checked against its schemas before anything runs.

A run names data sets and detectors; each is a YAML file of its own. Unknown keys are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from labelquality.errors import DataError

SCHEMAS = ("config", "dataset", "detector")


def load_config(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The run's configuration with its data sets and detectors loaded in place.

    `config` is the merged content of the run's configuration files, `folder` holds `schemas/`,
    `datasets/` and `detectors/`. In the result, `datasets` and `detectors` map names to their
    checked settings, defaults filled in, and the classes that a detector knows (`known_classes`,
    None for any); `labels_only` lists the names of those data sets that no detector is run on.

    Raises DataError with one line per problem: file, key, and what is allowed.
    """
    schemas = {name: _read_yaml(folder / "schemas" / f"{name}.schema.yaml") for name in SCHEMAS}
    checked = _check(config, schemas["config"], "configuration")
    n_detected = len(checked["datasets"])
    checked["datasets"] = [*checked["datasets"], *checked["labels_only"]]
    for section in ("datasets", "detectors"):
        specs = [
            _load_part(name, folder / section, schemas[section[:-1]]) for name in checked[section]
        ]
        names = [spec["name"] for spec in specs]
        if len(set(names)) < len(names):
            raise DataError(f"configuration: {section}: a name occurs twice in {names}")
        checked[section] = dict(zip(names, specs, strict=True))
    for spec in checked["detectors"].values():
        spec["known_classes"] = _known_classes(spec, folder, schemas["dataset"])
    checked["labels_only"] = list(checked["datasets"])[n_detected:]
    return checked


def _known_classes(
    detector: Mapping[str, Any], folder: Path, schema: dict[str, Any]
) -> list[str] | None:
    if detector["classes_of"] is None:
        return None
    return list(_load_part(detector["classes_of"], folder / "datasets", schema)["classes"])


def _load_part(name: str, folder: Path, schema: dict[str, Any]) -> dict[str, Any]:
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml")))
        raise DataError(
            f"configuration: {folder.name}: {name}: there is no {path}; known are {known}"
        )
    spec = _check(_read_yaml(path), schema, str(path))
    if spec["name"] != path.stem:
        raise DataError(
            f"{path}: name: is {spec['name']!r}, must be the file's name, {path.stem!r}"
        )
    return spec


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise DataError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}: must hold keys and values, holds {type(content).__name__}")
    return content


def _check(content: Mapping[str, Any], schema: dict[str, Any], name: str) -> dict[str, Any]:
    filled = _with_defaults(content, schema)
    errors = sorted(
        jsonschema.Draft202012Validator(schema).iter_errors(filled),
        key=lambda e: [*map(str, e.path)],
    )
    if errors:
        raise DataError("\n".join(f"{name}: {_explain(error)}" for error in errors))
    return filled


def _explain(error: jsonschema.ValidationError) -> str:
    key = ".".join(map(str, error.path)) or "top level"
    if error.validator == "additionalProperties":
        known = sorted(error.schema["properties"])
        unknown = sorted(set(error.instance) - set(known))
        return f"{key}: unknown key {', '.join(unknown)}; allowed are {', '.join(known)}"
    if error.validator == "enum":
        return (
            f"{key}: {error.instance!r} is not one of {', '.join(map(str, error.validator_value))}"
        )
    return f"{key}: {error.message}"


def _with_defaults(content: Any, schema: Mapping[str, Any]) -> Any:
    """`content` with the schema's defaults for the keys it leaves out, at every level."""
    if not isinstance(content, Mapping):
        return content
    filled = dict(content)
    for key, part in schema.get("properties", {}).items():
        if key not in filled and "default" in part:
            filled[key] = part["default"]
        if key in filled:
            filled[key] = _with_defaults(filled[key], part)
    return filled
