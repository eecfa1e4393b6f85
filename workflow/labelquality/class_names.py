"""Names of classes, as data sets and detectors spell them."""

from __future__ import annotations

from collections.abc import Sequence


def plain(name: str) -> str:
    """A class name in lower case, without spaces, underscores and hyphens, to be compared."""
    return name.lower().translate(str.maketrans("", "", " _-"))


def unknown(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Those of the `wanted` classes that are not among the `known` ones, whatever the spelling."""
    names = {plain(name) for name in known}
    return [name for name in wanted if plain(name) not in names]
