"""A digest of the code behind a stage, so that a changed formula reruns exactly its users.

The workflow engine sees that a script changed but not the modules it imports. The digest covers a
script and every module of the package that it imports, directly or not, read from the source: what
counts is the syntax tree without docstrings, so that comments and layout change nothing.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


@cache
def _tree(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in (tree, *_statements(tree)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return tree


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below `node`. There are far fewer than nodes, which counts at every start."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, part, ()):
            yield statement
            yield from _statements(statement)


def _file_of(module: str) -> Path | None:
    parts = module.split(".")
    if parts[0] != PACKAGE.name:
        return None
    base = PACKAGE.joinpath(*parts[1:])
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    names: list[str] = []
    for node in _statements(_tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    prefixes = {".".join(n.split(".")[: i + 1]) for n in names for i in range(n.count(".") + 1)}
    return tuple(sorted({file for name in prefixes if (file := _file_of(name))}))


def closure(*roots: Path) -> list[Path]:
    """The files `roots` and all files of the package that they import, sorted."""
    found: set[Path] = set()
    waiting = [root.resolve() for root in roots]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path)
    return sorted(found)


@cache
def digest(*roots: str | Path) -> str:
    """Hexadecimal digest (16 characters) of `roots` and their closure.

    A root is the path of a script or the dotted name of a module of the package. The place of the
    repository does not enter. Raises FileNotFoundError for a root that does not exist.
    """
    paths = []
    for root in roots:
        path = root if isinstance(root, Path) else _file_of(root)
        if path is None or not path.is_file():
            raise FileNotFoundError(f"no code found for {root}")
        paths.append(path)
    total = hashlib.sha256()
    for path in closure(*paths):
        total.update(path.relative_to(PACKAGE.parent).as_posix().encode())
        total.update(_dump(path).encode())
    return total.hexdigest()[:16]


@cache
def _dump(path: Path) -> str:
    return ast.dump(_tree(path))
