"""Training of the tiny demo detectors on the scenes (see workflow/resources/README.md)."""
