"""The one way images are read, for every detector and every figure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, UnidentifiedImageError

# Bound now: ultralytics later replaces it by one that installs packages when a file is unreadable.
from PIL.Image import open as open_image

from labelquality.errors import DataError

# More than 8 bits a channel would be clipped, not scaled, by a conversion to RGB.
_DEEP_MODES = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")


def load_rgb(path: str | Path) -> np.ndarray:
    """Return the image as (h, w, 3) uint8 RGB, in the orientation of its stored pixels.

    An EXIF rotation tag is ignored, because annotations are made on stored pixels. The file is
    decoded to its end, so one cut short fails here instead of being read half grey.

    Raises
    ------
    DataError : missing, truncated or not an 8-bit image.
    """
    # Other libraries switch this on for the whole process.
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        with open_image(path) as image:
            image.load()
            if image.mode in _DEEP_MODES:
                raise DataError(
                    f"{path}: has more than 8 bits a channel (mode {image.mode}); convert it first"
                )
            return np.array(image.convert("RGB"), dtype=np.uint8)
    except FileNotFoundError:
        raise DataError(f"{path}: image not found; check the image folder") from None
    except UnidentifiedImageError:
        raise DataError(f"{path}: not an image that can be read; fetch it again") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: cannot be decoded ({error}); fetch it again") from error


def image_size(path: str | Path) -> tuple[int, int]:
    """Width and height of the stored pixels in an image file's header; nothing is decoded.

    Raises DataError for a missing file and for one that is no image.
    """
    try:
        with open_image(path) as image:
            return image.size
    except FileNotFoundError:
        raise DataError(f"{path}: image not found; check the image folder") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: not an image that can be read; fetch it again") from error


def in_shard(image_ids: Iterable[str], shard: int, n_shards: int) -> NDArray[np.bool_]:
    """Which images belong to `shard` of `n_shards`; shape (n,).

    An image's shard depends on its id alone, so that adding images moves none of the others.
    """
    codes = [zlib.crc32(str(image_id).encode()) % n_shards for image_id in image_ids]
    return np.array(codes, dtype=np.int64) == shard
