"""The network of Cascade R-CNN, put together from torchvision's detection modules.

A region proposal network is followed by box heads one after the other, each fed with the boxes of
the one before and trained at a higher overlap: 0.5, 0.6, 0.7 in the paper. With one stage it is
Faster R-CNN. The regression is class-agnostic, its targets are weighted per stage (Cai and
Vasconcelos, "Cascade R-CNN", CVPR 2018).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import BackboneWithFPN, resnet_fpn_backbone
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.roi_heads import RoIHeads
from torchvision.models.detection.rpn import (
    RegionProposalNetwork,
    RPNHead,
    concat_box_prediction_layers,
)
from torchvision.models.detection.transform import GeneralizedRCNNTransform
from torchvision.models.resnet import BasicBlock
from torchvision.ops import MultiScaleRoIAlign, clip_boxes_to_image

Targets = Sequence[Mapping[str, Tensor]]

SMOOTH = 1 / 9
"""Where the smooth L1 loss turns from a parabola into a line, as in torchvision."""

# Longer side of an image over the shorter one, at most.
_LONGEST = 1333 / 800
_MEAN, _SD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
_RATIOS = (0.5, 1.0, 2.0)
# Of centre and size; the finer the proposals, the smaller the corrections that are left.
_REGRESSION_WEIGHTS = (10.0, 10.0, 5.0, 5.0)


@dataclass(frozen=True)
class Preset:
    """What makes a network large or tiny.

    anchor_sizes : per feature level, in pixels of the network's input.
    canonical : side of a box that is pooled from level 3 (stride 8), the others from the level
        that its side says.
    samples : of anchors and of boxes per image and stage, for the losses of training.
    proposals : per image, before and after suppression.
    """

    anchor_sizes: tuple[tuple[float, ...], ...]
    canonical: int
    pooled: int
    width: int
    samples: tuple[int, int]
    proposals: tuple[int, int]


PRESETS = {
    "resnet50": Preset(
        anchor_sizes=((32,), (64,), (128,), (256,), (512,)),
        canonical=112,
        pooled=7,
        width=1024,
        samples=(256, 512),
        proposals=(1000, 1000),
    ),
    "tiny": Preset(
        anchor_sizes=((7, 10), (14, 20), (28, 40), (56, 80)),
        canonical=32,
        pooled=5,
        width=128,
        samples=(64, 48),
        proposals=(200, 100),
    ),
}


@dataclass(frozen=True)
class Stage:
    """What a box head said about the boxes (n, 4) it was fed with, those of all images in a row.

    logits : (n, 1 + K), background first.
    deltas : (n, 4), or (n, 4 * (1 + K)) where the regression is by class.
    """

    boxes: list[Tensor]
    logits: Tensor
    deltas: Tensor


class CascadeNetwork(nn.Module):
    """The parts of a two-stage detector, put together; see `build`."""

    def __init__(
        self,
        transform: GeneralizedRCNNTransform,
        backbone: nn.Module,
        rpn: RegionProposalNetwork,
        stages: Sequence[RoIHeads],
    ) -> None:
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.stages = nn.ModuleList(stages)

    def forward(self, images: Sequence[Tensor], targets: Targets) -> Tensor:
        """Loss of a training batch: that of the proposals, and the mean of the stages'.

        images : (3, h, w) in 0-1; targets : boxes (m, 4) in pixels and labels (m,), class plus 1.
        """
        batch, scaled = self.transform(list(images), [dict(target) for target in targets])
        features = self.backbone(batch.tensors)
        boxes, losses = self.rpn(batch, features, scaled)
        of_stages = []
        for stage in self.stages:
            boxes, _, labels, aims = stage.select_training_samples(boxes, scaled)
            said = look(stage, features, boxes, batch.image_sizes)
            classification, regression = losses_per_box(said, torch.cat(labels), torch.cat(aims))
            of_stages.append((classification + regression).mean())
            boxes = [box.detach() for box in refine(stage, said, batch.image_sizes)]
        return sum(losses.values()) + torch.stack(of_stages).mean()

    def features(self, images: Sequence[Tensor]) -> tuple[ImageList, dict[str, Tensor]]:
        """Images (3, h, w) in 0-1 scaled and padded into a batch, and its feature maps."""
        batch, _ = self.transform(list(images))
        return batch, self.backbone(batch.tensors)

    def propose(
        self, batch: ImageList, features: Mapping[str, Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Boxes worth a look (n, 4) and the probability of an object in them (n,), best first."""
        maps = list(features.values())
        objectness, deltas = self.rpn.head(maps)
        anchors = self.rpn.anchor_generator(batch, maps)
        per_level = [level[0].numel() for level in objectness]
        objectness, deltas = concat_box_prediction_layers(objectness, deltas)
        boxes = self.rpn.box_coder.decode(deltas, anchors).view(len(anchors), -1, 4)
        return self.rpn.filter_proposals(boxes, objectness, batch.image_sizes, per_level)

    def cascade(
        self, features: Mapping[str, Tensor], boxes: list[Tensor], sizes: list[tuple[int, int]]
    ) -> list[Stage]:
        """What each stage says, fed with the boxes that the one before made of `boxes`."""
        said: list[Stage] = []
        for stage in self.stages:
            said.append(look(stage, features, boxes, sizes))
            boxes = refine(stage, said[-1], sizes)
        return said

    def refined(self, said: Sequence[Stage], sizes: list[tuple[int, int]]) -> list[Tensor]:
        """The boxes that the last stage made, for each image."""
        return refine(self.stages[-1], said[-1], sizes)

    def losses_of_background(
        self, said: Sequence[Stage], objectness: Tensor, background: Tensor
    ) -> Tensor:
        """Classification losses of an image's proposals if there is nothing, (n, 1 + stages).

        objectness : (n,) in 0-1, whose loss is that of the stage that proposes.
        background : the outputs that count as nothing.
        """
        first = -torch.log1p(-objectness.clamp(max=1 - 1e-7))
        heads = [
            stage.logits.logsumexp(dim=1) - stage.logits[:, background].logsumexp(dim=1)
            for stage in said
        ]
        return torch.stack([first, *heads], dim=1)

    def losses_of_labels(
        self, features: Mapping[str, Tensor], boxes: Tensor, labels: Tensor, size: tuple[int, int]
    ) -> tuple[Tensor, Tensor]:
        """Classification and regression losses (m, 1 + stages) of labels in an image.

        Their boxes (m, 4) are fed to the first box head as sure proposals: no loss in the first
        column. All later stages have the label as their target, wherever they moved its box.
        """
        parts = []
        for stage, said in zip(self.stages, self.cascade(features, [boxes], [size]), strict=True):
            aims = stage.box_coder.encode_single(boxes, _of_a_pixel(said.boxes[0]))
            parts.append(torch.stack(losses_per_box(said, labels, aims)))
        classification, regression = functional.pad(torch.stack(parts, dim=2), (1, 0))
        return classification, regression


