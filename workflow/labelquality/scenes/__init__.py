"""Generated images whose truth, label errors and human votes are known."""

from __future__ import annotations

from labelquality.scenes.render import Scene, draw_scene, training_labels
from labelquality.scenes.shapes import CANT_SOLVE, CLASSES
from labelquality.scenes.write import write_scenes

__all__ = ["CANT_SOLVE", "CLASSES", "Scene", "draw_scene", "training_labels", "write_scenes"]
