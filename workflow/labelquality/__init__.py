"""How good are the labels of an object-detection benchmark?

The package holds the science: pure functions on tables and arrays. It knows nothing of the
workflow engine that calls it; see `rules/` for how the stages hang together.
"""

__version__ = "0.1.0"