def build(architecture: Mapping[str, Any]) -> CascadeNetwork:
    """A network with random weights.

    architecture : preset (see `PRESETS`), names of the classes, input_size (shorter side of the
        images in pixels) and iou_thresholds, one for each stage.
    """
    preset = PRESETS[architecture["preset"]]
    side, n_outputs = architecture["input_size"], len(architecture["names"]) + 1
    backbone = _backbone(architecture["preset"])
    stages = [
        _stage(preset, backbone.out_channels, n_outputs, threshold, place)
        for place, threshold in enumerate(architecture["iou_thresholds"], start=1)
    ]
    return CascadeNetwork(
        GeneralizedRCNNTransform(side, round(side * _LONGEST), _MEAN, _SD),
        backbone,
        _proposal_network(preset, backbone.out_channels),
        stages,
    )


def look(
    stage: RoIHeads,
    features: Mapping[str, Tensor],
    boxes: list[Tensor],
    sizes: list[tuple[int, int]],
) -> Stage:
    """What one box head says about boxes; images' `sizes` are (height, width)."""
    pooled = stage.box_roi_pool(features, boxes, sizes)
    logits, deltas = stage.box_predictor(stage.box_head(pooled))
    return Stage(boxes, logits, deltas)


def refine(stage: RoIHeads, said: Stage, sizes: list[tuple[int, int]]) -> list[Tensor]:
    """The boxes that a stage made of those it was fed with, cut to their images.

    Where the regression is by class, that of the most probable one counts.
    """
    decoded = stage.box_coder.decode(said.deltas, said.boxes)
    # Without any box the library forgets to part them.
    decoded = decoded.flatten(1).unflatten(1, (-1, 4))
    best = said.logits[:, 1:].argmax(dim=1) + 1
    rows = torch.arange(len(decoded), device=decoded.device)
    chosen = decoded[rows, best.clamp(max=decoded.shape[1] - 1)]
    counts = [len(box) for box in said.boxes]
    return [
        clip_boxes_to_image(box, size)
        for box, size in zip(chosen.split(counts), sizes, strict=True)
    ]


