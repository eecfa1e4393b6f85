"""Trains the tiny Grounding DINO of the scenes from random weights.

The library's own loss leaves the proposal stage untrained (its boxes are detached and its class
loss sees learned queries, not the image), so proposals and every decoder layer get a set loss on
the model's public outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.grounding_dino import GroundingDino, Prompt, shorter_side, tokenize
from labelquality.detectors.training import common

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

STEPS = 1500
BATCH = 16
LEARNING_RATE = 8e-4
SPEC: dict[str, Any] = {
    "name": "grounding_dino_scenes",
    "prompt": None,
    "token_aggregation": "mean",
    "input_size": 128,
    "score_threshold": 0.001,
    "nms_iou": None,
    "max_detections": 100,
}
_WIDTH = 64


def train(
    scenes_folder: str | Path,
    out_folder: str | Path,
    *,
    seed: int,
    steps: int = STEPS,
    batch_size: int = BATCH,
) -> dict[str, float]:
    """Train on the scenes' train split, write the weights folder, return AP and AP50 on `watch`.

    One process, one thread. Prints the loss and, ten times, the AP on the way.
    """
    rng = common.start(seed)
    from transformers.models.grounding_dino import modeling_grounding_dino as library
    from transformers.models.grounding_dino.image_processing_pil_grounding_dino import (
        GroundingDinoImageProcessorPil,
    )

    from labelquality.detectors.training.loop import fit, normalisation

    data, watched = (common.load_split(scenes_folder, s) for s in ("train", "watch"))
    side = data.images.shape[1]
    tokenizer = write_tokenizer(out_folder, data.classes)
    processor = GroundingDinoImageProcessorPil(size=shorter_side(side))
    model = build(len(tokenizer))
    (prompt,) = tokenize(tokenizer, data.classes, model.config.max_text_len, SPEC["name"])
    normalise = normalisation(processor)

    def loss_of(
        images: Tensor, boxes: Sequence[np.ndarray], labels: Sequence[np.ndarray]
    ) -> Tensor:
        return batch_loss(model, normalise(images), prompt, boxes, labels, side)

    def watch(averaged: nn.Module) -> dict[str, float]:
        return common.watch(GroundingDino(averaged, processor, [prompt], SPEC), watched)

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
    library.replace_batch_norm(averaged.model.backbone)
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
    common.save_weights(out_folder, untied(averaged), record)
    return reached


def batch_loss(
    model: Any,
    pixels: Tensor,
    prompt: Prompt,
    boxes: Sequence[np.ndarray],
    labels: Sequence[np.ndarray],
    side: int,
) -> Tensor:
    """Set losses of the proposals and of every decoder layer, summed."""
    import torch

    from labelquality.detectors.training.set_loss import set_loss, targets

    tokens = prompt.input_ids.expand(len(pixels), -1)
    columns = torch.from_numpy(prompt.owners.astype(np.float32))
    truth = targets(boxes, labels, side, columns)
    output = model(pixel_values=pixels, input_ids=tokens)
    length = tokens.shape[1]
    loss = set_loss(
        output.enc_outputs_class[..., :length],
        output.enc_outputs_coord_logits.sigmoid(),
        truth,
    )
    words = output.encoder_last_hidden_state_text.transpose(1, 2)
    start = output.init_reference_points
    for layer, hidden in enumerate(output.intermediate_hidden_states.unbind(1)):
        found = (model.bbox_embed[layer](hidden) + torch.special.logit(start, eps=1e-5)).sigmoid()
        loss = loss + set_loss(hidden @ words, found, truth)
        start = output.intermediate_reference_points[:, layer]
    return loss


def build(vocabulary: int) -> nn.Module:
    """A randomly initialised Grounding DINO of about 1 M parameters on strides 8, 16 and 32."""
    from transformers import (
        BertConfig,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        ResNetConfig,
    )

    channels = [24, 48, 96]
    backbone = ResNetConfig(
        embedding_size=channels[0],
        hidden_sizes=channels,
        depths=[1, 1, 1],
        layer_type="basic",
        out_indices=[2, 3],
    )
    text = BertConfig(
        vocab_size=vocabulary,
        hidden_size=_WIDTH,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    config = GroundingDinoConfig(
        backbone_config=backbone,
        text_config=text,
        d_model=_WIDTH,
        num_queries=40,
        num_feature_levels=3,
        encoder_layers=1,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        dropout=0.0,
        fusion_droppath=0.0,
        max_text_len=64,
    )
    model = GroundingDinoForObjectDetection(config)
    initialise(model)
    return model


def initialise(model: Any) -> None:
    """Prepare for training from scratch.

    - Logits are inner products of normalised vectors and have no bias: the first loss would be in
      the thousands. Small gains and opposite biases of the norms start them near -4.
    - The library freezes the backbone's batch norms and stem, which suits pretrained ones only.
    """
    from torch import nn

    core = model.model
    words = core.encoder.layers[-1].text_enhancer_layer.layer_norm_after
    for norm, bias in (
        (words, 0.25),
        (core.decoder.layer_norm, -0.25),
        (core.enc_output_norm, -0.25),
    ):
        nn.init.constant_(norm.weight, 0.3)
        nn.init.constant_(norm.bias, bias)
    _thaw(core.backbone)
    model.requires_grad_(True)


def _thaw(module: nn.Module) -> None:
    """Replace the library's frozen batch norms by live ones."""
    from torch import nn
    from transformers.models.grounding_dino import modeling_grounding_dino as library

    for name, child in module.named_children():
        if isinstance(child, library.GroundingDinoFrozenBatchNorm2d):
            setattr(module, name, nn.BatchNorm2d(len(child.weight)))
        else:
            _thaw(child)


def untied(model: nn.Module) -> dict[str, torch.Tensor]:
    """State without the tensors that are the same object as an earlier one; loading ties them."""
    seen: set[int] = set()
    state = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            state[name] = tensor
        seen.add(tensor.data_ptr())
    return state


def write_tokenizer(folder: str | Path, words: Sequence[str]) -> Any:
    """Write a BERT tokenizer with a token for each word and pieces for all others; return it.

    The model finds its separators by BERT's own numbers, so they must stand at these places.
    """
    from transformers import BertTokenizer

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = [f"[unused{i}]" for i in range(1030)]
    fixed = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]"}
    for number, piece in (fixed | {1012: ".", 1029: "?"}).items():
        vocabulary[number] = piece
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces = [*letters, *(f"##{letter}" for letter in letters), *(w.lower() for w in words)]
    vocabulary[104 : 104 + len(pieces)] = pieces
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    tokenizer = BertTokenizer.from_pretrained(folder, model_max_length=64)
    tokenizer.save_pretrained(folder)
    (folder / "vocab.txt").unlink(missing_ok=True)
    return tokenizer
