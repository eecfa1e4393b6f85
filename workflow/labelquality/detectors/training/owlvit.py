"""Trains the tiny OWL-ViT of the scenes from random weights.

The library ships no loss for this family and initialises its heads for loading only; both are
made up for here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.training.common import (
    library_versions,
    load_split,
    save_weights,
    start,
    watch,
)

if TYPE_CHECKING:
    import torch
    from torch import nn

PATCH, TEXT_LENGTH = 8, 8
SPEC: dict[str, Any] = {
    "name": "owlvit_scenes",
    "family": "owlvit",
    "prompt": "{}",
    "input_size": None,
    "score_threshold": 0.001,
    "nms_iou": 0.5,
    "max_detections": 100,
}


def train(
    scenes_folder: str | Path,
    out_folder: str | Path,
    *,
    watch_folder: str | Path,
    seed: int = 0,
    steps: int = 1500,
    batch_size: int = 32,
    learning_rate: float = 1e-3,
    copies: int = 4,
) -> dict[str, float]:
    """Train on the split `train`, write the weights folder, return AP and AP50 on `watch`.

    copies : patches that learn each object; inference suppresses the surplus.
    """
    rng = start(seed)
    import torch

    from labelquality.detectors.owlvit import forward, load, query_embeddings, tokenize
    from labelquality.detectors.training.loop import fit
    from labelquality.detectors.training.set_loss import set_loss, targets

    split = load_split(scenes_folder, "train")
    side = split.images.shape[1]
    tokenizer = write_tokenizer(out_folder, split.classes)
    model = build(side, len(tokenizer), tokenizer.eos_token_id)
    normalise = write_processor(out_folder, side)
    ids, mask = tokenize(tokenizer, split.classes, TEXT_LENGTH, SPEC["name"])
    columns = torch.eye(len(split.classes))

    def loss_of(
        images: torch.Tensor, boxes: Sequence[np.ndarray], labels: Sequence[np.ndarray]
    ) -> torch.Tensor:
        logits, found = forward(model, normalise(images), query_embeddings(model, ids, mask))
        return set_loss(logits, found, targets(boxes, labels, side, columns), copies)

    fit(model, split, loss_of, rng, steps=steps, batch_size=batch_size, learning_rate=learning_rate)
    model.config.save_pretrained(out_folder)
    record = {
        "seed": seed,
        "steps": steps,
        "batch_size": batch_size,
        "images": len(split),
        "libraries": library_versions("torch", "transformers", "numpy"),
    }
    save_weights(out_folder, model.state_dict(), record)
    detector = load(SPEC | {"weights": str(out_folder)}, split.classes)
    reached = watch(detector, load_split(watch_folder, "watch"))
    save_weights(out_folder, model.state_dict(), record | {"watch": reached})
    return reached


def build(side: int, vocabulary: int, end_of_text: int) -> nn.Module:
    """A tiny OWL-ViT for square images of `side` pixels, randomly initialised."""
    from transformers import OwlViTConfig, OwlViTForObjectDetection

    text = {
        "vocab_size": vocabulary,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "max_position_embeddings": TEXT_LENGTH,
        "pad_token_id": 0,
        "bos_token_id": end_of_text - 1,
        "eos_token_id": end_of_text,
    }
    vision = {
        "hidden_size": 96,
        "intermediate_size": 288,
        "num_hidden_layers": 6,
        "num_attention_heads": 4,
        "image_size": side,
        "patch_size": PATCH,
    }
    config = OwlViTConfig(text_config=text, vision_config=vision, projection_dim=64)
    model = OwlViTForObjectDetection(config)
    initialise(model)
    return model


def initialise(model: Any) -> None:
    """Give the heads, positions and attention a start that training from scratch can use.

    - The library draws head weights with a standard deviation of 1: logits start at +-300.
    - Token embeddings of 0.02 leave all queries nearly parallel.
    - Positions start as 2-D sines and queries equal to keys, so that patches first look at similar
      and near ones (Trockman & Kolter 2023, mimetic initialisation).
    """
    import torch
    from torch import nn

    for head in (model.box_head, model.class_head):
        for layer in head.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
    nn.init.zeros_(model.box_head.dense2.weight)
    # (cosine + shift) * (elu(scale) + 1) starts near -4: most patches show background.
    nn.init.zeros_(model.class_head.logit_scale.weight)
    nn.init.zeros_(model.class_head.logit_shift.weight)
    nn.init.constant_(model.class_head.logit_scale.bias, 8.0)
    nn.init.constant_(model.class_head.logit_shift.bias, -0.45)
    nn.init.normal_(model.owlvit.text_model.embeddings.token_embedding.weight, std=0.2)
    vision = model.owlvit.vision_model
    width = vision.config.hidden_size
    side = vision.config.image_size // vision.config.patch_size
    with torch.no_grad():
        vision.embeddings.position_embedding.weight[1:] = 0.5 * _sines(side, width)
        for layer in vision.encoder.layers:
            attention = layer.self_attn
            nn.init.normal_(attention.k_proj.weight, std=0.8 * width**-0.5)
            attention.q_proj.weight.copy_(attention.k_proj.weight)


def _sines(side: int, width: int) -> torch.Tensor:
    """2-D sine and cosine position codes of a side x side grid, (side * side, width)."""
    import torch

    frequency = (side * 4.0) ** -torch.linspace(0, 1, width // 4) * 2.0
    place = torch.arange(side)[:, None] * frequency
    waves = torch.cat([place.sin(), place.cos()], dim=1)
    rows = waves[:, None].expand(side, side, -1)
    columns = waves[None, :].expand(side, side, -1)
    return torch.cat([rows, columns], dim=-1).reshape(side * side, -1)


def write_tokenizer(folder: str | Path, words: Sequence[str]) -> Any:
    """Write a CLIP tokenizer that has a token of its own for each word, and return it.

    The end token has the highest number, since the text model reads its output there.
    """
    from transformers import CLIPTokenizer

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces = [*letters, *(f"{letter}</w>" for letter in letters)]
    merges = []
    for word in words:
        built = word[0]
        for position, letter in enumerate(word[1:], start=2):
            right = f"{letter}</w>" if position == len(word) else letter
            if f"{built} {right}" not in merges:
                merges.append(f"{built} {right}")
                pieces.append(built + right)
            built += right
    pieces = list(dict.fromkeys(pieces))
    vocabulary = {p: i for i, p in enumerate(["!", *pieces, "<|startoftext|>", "<|endoftext|>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]))
    tokenizer = CLIPTokenizer.from_pretrained(folder, pad_token="!", model_max_length=TEXT_LENGTH)
    tokenizer.save_pretrained(folder)
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    return tokenizer


def write_processor(folder: str | Path, side: int) -> Any:
    """Write the image processor's settings; return its normalisation of images in 0-1."""
    import torch
    from transformers.models.owlvit.image_processing_pil_owlvit import OwlViTImageProcessorPil

    processor = OwlViTImageProcessorPil(
        size={"height": side, "width": side}, crop_size={"height": side, "width": side}
    )
    processor.save_pretrained(folder)
    mean = torch.tensor(processor.image_mean)[:, None, None]
    std = torch.tensor(processor.image_std)[:, None, None]
    return lambda images: (images - mean) / std
