"""The one way images are read, for every detector and every figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageFile, UnidentifiedImageError

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
        with Image.open(path) as image:
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
