"""Hard and soft evaluation of detectors."""
