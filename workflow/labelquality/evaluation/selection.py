"""The images that an evaluation covers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.errors import DataError
from labelquality.tables import Table


def rows_of_images(table: Table, image_ids: Sequence[str]) -> tuple[Table, NDArray[np.intp]]:
    """The rows of `table` in the given images, and the position of each one's image in the list.

    Rows of other images are left out: the list says what is evaluated. Raises DataError when an
    image is listed twice, or when the table lists its images and lacks one of them, since an image
    that was never looked at is not an image without boxes.
    """
    index = pd.Index(image_ids, dtype=object)
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise DataError(f"{table.kind}: image {twice} is listed twice; list each image once")
    if table.image_ids is not None:
        absent = index[~index.isin(table.image_ids)]
        if len(absent):
            examples = ", ".join(map(str, absent[:5]))
            raise DataError(
                f"{table.kind}: {len(absent)} of {len(index)} images were not processed"
                f" ({examples}); run the stage on them or leave them out of the list"
            )
    position = index.get_indexer(pd.Index(table.frame["image_id"], dtype=object))
    inside = position >= 0
    if inside.all():
        return table, position.astype(np.intp)
    return table.take(inside), position[inside].astype(np.intp)
