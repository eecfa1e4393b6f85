from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

from label_error_tables import images
from labelquality.detectors import load_detector
from labelquality.detectors.base import ImageDetections, Run, run
from labelquality.detectors.grounding_dino import (
    chunk_lengths,
    class_probabilities,
    load,
    merge_chunks,
    normalised,
    prompt_of,
    shorter_side,
    token_map,
    tokenize,
)
from labelquality.detectors.training.grounding_dino import write_tokenizer
from labelquality.errors import DataError
from labelquality.geometry import pairwise_iou
from labelquality.scenes import draw_scene
from labelquality.tables import check_table
from shipped_detectors import CLASSES, ROOT, shipped

NAMES = ("light", "traffic light", "stop sign", "sign")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer"), ("light", "sign", "stop"))


@pytest.fixture(scope="module")
def official_like(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published architecture (Swin backbone, 4 levels, 256 tokens), tiny and random."""
    from transformers import (
        BertConfig,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        SwinConfig,
    )
    from transformers.models.grounding_dino.image_processing_pil_grounding_dino import (
        GroundingDinoImageProcessorPil,
    )

    folder = tmp_path_factory.mktemp("official")
    vocabulary = len(write_tokenizer(folder, NAMES))
    torch.manual_seed(0)
    small = {"num_attention_heads": 2, "intermediate_size": 32, "num_hidden_layers": 1}
    config = GroundingDinoConfig(
        backbone_config=SwinConfig(
            embed_dim=8,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 1, 1],
            window_size=4,
            out_indices=[2, 3, 4],
        ),
        text_config=BertConfig(vocab_size=vocabulary, hidden_size=16, **small),
        d_model=64,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_queries=30,
    )
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    GroundingDinoImageProcessorPil().save_pretrained(folder)
    return folder


def spec_of(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "name": "test",
        "family": "grounding_dino",
        "weights": str(folder),
        "input_size": 128,
        "score_threshold": 0.0,
        "nms_iou": None,
        "max_detections": 300,
        "prompt": None,
        "token_aggregation": "mean",
    } | changes


def words(tokenizer: Any, input_ids: torch.Tensor, owned: np.ndarray) -> str:
    return tokenizer.decode(input_ids[torch.from_numpy(owned)], clean_up_tokenization_spaces=False)


def test_a_name_owns_exactly_its_tokens_also_if_another_contains_it(tokenizer: Any) -> None:
    (prompt,) = tokenize(tokenizer, NAMES, 256, "test")
    owned = [words(tokenizer, prompt.input_ids, owner) for owner in prompt.owners]
    assert owned == list(NAMES)
    # [CLS], [SEP] and the full stops belong to nobody, and no token to two names.
    free = ~prompt.owners.any(axis=0)
    assert words(tokenizer, prompt.input_ids, free) == "[CLS].... [SEP]"
    assert prompt.owners.sum(axis=0).max() == 1


def test_spans_end_before_the_full_stop() -> None:
    text, spans = prompt_of(["cat", "traffic light"])
    assert text == "cat . traffic light ."
    assert [text[a:b] for a, b in spans] == ["cat", "traffic light"]


def test_tokens_are_found_by_overlap_and_empty_ones_are_not() -> None:
    offsets = np.array([[0, 0], [0, 3], [4, 5], [6, 9], [9, 13], [0, 0]])
    owners = token_map(offsets, [(0, 3), (6, 13)])
    assert owners.astype(int).tolist() == [[0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]]


def test_mean_and_max_over_a_name_s_tokens() -> None:
    tokens = np.array([[0.9, 0.2, 0.6, 0.8]], np.float32)
    owners = np.array([[True, False, False, False], [False, True, True, False]])
    assert class_probabilities(tokens, owners, "mean") == pytest.approx(np.array([[0.9, 0.4]]))
    assert class_probabilities(tokens, owners, "max") == pytest.approx(np.array([[0.9, 0.6]]))


def test_punctuation_that_the_model_reads_as_separator_leaves_the_name(tokenizer: Any) -> None:
    (prompt,) = tokenize(tokenizer, ["st.op sign?"], 256, "test")
    assert words(tokenizer, prompt.input_ids, prompt.owners[0]) == "st op sign"


def test_prompts_fill_up_to_the_limit_and_no_further() -> None:
    # [CLS] [SEP] + 2 x (3 tokens + full stop) = 10.
    assert chunk_lengths([3, 3, 3, 3, 3], 10) == [2, 2, 1]
    assert chunk_lengths([3, 3, 3], 9) == [1, 1, 1]
    assert chunk_lengths([1] * 254, 256) == [127, 127]


def test_a_long_class_list_is_split_without_loss(tokenizer: Any) -> None:
    names = [f"{a}{b} sign" for a in "abcdefghijkl" for b in "mnopqrstuv"]
    prompts = tokenize(tokenizer, names, 64, "test")
    assert len(prompts) > 1
    assert all(len(p.input_ids) <= 64 for p in prompts)
    owned = [words(tokenizer, p.input_ids, owner) for p in prompts for owner in p.owners]
    assert owned == names


def test_a_name_too_long_for_any_prompt_is_named(tokenizer: Any) -> None:
    assert len(tokenize(tokenizer, ["abcde"], 8, "test")) == 1
    with pytest.raises(DataError, match=r"'abcdef' has 6 tokens.*1 to 5"):
        tokenize(tokenizer, ["abc", "abcdef"], 8, "test")
    with pytest.raises(DataError, match=r"'\.\.\.' has 0 tokens"):
        tokenize(tokenizer, ["..."], 8, "test")


def test_merging_prompts_joins_the_vectors_of_one_object() -> None:
    here, there, elsewhere = [0, 0, 10, 10], [0, 0, 10, 9], [50, 50, 60, 60]
    boxes, vectors = merge_chunks(
        [
            (np.array([here, elsewhere], float), np.array([[0.2, 0.6], [0.1, 0.3]])),
            (np.array([there, there], float), np.array([[0.5], [0.7]])),
        ]
    )
    # Best row (0.7) first; it takes over the overlapping row of the other prompt.
    assert boxes.tolist() == [there, there, elsewhere]
    assert vectors == pytest.approx(np.array([[0.2, 0.6, 0.7], [0, 0, 0.5], [0.1, 0.3, 0]]))


def test_the_vector_is_the_model_s_own_over_all_classes(official_like: Path) -> None:
    detector = load(spec_of(official_like), NAMES)
    image = np.random.default_rng(0).integers(0, 255, (128, 128, 3), dtype=np.uint8)
    (found,) = detector.detect([image])
    pixels = detector.processor(image, return_tensors="pt", input_data_format="channels_last")
    (prompt,) = detector.prompts
    with torch.inference_mode():
        output = detector.model(pixels["pixel_values"], prompt.input_ids[None])
    tokens = output.logits[0, :, : len(prompt.input_ids)].double().sigmoid().numpy()
    expected = np.stack([tokens[:, own].mean(axis=1) for own in prompt.owners], axis=1)
    order = np.argsort(-expected.max(axis=1), kind="stable")
    assert found.probabilities == pytest.approx(expected[order], abs=1e-6)
    assert found.probabilities.shape == (30, 4)
    assert (np.diff(found.probabilities.max(axis=1)) <= 0).all()


def test_the_same_as_one_prompt_where_the_classes_are_asked_apart(official_like: Path) -> None:
    """A model that reads 24 tokens at most still answers for all classes of a long list."""
    names = [f"{letter} sign" for letter in "abcdefghijkl"]
    detector = load(spec_of(official_like, max_detections=None), names)
    assert len(detector.prompts) == 1
    model = detector.model
    model.config.max_text_len = 24
    split = tokenize(write_tokenizer(official_like, NAMES), names, 24, "test")
    assert len(split) == 2
    detector.prompts = split
    (found,) = detector.detect([np.full((128, 128, 3), 90, np.uint8)])
    assert found.probabilities.shape[1] == len(names)
    assert (found.probabilities > 0).any(axis=0).all()


def test_suppression_and_limit_follow_the_spec(official_like: Path) -> None:
    image = np.random.default_rng(1).integers(0, 255, (128, 128, 3), dtype=np.uint8)
    every = load(spec_of(official_like), NAMES).detect([image])[0]
    few = load(spec_of(official_like, max_detections=5), NAMES).detect([image])[0]
    assert few.boxes.tolist() == every.boxes[:5].tolist()
    apart = load(spec_of(official_like, nms_iou=0.01), NAMES).detect([image])[0]
    assert 0 < len(apart) < len(every)


def test_normalised_vectors_sum_to_one_and_scores_stay_what_they_were() -> None:
    raw = np.array([[0.2, 0.6], [0.3, 0.1]], np.float32)
    found = normalised(ImageDetections(np.zeros((2, 4)), raw))
    assert found.probabilities == pytest.approx(np.array([[0.25, 0.75], [0.75, 0.25]]))
    assert found.scores == pytest.approx([0.6, 0.3])


@pytest.fixture(scope="module")
def both_ways(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """The shipped weights in the way of the detection benchmark and in that of label errors."""
    folder = tmp_path_factory.mktemp("scenes")
    names = [f"{i}.png" for i in range(4)]
    for i, name in enumerate(names):
        Image.fromarray(draw_scene("ways", i, 0).image).save(folder / name)
    table = images(*names, width=128, height=128)
    own = shipped("grounding_dino_scenes")
    path = ROOT / "config/detectors/grounding_dino_base_label_errors.yaml"
    keys = ("token_aggregation", "score_threshold", "nms_iou", "max_detections", "normalise")
    second = {key: yaml.safe_load(path.read_text("utf-8"))[key] for key in keys}
    return [
        run(load_detector(own | changes, CLASSES), table, folder, CLASSES, 1, progress=False)
        for changes in ({}, second)
    ]


def test_the_second_way_gives_distributions_and_keeps_the_scores(both_ways: list[Run]) -> None:
    first, second = (way.detections for way in both_ways)
    check_table(second, "second way")
    assert second.meta["probability_kind"] == "softmax"
    vectors, score = second.vectors["probabilities"], second.frame["score"].to_numpy()
    assert vectors.sum(axis=1) == pytest.approx(np.ones(len(second)), abs=1e-6)
    assert (vectors.argmax(axis=1) == second.frame["category"]).all()
    assert score.min() > 0.01
    # A name of the scenes is one token, so maximum and mean are the same.
    known = {(*row, s) for row, s in zip(first.boxes.tolist(), first.frame["score"], strict=True)}
    kept = {(*row, s) for row, s in zip(second.boxes.tolist(), score.tolist(), strict=True)}
    assert kept < known


def test_the_second_way_suppresses_within_a_class_and_keeps_what_it_suppressed(
    both_ways: list[Run],
) -> None:
    second = both_ways[1]
    found = second.detections
    group = found.frame.groupby(["image_id", "category"], sort=False).ngroup().to_numpy()
    for number in np.unique(group):
        boxes = found.boxes[group == number]
        assert (pairwise_iou(boxes, boxes) - np.eye(len(boxes)) <= 0.6).all()
    assert len(second.candidates) > len(found) > 0
    assert second.candidates.frame["score"].min() > 0.01


def test_weights_that_lack_tensors_are_refused(official_like: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    for file in official_like.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["model.enc_output.weight"]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(DataError, match=r"lacks 1 tensors .*model\.enc_output\.weight"):
        load(spec_of(tmp_path), NAMES)


def test_weights_that_are_nowhere_are_named() -> None:
    with pytest.raises(DataError, match="no/such-model is neither a folder"):
        load(spec_of(Path("no/such-model")), NAMES)


def test_800_pixels_mean_the_published_1333() -> None:
    assert shorter_side(800) == {"shortest_edge": 800, "longest_edge": 1333}
