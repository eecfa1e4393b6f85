"""Frames as LaTeX and HTML: rounded, escaped, numbers to the right."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise

import pandas as pd
from pandas.api.types import is_bool, is_integer, is_numeric_dtype

from labelquality.report.columns import INTEGER, describe

MISSING = "–"
DIGITS = 3

_TEX = {
    "\\": r"\textbackslash{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "√": r"$\surd$",
    "–": "--",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}

_CSS = """\
:root { color-scheme: light; }
body { font: 14px/1.45 "DejaVu Sans", Verdana, "Segoe UI", sans-serif; color: #222;
  margin: 2em auto; padding: 0 1.5em; width: max-content; max-width: 100%;
  box-sizing: border-box; }
h1 { font-size: 1.25em; margin: 0 0 1em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93em; font-variant-numeric: tabular-nums;
  border-top: 2px solid #222; border-bottom: 2px solid #222; }
th, td { padding: .28em .75em; text-align: left; white-space: nowrap; }
th:first-child, td:first-child { padding-left: .2em; }
thead th { vertical-align: bottom; border-bottom: 1px solid #222; white-space: normal; }
thead small { display: block; color: #666; font-weight: normal; white-space: nowrap; }
.number { text-align: right; }
tr.group td { border-top: 1px solid #ccc; }
tbody tr:hover { background: #f3f6f9; }
.none { color: #666; font-style: italic; }
dl { margin: 1.6em 0 0; font-size: .86em; color: #444; max-width: 62em;
  display: grid; grid-template-columns: max-content 1fr; column-gap: 1.2em; row-gap: .15em; }
dt { font-weight: bold; }
dd { margin: 0; }
"""


def escape_tex(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_TEX.get(character, character) for character in text)


def format_cell(value: object, digits: int) -> str:
    """A number rounded to `digits` decimals, a count with thousands separators, text as it is.

    A missing value is an en dash; a number that rounds to zero has no sign.
    """
    if pd.isna(value):
        return MISSING
    if isinstance(value, str) or is_bool(value):
        return str(value)
    if is_integer(value):
        return f"{value:,}"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def _cells(frame: pd.DataFrame, digits: Mapping[str, int] | int) -> list[tuple[str, ...]]:
    def of(column: str) -> int:
        return digits if isinstance(digits, int) else digits.get(column, DIGITS)

    columns = [[format_cell(v, of(c)) for v in frame[c].array] for c in frame.columns]
    return list(zip(*columns, strict=True)) if len(frame) else []


def _numeric(frame: pd.DataFrame) -> list[bool]:
    """Columns set to the right: of numbers, or with a unit where no value says it."""
    return [
        bool(describe(c).unit) or (frame[c].notna().any() and is_numeric_dtype(frame[c]))
        for c in frame.columns
    ]


def _starts_group(frame: pd.DataFrame) -> list[bool]:
    """Rows before which a reader expects a gap: the leading text columns, less the last, change."""
    numeric = _numeric(frame)
    n_keys = numeric.index(True) if True in numeric else len(numeric)
    keys = list(zip(*(frame[c] for c in frame.columns[: max(n_keys - 1, 0)]), strict=True))
    changes = [a != b for a, b in pairwise(keys)]
    return [False, *changes] if changes else [False] * len(frame)


def to_tex(frame: pd.DataFrame, *, digits: Mapping[str, int] | int = DIGITS, title: str) -> str:
    """One booktabs tabular, with its title and what it needs in comments."""
    alignment = "".join("r" if number else "l" for number in _numeric(frame))
    header = " & ".join(escape_tex(describe(c).label) for c in frame.columns)
    lines = [
        f"% {' '.join(title.split())}",
        r"% needs \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        rf"{header} \\",
        r"\midrule",
    ]
    for cells, gap in zip(_cells(frame, digits), _starts_group(frame), strict=True):
        lines += [r"\addlinespace"] * gap
        lines.append(" & ".join(map(escape_tex, cells)) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def to_html(frame: pd.DataFrame, *, digits: Mapping[str, int] | int = DIGITS, title: str) -> str:
    """A page that needs nothing else: the table, units in its header, columns explained below."""
    numeric = _numeric(frame)
    body = [
        _row(cells, numeric, gap)
        for cells, gap in zip(_cells(frame, digits), _starts_group(frame), strict=True)
    ]
    if not body:
        body = [f'<tr><td class="none" colspan="{len(numeric)}">no rows</td></tr>']
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>\n<style>\n{_CSS}</style>\n</head>\n<body>",
            f'<h1>{escape(title)}</h1>\n<div class="wide"><table>\n<thead><tr>',
            *(_header(c, number) for c, number in zip(frame.columns, numeric, strict=True)),
            "</tr></thead>\n<tbody>",
            *body,
            "</tbody>\n</table></div>",
            *_explanations(frame),
            "</body>\n</html>\n",
        ]
    )


def _align(number: bool) -> str:
    return ' class="number"' if number else ""


def _header(name: str, number: bool) -> str:
    column = describe(name)
    unit = f"<small>{escape(column.unit)}</small>" if column.unit not in ("", INTEGER) else ""
    hint = f' title="{escape(column.explanation)}"' if column.explanation else ""
    return f'<th scope="col"{_align(number)}{hint}>{escape(column.label)}{unit}</th>'


def _row(cells: tuple[str, ...], numeric: list[bool], gap: bool) -> str:
    tds = [f"<td{_align(n)}>{escape(c)}</td>" for c, n in zip(cells, numeric, strict=True)]
    start = '<tr class="group">' if gap else "<tr>"
    return "".join([start, *tds, "</tr>"])


def _explanations(frame: pd.DataFrame) -> list[str]:
    described = [d for d in map(describe, frame.columns) if d.explanation]
    if not described:
        return []
    items = (f"<dt>{escape(d.label)}</dt><dd>{escape(d.explanation)}.</dd>" for d in described)
    return ["<dl>", *items, "</dl>"]
