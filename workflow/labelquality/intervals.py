"""Intervals of shares that were counted."""

from __future__ import annotations


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of `successes` out of `trials` independent ones, within [0, 1].

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927; the
    interval of paper 1's error rates (Tables 3, 6, 20, 31). NaN at both ends without trials.

    Raises ValueError unless 0 <= successes <= trials.
    """
    if trials == 0 == successes:
        return float("nan"), float("nan")
    # Here, since every table's job would take twice as long to start.
    from scipy.stats import binomtest

    interval = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def share(successes: int, trials: int) -> dict[str, float]:
    """A share with its 95 % Wilson interval: `rate`, `low`, `high`; NaN without trials."""
    low, high = wilson(successes, trials)
    rate = successes / trials if trials else float("nan")
    return {"rate": rate, "low": low, "high": high}
