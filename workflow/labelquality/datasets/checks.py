"""Checks of the image files of a data set against its table of images."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from labelquality.datasets.adapter import Intake, listed
from labelquality.errors import DataError
from labelquality.images import load_rgb
from labelquality.tables import Table


def check_images(images: Table, folder: Path) -> pd.DataFrame:
    """Check that the files of all `images` in `folder` are whole and as large as the table says.

    Returns the note of it for the intake. Raises DataError, listing the first five, for files that
    are absent, corrupt or of another size.
    """
    wrong = []
    frame = images.frame
    for name, width, height in zip(
        frame["file_name"], frame["width"], frame["height"], strict=True
    ):
        problem = _problem(folder / name, width, height)
        if problem:
            wrong.append(f"{name} ({problem})")
    if wrong:
        raise DataError(
            f"{folder}: {len(wrong)} of {len(images)} images: {listed(wrong, 5)}; fetch them again"
        )
    intake = Intake(folder.name)
    intake.add("image", "checked", "whole and of the size stated", len(images))
    return intake.frame()


def _problem(path: Path, width: int, height: int) -> str:
    try:
        actual_height, actual_width = load_rgb(path).shape[:2]
    except DataError as error:
        return str(error).removeprefix(f"{path}: ").split(";")[0]
    if (actual_width, actual_height) != (width, height):
        return f"is {actual_width} x {actual_height}, should be {width} x {height}"
    return ""
