"""Images parted into folds, for whatever learns on some images and is applied to others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def assign_folds(n_images: int, folds: int, seed: int) -> NDArray[np.intp]:
    """Fold of each of `n_images` images, shape (n_images,): a seeded shuffle cut in equal parts."""
    fold = np.empty(n_images, dtype=np.intp)
    shuffled = np.random.default_rng(seed).permutation(n_images)
    for number, images in enumerate(np.array_split(shuffled, folds)):
        fold[images] = number
    return fold
