from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from labelquality.errors import DataError
from labelquality.images import load_rgb

NOISE = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)


def test_pixels_come_back_as_height_width_rgb(tmp_path: Path) -> None:
    Image.fromarray(NOISE).save(tmp_path / "a.png")
    assert np.array_equal(load_rgb(tmp_path / "a.png"), NOISE)


def test_grey_and_transparent_images_become_rgb(tmp_path: Path) -> None:
    Image.fromarray(NOISE[..., 0]).save(tmp_path / "grey.png")
    Image.fromarray(NOISE).convert("RGBA").save(tmp_path / "alpha.png")
    assert np.array_equal(load_rgb(tmp_path / "grey.png"), np.stack([NOISE[..., 0]] * 3, axis=2))
    assert np.array_equal(load_rgb(tmp_path / "alpha.png"), NOISE)


def test_a_rotation_tag_does_not_turn_the_pixels(tmp_path: Path) -> None:
    tag = Image.Exif()
    tag[0x0112] = 6
    Image.fromarray(NOISE).save(tmp_path / "a.jpg", exif=tag)
    assert load_rgb(tmp_path / "a.jpg").shape == (40, 60, 3)


@pytest.mark.parametrize("suffix", ["jpg", "png"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 0.95])
def test_a_file_cut_short_is_an_error_that_names_it(
    tmp_path: Path, suffix: str, share: float
) -> None:
    path = tmp_path / f"cut.{suffix}"
    Image.fromarray(np.tile(NOISE, (5, 5, 1))).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(DataError, match=f"cut.{suffix}"):
        load_rgb(path)


def test_a_cut_file_fails_even_where_a_library_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("PIL.ImageFile.LOAD_TRUNCATED_IMAGES", True)
    path = tmp_path / "cut.jpg"
    Image.fromarray(np.tile(NOISE, (5, 5, 1))).save(path)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(DataError, match=r"cut\.jpg"):
        load_rgb(path)


def test_a_missing_file_and_a_text_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("not an image")
    with pytest.raises(DataError, match=r"gone\.png: image not found"):
        load_rgb(tmp_path / "gone.png")
    with pytest.raises(DataError, match=r"text\.png: not an image"):
        load_rgb(tmp_path / "text.png")


def test_sixteen_bits_are_refused_because_rgb_would_clip_them(tmp_path: Path) -> None:
    Image.fromarray(NOISE[..., 0].astype(np.uint16) * 257).save(tmp_path / "deep.png")
    with pytest.raises(DataError, match=r"deep\.png: has more than 8 bits"):
        load_rgb(tmp_path / "deep.png")
