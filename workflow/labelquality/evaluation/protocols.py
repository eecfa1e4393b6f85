"""What the soft evaluation leaves open, as named bundles of parameters (paper 1, V, C.1, C.4).

`defined` follows the paper's text, `released` the published evaluator; where the text is silent,
`defined` takes the published choice. The functions that read a protocol are the same for both.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

Matching = Literal["greedy", "single_candidate"]
CantSolve = Literal["drop", "keep"]
Ordering = Literal["entropy_descending", "entropy_ascending", "max_probability", "foreground"]
ORDERINGS: tuple[Ordering, ...] = (
    "entropy_descending",
    "entropy_ascending",
    "max_probability",
    "foreground",
)


@dataclass(frozen=True)
class Protocol:
    """One reading of the soft evaluation.

    name: recorded beside every number.
    matching: `greedy` lets a prediction whose object is taken try the next most similar one;
        `single_candidate` leaves it unmatched. Both go by descending raw score and ignore classes.
    ordering: along which the similarity-recall curve is walked. `entropy_descending` is the most
        uncertain prediction first, `max_probability` counts background as a class, `foreground` is
        the largest probability of a real class, first.
    images_without_predictions: `keep`, or `drop` them with their objects.
    cant_solve_objects: `drop` objects whose most likely class is can't-solve, or `keep` them.
    softmax_background: the background of a detector that gives a softmax over the classes alone:
        `zero`, or `product` as for independent probabilities.
    distances_over: `all` predictions, or those of the `last_of_chunk` image of every `chunk`
        images, in the order in which the images are listed.
    average_over_sizes: AS is the mean over small, medium and large (sizes without objects left
        out) instead of the value of all sizes together.
    without_objects: AS of a size range without objects.
    union_epsilon: added to the union, in square pixels.
    log_epsilon: added inside the logarithm of the entropy and of the Jensen-Shannon divergence.
    """

    name: str
    matching: Matching = "greedy"
    ordering: Ordering = "entropy_descending"
    images_without_predictions: Literal["keep", "drop"] = "keep"
    cant_solve_objects: CantSolve = "drop"
    softmax_background: Literal["zero", "product"] = "zero"
    distances_over: Literal["all", "last_of_chunk"] = "all"
    chunk: int = 128
    average_over_sizes: bool = True
    without_objects: float = np.nan
    union_epsilon: float = 0.0
    log_epsilon: float = 0.0

    @property
    def choices(self) -> dict[str, object]:
        """Every parameter but the name, to be recorded beside the numbers."""
        return {key: value for key, value in asdict(self).items() if key != "name"}


PROTOCOLS: dict[str, Protocol] = {
    # Section B.1 excludes can't-solve objects as not comparable; C.4 gives softmax detectors a
    # background of 0; section V averages AS over thresholds and object sizes.
    "defined": Protocol("defined"),
    # The released code adds 1e-8 to the union in float32, where it vanishes for every real box.
    "released": Protocol(
        "released",
        matching="single_candidate",
        images_without_predictions="drop",
        softmax_background="product",
        distances_over="last_of_chunk",
        average_over_sizes=False,
        without_objects=0.0,
        log_epsilon=1e-8,
    ),
}
