from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelquality.errors import DataError
from labelquality.human_review.sheets import read_sheet


@pytest.fixture
def sheet(tmp_path: Path):
    def write(content: str | bytes) -> Path:
        path = tmp_path / "sheet.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_fields_are_text_without_blanks_and_blank_lines_are_none(sheet) -> None:
    read = read_sheet(sheet("\ufeffimage_id, box_id\r\n 001 ,NA\r\n,\r\n\r\n002,\r\n"), ["box_id"])
    assert read.frame.to_dict("list") == {"image_id": ["001", "002"], "box_id": ["NA", ""]}
    assert read.lines.tolist() == [2, 5]


def test_lines_are_counted_as_an_editor_does(sheet) -> None:
    read = read_sheet(sheet('a,b\n"two\nlines",1\nx,2\n'), ["a"])
    with pytest.raises(DataError, match=r"^sheet\.csv: line 4: b is 2; mend or remove the line$"):
        read.refuse(read.frame["b"] == "2", "b is {b}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"column a is missing, the first line has nothing"),
        ("b;a\n1;2\n", r"column a is missing, the first line has b;a; save it as CSV with commas"),
        ("a,b,a\n1,2,3\n", r"a column stands twice in a, b, a"),
        ("a,b\n1,2\n3\n", r"line 3: has 1 fields for 2 columns"),
        ("a,b\n1,2,3\n", r"line 2: has 3 fields for 2 columns"),
        ('a,b\n"1,2\n', r"not readable as CSV"),
        (b"a,b\n\xff,1\n", r"not readable as CSV .*save it as UTF-8"),
    ],
)
def test_a_broken_file_is_one_line(sheet, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        read_sheet(sheet(content), ["a"])
    assert "\n" not in str(raised.value)
    assert "sheet.csv" in str(raised.value)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.csv: no such file"):
        read_sheet(tmp_path / "absent.csv", ["a"])


def test_what_stands_twice_is_named_with_both_lines(sheet) -> None:
    read = read_sheet(sheet("a,b\n1,2\n1,3\n1,2\n"), ["a"])
    with pytest.raises(DataError, match=r"line 4: 1 of 2 stands in line 2, too"):
        read.unique(["a", "b"], "{a} of {b}")
    with pytest.raises(DataError, match=r"line 3: a \{1\} stands in line 2"):
        read.unique(["a"], "a {{{a}}}")


def test_choices_allow_an_empty_field(sheet) -> None:
    read = read_sheet(sheet("a,b\nyes,\nmaybe,no\n"), ["a"])
    read.choices("b", ["yes", "no"])
    with pytest.raises(DataError, match=r"line 3: a is maybe; write yes or no"):
        read.choices("a", ["yes", "no"])


@settings(max_examples=60, deadline=None)
@given(content=st.one_of(st.binary(max_size=40), st.text('a,b"\n\r; {}0', max_size=40)))
def test_any_file_is_a_sheet_or_one_clear_error(
    content: str | bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    raw = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(b"a,b\n" + raw)
    with suppress(DataError):
        read = read_sheet(path, ["a", "b"])
        assert len(read) == len(read.lines) <= raw.count(b"\n") + raw.count(b"\r") + 1
        assert (read.frame != "").any(axis=1).all()
