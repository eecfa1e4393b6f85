"""Slow, literal versions of what the package computes fast, written from the definitions."""
