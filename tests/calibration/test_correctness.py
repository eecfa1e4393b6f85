from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation_tables import one_image
from labelquality.calibration.calibrate import calibrate
from labelquality.calibration.correctness import judge
from labelquality.geometry import xywh_to_xyxy
from labelquality.tables import make_table


def test_released_calibration_compares_the_labels_of_faster_rcnn_one_apart(
    shared_data: Path,
) -> None:
    path = shared_data / "released_oracle" / "calibration_2.json.gz"
    record = json.loads(gzip.decompress(path.read_bytes()))
    given, pool = record["inputs"], record["outputs"]["detections"]
    classes = [c["name"] for c in given["original"]["categories"]]
    rows = [
        (f"{f['image_id']:09d}", box, score, label, vector)
        for f in given["predictions"]
        for box, score, label, vector in zip(
            f["boxes"], f["scores"], f["labels"], f["probs"], strict=True
        )
    ]
    image, boxes, score, label, vectors = (list(column) for column in zip(*rows, strict=True))
    truth = given["original"]["annotations"]
    images = sorted({*image, *(f"{a['image_id']:09d}" for a in truth)})
    detections = make_table(
        "detections",
        # Its labels count from 1, background being 0.
        {"image_id": image, "score": score, "category": np.array(label) - 1},
        classes,
        boxes=np.array(boxes),
        vectors={"probabilities": np.array(vectors)},
        meta={"probability_kind": "softmax+background"},
        image_ids=images,
    )
    annotations = make_table(
        "annotations",
        {
            "image_id": [f"{a['image_id']:09d}" for a in truth],
            "box_id": [str(a["id"]) for a in truth],
            "category": [a["category_id"] for a in truth],
            "crowd": [bool(a["iscrowd"]) for a in truth],
            "difficult": False,
            "region": "",
            "annotator": "original",
        },
        classes,
        boxes=xywh_to_xyxy(np.array([a["bbox"] for a in truth], dtype=np.float64)),
    )
    index = pd.Index(images, dtype=object)
    correct, judged = judge(detections, annotations, index, 0.5, label_shift=1)
    frame = detections.frame.assign(correct=correct)[judged]
    columns = (frame[name] for name in ("image_id", "score", "correct"))
    assert Counter(zip(*columns, strict=True)) == Counter(
        zip([f"{i:09d}" for i in pool["image_id"]], pool["score"], pool["correct"], strict=True)
    )
    assert (len(detections), judged.sum(), correct.sum()) == (324, 245, 13)
    meant, every = judge(detections, annotations, index, 0.5)
    assert every.all()
    assert meant.sum() > 3 * correct.sum()
    shifted, plain = (calibrate(detections, annotations, label_shift=s) for s in (1, 0))
    assert (shifted.ece["n"] == 245).all()
    # What hardly ever counts as correct is hardly believed any more.
    means = [c.table.frame["calibrated_score"].mean() for c in (shifted, plain)]
    assert 2 * means[0] < means[1]


def test_a_detection_whose_shifted_class_does_not_exist_is_not_judged() -> None:
    box = [0.0, 0.0, 10.0, 10.0]
    detections, _ = one_image([box] * 2, [[1.0, 0.0, 0.0]] * 2, [0.9, 0.8], [], [])
    detections = detections.with_columns(category=[0, 1])
    of = {"image_id": "a", "box_id": ["0", "1"], "category": [0, 1], "annotator": "original"}
    annotations = make_table(
        "annotations",
        of | {"crowd": False, "difficult": False, "region": ""},
        detections.classes,
        boxes=np.array([box] * 2),
    )
    images = pd.Index(["a"], dtype=object)
    expected = {0: ([1, 1], [1, 1]), 1: ([1, 0], [1, 0]), -1: ([0, 1], [0, 1])}
    for shift, flags in expected.items():
        found = judge(detections, annotations, images, 0.5, label_shift=shift)
        assert tuple(of_both.astype(int).tolist() for of_both in found) == flags
