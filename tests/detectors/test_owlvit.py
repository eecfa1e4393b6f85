from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from labelquality.detectors.owlvit import load, tokenize
from labelquality.detectors.training.owlvit import write_tokenizer
from labelquality.errors import DataError

NAMES = ("cat", "traffic light")


@pytest.fixture(scope="module")
def official_like(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published architecture (patches of 32 pixels, 16 text tokens), tiny and random."""
    from transformers import OwlViTConfig, OwlViTForObjectDetection
    from transformers.models.owlvit.image_processing_pil_owlvit import OwlViTImageProcessorPil

    folder = tmp_path_factory.mktemp("official")
    tokenizer = write_tokenizer(folder, ("photo", "cat", "light"))
    torch.manual_seed(0)
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    config = OwlViTConfig(
        text_config=small
        | {
            "vocab_size": len(tokenizer),
            "num_attention_heads": 2,
            "max_position_embeddings": 16,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
        },
        vision_config=small | {"num_attention_heads": 2, "image_size": 96, "patch_size": 32},
        projection_dim=16,
    )
    OwlViTForObjectDetection(config).save_pretrained(folder)
    OwlViTImageProcessorPil().save_pretrained(folder)
    return folder


def spec_of(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "name": "test",
        "family": "owlvit",
        "weights": str(folder),
        "input_size": None,
        "score_threshold": 0.0,
        "nms_iou": None,
        "max_detections": None,
        "prompt": "a photo of a {}",
    } | changes


def test_the_vector_is_the_model_s_own_over_all_queries(official_like: Path) -> None:
    detector = load(spec_of(official_like), NAMES)
    image = np.random.default_rng(0).integers(0, 255, (96, 96, 3), dtype=np.uint8)
    (found,) = detector.detect([image])
    pixels = detector.processor(image, return_tensors="pt", input_data_format="channels_last")
    tokenizer = write_tokenizer(official_like, ("photo", "cat", "light"))
    ids, mask = tokenize(tokenizer, ["a photo of a cat", "a photo of a traffic light"], 16, "test")
    with torch.inference_mode():
        output = detector.model(
            input_ids=ids, attention_mask=mask, pixel_values=pixels["pixel_values"]
        )
    expected = output.logits[0].sigmoid().numpy()
    # Boxes whose upper left corner lies beyond the image have nothing left to keep.
    low = output.pred_boxes[0, :, :2] - output.pred_boxes[0, :, 2:] / 2
    expected = expected[(low < 1).all(dim=1).numpy()]
    assert len(expected) + found.degenerate == 9
    order = np.argsort(-expected.max(axis=1), kind="stable")
    assert found.probabilities == pytest.approx(expected[order], abs=1e-5)


def test_every_query_keeps_its_column(official_like: Path) -> None:
    image = np.random.default_rng(0).integers(0, 255, (96, 96, 3), dtype=np.uint8)
    one = load(spec_of(official_like), NAMES).detect([image])[0]
    other = load(spec_of(official_like), NAMES[::-1]).detect([image])[0]
    assert other.probabilities[:, ::-1] == pytest.approx(one.probabilities, abs=1e-6)
    assert np.abs(one.probabilities[:, 0] - one.probabilities[:, 1]).max() > 1e-3


def test_the_text_model_reads_its_end_token(official_like: Path) -> None:
    tokenizer = write_tokenizer(official_like, ("photo", "cat", "light"))
    ids, mask = tokenize(tokenizer, ["cat"], 16, "test")
    assert ids.shape == (1, 16)
    assert mask.sum() == 3
    assert ids[0].argmax() == 2
    # A first token of 0 would mark the query as padding, which the library masks out.
    assert ids[0, 0] > 0


def test_a_query_too_long_for_the_model_is_named(official_like: Path) -> None:
    with pytest.raises(DataError, match=r"'a photo of a abcdefghijklmn' has 2. tokens.* takes 16"):
        load(spec_of(official_like), ["abcdefghijklmn"])


def test_an_input_size_that_is_not_the_weights_own_is_refused(official_like: Path) -> None:
    assert load(spec_of(official_like, input_size=96), NAMES)
    with pytest.raises(DataError, match=r"input_size 768 .*set input_size to 96"):
        load(spec_of(official_like, input_size=768), NAMES)


@pytest.mark.parametrize(
    ("prompt", "names", "message"),
    [
        ("a photo", ["cat"], "must hold {} once"),
        ("{}", ["cat", "Cat "], "'cat' is empty or listed twice"),
        ("{}", ["cat", " "], "'' is empty"),
    ],
)
def test_queries_must_tell_the_classes_apart(
    official_like: Path, prompt: str, names: list[str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        load(spec_of(official_like, prompt=prompt), names)
