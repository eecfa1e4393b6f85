from __future__ import annotations

import numpy as np
import pytest

from labelquality.evaluation.similarity import similarities, similarities_to_background


@pytest.mark.parametrize("log_epsilon", [0.0, 1e-8])
def test_the_short_cut_to_background_is_the_general_rule(log_epsilon: float) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(5, 0.2), 200)
    p[0], p[1] = [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]
    p[2] = [1e-9, 0, 0, 0, 1 - 1e-9]
    background = np.array([0.0, 0, 0, 0, 1])
    general = similarities(p, background, log_epsilon=log_epsilon)
    short = similarities_to_background(p, log_epsilon=log_epsilon)
    np.testing.assert_allclose(short[:2], general[:2], atol=1e-12)
    # A rounding error of 1e-16 in a divergence near 0 is 1e-8 in its root.
    np.testing.assert_allclose(short[2], general[2], atol=3e-8)