def losses_per_box(said: Stage, labels: Tensor, aims: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy and smooth L1 loss of every box (n,), the latter 0 for background.

    labels : (n,) class plus 1, 0 for background; aims : (n, 4) deltas of the object.
    """
    classification = functional.cross_entropy(said.logits, labels, reduction="none")
    deltas = said.deltas.unflatten(1, (-1, 4))
    rows = torch.where(labels > 0)[0]
    own = deltas[rows, labels[rows].clamp(max=deltas.shape[1] - 1)]
    regression = torch.zeros_like(classification)
    regression[rows] = functional.smooth_l1_loss(
        own, aims[rows], beta=SMOOTH, reduction="none"
    ).sum(dim=1)
    return classification, regression


def _stage(preset: Preset, channels: int, n_outputs: int, threshold: float, place: int) -> RoIHeads:
    predictor = FastRCNNPredictor(preset.width, n_outputs)
    predictor.bbox_pred = nn.Linear(preset.width, 4)
    return RoIHeads(
        MultiScaleRoIAlign(
            [str(level) for level in range(len(preset.anchor_sizes) - 1)],
            preset.pooled,
            sampling_ratio=2,
            canonical_scale=preset.canonical,
            canonical_level=3,
        ),
        TwoMLPHead(channels * preset.pooled**2, preset.width),
        predictor,
        threshold,
        threshold,
        preset.samples[1],
        0.25,
        tuple(place * weight for weight in _REGRESSION_WEIGHTS),
        None,
        None,
        None,
    )


def _proposal_network(preset: Preset, channels: int) -> RegionProposalNetwork:
    anchors = AnchorGenerator(preset.anchor_sizes, (_RATIOS,) * len(preset.anchor_sizes))
    before, after = (dict.fromkeys(("training", "testing"), n) for n in preset.proposals)
    head = RPNHead(channels, anchors.num_anchors_per_location()[0])
    return RegionProposalNetwork(
        anchors, head, 0.7, 0.3, preset.samples[0], 0.5, before, after, nms_thresh=0.7
    )


def _backbone(preset: str) -> BackboneWithFPN:
    if preset == "resnet50":
        return resnet_fpn_backbone(
            backbone_name="resnet50", weights=None, norm_layer=nn.BatchNorm2d, trainable_layers=5
        )
    widths = [32, 64, 96]
    layers = OrderedDict[str, nn.Module](stem=_convolution(3, 24))
    for place, (before, after) in enumerate(zip([24, *widths[:-1]], widths, strict=True)):
        layers[f"layer{place + 1}"] = BasicBlock(
            before, after, stride=2, downsample=_convolution(before, after, 1)[:2]
        )
    return BackboneWithFPN(
        nn.Sequential(layers), {f"layer{i + 1}": str(i) for i in range(3)}, widths, 48
    )


def _convolution(before: int, after: int, size: int = 3) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride=2, padding=size // 2, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )


def _of_a_pixel(boxes: Tensor) -> Tensor:
    """Boxes of which next to nothing is left widened to a pixel, so that codes stay finite."""
    return torch.cat([boxes[:, :2], torch.maximum(boxes[:, 2:], boxes[:, :2] + 1)], dim=1)
