"""Shipped weights: fp16 safetensors with a digest per tensor."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from labelquality.errors import DataError

TENSORS = "model.safetensors"
DIGESTS = "digests.json"


def tensor_digests(tensors: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Return the SHA-256 of each tensor's bytes. Of tensors, not of files: those hold dates."""
    return {
        name: hashlib.sha256(np.ascontiguousarray(tensors[name]).tobytes()).hexdigest()
        for name in sorted(tensors)
    }


def verify_digests(folder: str | Path) -> None:
    """Check a weights folder against its digests.json; a folder without one is not checked.

    Raises
    ------
    DataError : a tensor differs, is missing or unlisted, or the file cannot be read.
    """
    folder = Path(folder)
    if not (folder / DIGESTS).exists():
        return
    expected = json.loads((folder / DIGESTS).read_text())
    found = tensor_digests(_read(folder / TENSORS))
    wrong = [n for n in sorted(expected.keys() | found) if expected.get(n) != found.get(n)]
    if wrong:
        raise DataError(
            f"{folder / TENSORS}: {len(wrong)} of {len(expected)} tensors differ from {DIGESTS} "
            f"(first: {wrong[0]}); restore the folder or train the weights again"
        )


def load_float32(folder: str | Path) -> dict[str, np.ndarray]:
    """Return the verified tensors of a weights folder, half precision widened to float32."""
    verify_digests(folder)
    return {
        name: tensor.astype(np.float32) if tensor.dtype == np.float16 else tensor
        for name, tensor in _read(Path(folder) / TENSORS).items()
    }


def _read(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except FileNotFoundError:
        raise DataError(f"{path}: weights not found; restore or train them") from None
    except SafetensorError as error:
        raise DataError(f"{path}: not readable as safetensors ({error})") from None
