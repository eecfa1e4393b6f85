"""Trains the tiny RT-DETR of the demo with the library's own loss."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.rtdetr import RtDetr
from labelquality.detectors.training import common

if TYPE_CHECKING:
    import torch

SPEC: dict[str, Any] = {
    "name": "rtdetr_scenes",
    "family": "rtdetr",
    "input_size": None,
    "score_threshold": 0.001,
    "nms_iou": None,
    "max_detections": 100,
}


def train(
    scenes_folder: str | Path,
    out_folder: str | Path,
    *,
    seed: int = 0,
    steps: int = 1600,
    batch_size: int = 16,
    learning_rate: float = 1e-3,
) -> dict[str, float]:
    """Train on the split `train`, write the weights folder, return AP and AP50 on `watch`.

    scenes_folder : holds both splits, as `labelquality.scenes.write_scenes` writes them.
    """
    rng = common.start(seed)
    from transformers.models.rt_detr.image_processing_pil_rt_detr import RTDetrImageProcessorPil

    from labelquality.detectors.training.loop import fit

    data = common.load_split(scenes_folder, "train")
    watched = common.load_split(scenes_folder, "watch")
    side = data.images.shape[1]
    columns = np.arange(len(data.classes))
    processor = RTDetrImageProcessorPil(size={"height": side, "width": side})
    model = build(data.classes)

    def loss_of(
        images: torch.Tensor, boxes: Sequence[np.ndarray], labels: Sequence[np.ndarray]
    ) -> torch.Tensor:
        return model(images, labels=_targets(boxes, labels, side)).loss

    def watch(average: torch.nn.Module) -> dict[str, float]:
        return common.watch(RtDetr(average, processor, columns, SPEC), watched)

    best = fit(
        model,
        data,
        loss_of,
        watch,
        rng,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=1e-4,
    )
    reached = watch(best)
    model.config.save_pretrained(out_folder)
    processor.save_pretrained(out_folder)
    record = {
        "seed": seed,
        "steps": steps,
        "batch_size": batch_size,
        "images": len(data),
        "data_sha256": common.fingerprint(data),
        "watch": reached,
        "libraries": common.library_versions("numpy", "torch", "transformers"),
    }
    common.save_weights(out_folder, best.state_dict(), record)
    return reached


def build(classes: Sequence[str]) -> torch.nn.Module:
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
    boxes: Sequence[np.ndarray], labels: Sequence[np.ndarray], side: int
) -> list[dict[str, torch.Tensor]]:
    import torch

    return [
        {
            "class_labels": torch.from_numpy(label),
            "boxes": torch.from_numpy(common.relative_centres(box, side, side)),
        }
        for box, label in zip(boxes, labels, strict=True)
    ]
