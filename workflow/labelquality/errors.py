"""The one exception that people are meant to read."""


class DataError(ValueError):
    """Bad input. The message is one line: file, record, field, and what to do about it."""
