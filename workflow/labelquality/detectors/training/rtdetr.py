"""Trains the tiny RT-DETR of the demo with the library's own loss."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.rtdetr import RtDetr
from labelquality.detectors.training import common

if TYPE_CHECKING:
    import torch

STEPS = 1600
BATCH = 16
LEARNING_RATE = 1e-3
SPEC = {
    "name": "rtdetr_scenes",
    "input_size": 128,
    "score_threshold": 0.001,
    "nms_iou": None,
    "max_detections": 100,
}


def train(
    scenes_folder: str | Path, out_folder: str | Path, *, seed: int, steps: int = STEPS
) -> dict[str, float]:
    """Train on the scenes' train split, write the weights folder, return AP and AP50 on `watch`.

    One process, one thread. Prints the loss and, ten times, the AP on the way.
    """
    rng = common.start(seed)
    import torch
    from transformers.models.rt_detr.image_processing_pil_rt_detr import RTDetrImageProcessorPil

    data, watched = (common.load_split(scenes_folder, s) for s in ("train", "watch"))
    model = build(data.classes, data.images.shape[1]).train()
    average = common.MovingAverage(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=1e-4)
    processor = RTDetrImageProcessorPil(size={"height": 128, "width": 128})

    def watch() -> dict[str, float]:
        columns = np.arange(len(data.classes))
        return common.watch(RtDetr(average.model, processor, columns, SPEC), watched)

    for step, indices in common.batches(len(data), BATCH, steps, rng):
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * common.one_cycle(step, steps)
        images, boxes, labels = common.augmented(data, indices, rng)
        loss = model(torch.from_numpy(images), labels=_targets(boxes, labels, images.shape)).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        average.update(model)
        common.report(step, steps, loss.item(), watch)
    reached = watch()
    average.model.config.save_pretrained(out_folder)
    processor.save_pretrained(out_folder)
    common.save_weights(
        out_folder, average.model.state_dict(), {"seed": seed, "steps": steps, "watch": reached}
    )
    return reached


def build(classes: tuple[str, ...], side: int) -> torch.nn.Module:
    """A randomly initialised RT-DETR of about 0.75 M parameters on strides 8 and 16."""
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig

    width, channels = 64, [24, 48, 96]
    # Layers of the type "basic" add the embedding to the first stage: equal widths.
    backbone = RTDetrResNetConfig(
        embedding_size=channels[0],
        hidden_sizes=channels,
        depths=[1, 1, 1],
        layer_type="basic",
        out_indices=[2, 3],
    )
    return RTDetrForObjectDetection(
        RTDetrConfig(
            backbone_config=backbone,
            # The default freezes batch norm, for a pretrained backbone.
            freeze_backbone_batch_norms=False,
            encoder_in_channels=channels[1:],
            feat_strides=[8, 16],
            encode_proj_layers=[1],
            num_feature_levels=2,
            encoder_hidden_dim=width,
            d_model=width,
            decoder_in_channels=[width, width],
            encoder_layers=1,
            decoder_layers=3,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            num_queries=40,
            num_denoising=20,
            id2label=dict(enumerate(classes)),
            label2id={name: k for k, name in enumerate(classes)},
        )
    )


def _targets(
    boxes: list[np.ndarray], labels: list[np.ndarray], shape: tuple[int, ...]
) -> list[dict[str, Any]]:
    import torch

    return [
        {
            "class_labels": torch.from_numpy(label),
            "boxes": torch.from_numpy(common.relative_centres(box, shape[3], shape[2])),
        }
        for box, label in zip(boxes, labels, strict=True)
    ]
