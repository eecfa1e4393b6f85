"""Methods that propose label errors, and how well they find them (paper 1, section VI)."""

from __future__ import annotations

from labelquality.error_detection.registry import METHODS, Method, propose, reason_off

__all__ = ["METHODS", "Method", "propose", "reason_off"]
