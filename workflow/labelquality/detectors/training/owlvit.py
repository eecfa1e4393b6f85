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

from labelquality.detectors.owlvit import OwlViT, forward, query_embeddings, tokenize
from labelquality.detectors.training import common

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

STEPS = 1500
BATCH = 16
LEARNING_RATE = 1e-3
COPIES = 4
SPEC: dict[str, Any] = {
    "name": "owlvit_scenes",
    "prompt": "{}",
    "input_size": 128,
    "score_threshold": 0.001,
    "nms_iou": 0.5,
    "max_detections": 100,
}
_PATCH, _TEXT_LENGTH = 8, 8


def train(
    scenes_folder: str | Path,
    out_folder: str | Path,
    *,
    seed: int,
    steps: int = STEPS,
    batch_size: int = BATCH,
) -> dict[str, float]:
    """Train on the scenes' train split, write the weights folder, return AP and AP50 on `watch`.

    One process, one thread. Prints the loss and, ten times, the AP on the way. Each object teaches
    `COPIES` patches, which trains a plain ViT faster; inference suppresses the surplus.
    """
    rng = common.start(seed)
    import torch
    from transformers.models.owlvit.image_processing_pil_owlvit import OwlViTImageProcessorPil

    from labelquality.detectors.training.loop import fit, normalisation
    from labelquality.detectors.training.set_loss import set_loss, targets

    data, watched = (common.load_split(scenes_folder, s) for s in ("train", "watch"))
    side = data.images.shape[1]
    square = {"height": side, "width": side}
    processor = OwlViTImageProcessorPil(size=square, crop_size=square)
    normalise = normalisation(processor)
    tokenizer = write_tokenizer(out_folder, data.classes)
    ids, mask = tokenize(tokenizer, data.classes, _TEXT_LENGTH, SPEC["name"])
    model = build(side, len(tokenizer), tokenizer.eos_token_id)
    columns = torch.eye(len(data.classes))

    def loss_of(
        images: Tensor, boxes: Sequence[np.ndarray], labels: Sequence[np.ndarray]
    ) -> Tensor:
        logits, found = forward(model, normalise(images), query_embeddings(model, ids, mask))
        return set_loss(logits, found, targets(boxes, labels, side, columns), COPIES)

    def watch(averaged: nn.Module) -> dict[str, float]:
        with torch.inference_mode():
            embeddings = query_embeddings(averaged, ids, mask)
        return common.watch(OwlViT(averaged, processor, embeddings, SPEC), watched)

    averaged = fit(
        model,
        data,
        loss_of,
        watch,
        rng,
        steps=steps,
        batch_size=batch_size,
        learning_rate=LEARNING_RATE,
    )
    reached = watch(averaged)
    averaged.config.save_pretrained(out_folder)
    processor.save_pretrained(out_folder)
    record = {
        "seed": seed,
        "steps": steps,
        "batch_size": batch_size,
        "images": len(data),
        "libraries": common.library_versions("numpy", "torch", "transformers"),
        "watch": reached,
    }
    common.save_weights(out_folder, averaged.state_dict(), record)
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
        "max_position_embeddings": _TEXT_LENGTH,
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
        "patch_size": _PATCH,
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
    tokenizer = CLIPTokenizer.from_pretrained(folder, pad_token="!", model_max_length=_TEXT_LENGTH)
    tokenizer.save_pretrained(folder)
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    return tokenizer
