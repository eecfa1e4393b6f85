from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from labelquality.errors import DataError
from labelquality.logs import job_log


def test_what_a_job_prints_goes_to_its_log(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with job_log(tmp_path / "logs" / "job.log"):
        print("to stdout")
        print("to stderr", file=sys.stderr)
    assert (tmp_path / "logs" / "job.log").read_text() == "to stdout\nto stderr\n"
    assert capsys.readouterr().err == ""


def test_bad_data_is_one_line_in_the_log_and_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit) as raised, job_log(tmp_path / "job.log"):
        raise DataError("a.json: object 3: box is empty; remove it")
    line = "error: a.json: object 3: box is empty; remove it\n"
    assert raised.value.code == 1
    assert (tmp_path / "job.log").read_text() == line
    assert capsys.readouterr().err == line


def test_a_fault_of_ours_keeps_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), job_log(tmp_path / "job.log"):
        _ = 1 / 0
    assert "ZeroDivisionError" in (tmp_path / "job.log").read_text()


def test_a_full_disk_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as raised, job_log(tmp_path / "job.log"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    line = (
        f"error: {tmp_path}/job.log: cannot be written (No space left on device); free some space\n"
    )
    assert raised.value.code == 1
    assert (tmp_path / "job.log").read_text() == line
    assert capsys.readouterr().err == line


def test_a_log_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "logs").write_text("no folder")
    with pytest.raises(SystemExit) as raised, job_log(tmp_path / "logs" / "job.log"):
        pytest.fail("the block must not run")
    assert raised.value.code == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {tmp_path}/logs/job.log: cannot be written (")


def test_an_input_that_may_not_be_read_keeps_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), job_log(tmp_path / "job.log"):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "votes.json")
    assert "votes.json" in (tmp_path / "job.log").read_text()
