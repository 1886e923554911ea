#!/usr/bin/env python3
"""Reads the text in a picture with the PP-OCR models: finds lines, turns them upright, reads them.

    python examples/ocr/ocr.py [PICTURE] [--output FILE] [--providers NAME ...]

Steps and thresholds are RapidOCR's defaults. `--module onnxruntime` runs the same program on
ONNX Runtime.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import geometry
import image as pixels
import numpy as np

MAX_SIDE, MIN_SIDE = 2000, 30  # a picture beyond these is resized before anything else
MIN_HEIGHT, MAX_ASPECT = 30, 8  # flatter pictures get black rows, or nothing is found in them
DETECT_SHORT_SIDE = 736
MASK_THRESHOLD, BOX_THRESHOLD, UNCLIP_RATIO = 0.3, 0.5, 1.6
MIN_BOX_SIDE, MAX_BOXES = 3, 1000
BATCH = 6
LINE_HEIGHT, ANGLE_WIDTH, LINE_WIDTH = 48, 192, 320
ANGLE_THRESHOLD, TEXT_THRESHOLD = 0.9, 0.5


class Stages:
    """Milliseconds per stage, in the order in which the stages were first entered."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.milliseconds[name] = (
            self.milliseconds.get(name, 0.0) + (time.perf_counter() - start) * 1e3
        )


def normalise(image: np.ndarray) -> np.ndarray:
    """uint8 [h, w, 3] to float [3, h, w] in -1 .. 1."""
    return ((image.astype(np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)


def run(session: Any, batch: np.ndarray) -> np.ndarray:
    return session.run(
        None, {session.get_inputs()[0].name: np.ascontiguousarray(batch, np.float32)}
    )[0]


def to_grid(width: int, height: int, ratio: float) -> tuple[int, int]:
    """The scaled size, each side a multiple of 32 as the detector needs it."""
    return max(round(int(width * ratio) / 32), 1) * 32, max(round(int(height * ratio) / 32), 1) * 32


def fit(image: np.ndarray) -> np.ndarray:
    """The picture within MIN_SIDE .. MAX_SIDE."""
    height, width = image.shape[:2]
    ratio = 1.0
    if max(height, width) > MAX_SIDE:
        ratio = MAX_SIDE / max(height, width)
    elif min(height, width) < MIN_SIDE:
        ratio = MIN_SIDE / min(height, width)
    return image if ratio == 1.0 else pixels.resize(image, *to_grid(width, height, ratio))


def flat_padding(image: np.ndarray) -> int:
    """Rows to add above and below."""
    height, width = image.shape[:2]
    if height > MIN_HEIGHT and width / height <= MAX_ASPECT:
        return 0
    return abs(max(int(width / MAX_ASPECT), MIN_HEIGHT) * 2 - height) // 2


def boxes_from_map(probability: np.ndarray, width: int, height: int) -> list[np.ndarray]:
    """Text boxes in the coordinates of a picture of the given size."""
    mask = geometry.dilate(probability > MASK_THRESHOLD)
    map_height, map_width = probability.shape
    boxes = []
    for region in geometry.regions(mask)[:MAX_BOXES]:
        box, side = geometry.smallest_rectangle(region)
        if side < MIN_BOX_SIDE or geometry.mean_inside(probability, box) < BOX_THRESHOLD:
            continue
        box, side = geometry.grow(box, UNCLIP_RATIO)
        if side < MIN_BOX_SIDE + 2:
            continue
        box = np.rint(box / [map_width, map_height] * [width, height])
        box = geometry.order_corners(np.clip(box, 0, [width - 1, height - 1]))
        if (
            min(np.linalg.norm(box[1] - box[0]), np.linalg.norm(box[3] - box[0]))
            >= MIN_BOX_SIDE + 1
        ):
            boxes.append(box)
    return geometry.reading_order(boxes)


def detect(session: Any, image: np.ndarray, stages: Stages) -> list[np.ndarray]:
    height, width = image.shape[:2]
    with stages("detect: prepare"):
        ratio = max(1.0, DETECT_SHORT_SIDE / min(height, width))
        batch = normalise(pixels.resize(image, *to_grid(width, height, ratio)))[None]
    with stages("detect: model"):
        probability = run(session, batch)[0, 0]
    with stages("detect: boxes"):
        return boxes_from_map(probability, width, height)


def batches(lines: list[np.ndarray]) -> Iterator[list[int]]:
    """Indices of lines of like aspect, a batch at a time."""
    order = sorted(range(len(lines)), key=lambda i: lines[i].shape[1] / lines[i].shape[0])
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]


def line_batch(lines: list[np.ndarray], width: int) -> np.ndarray:
    """Lines resized to LINE_HEIGHT, at most width wide, padded with mid grey on the right."""
    batch = np.zeros((len(lines), 3, LINE_HEIGHT, width), np.float32)
    for slot, line in zip(batch, lines, strict=True):
        line_width = min(width, math.ceil(LINE_HEIGHT * (line.shape[1] / line.shape[0])))
        slot[:, :, :line_width] = normalise(pixels.resize(line, line_width, LINE_HEIGHT))
    return batch


def turn_upright(session: Any, lines: list[np.ndarray], stages: Stages) -> None:
    for chosen in batches(lines):
        with stages("angle: prepare"):
            batch = line_batch([lines[i] for i in chosen], ANGLE_WIDTH)
        with stages("angle: model"):
            upside_down = run(session, batch)[:, 1]
        for i, probability in zip(chosen, upside_down, strict=True):
            if probability > ANGLE_THRESHOLD:
                lines[i] = lines[i][::-1, ::-1]


def decode(steps: np.ndarray, characters: list[str]) -> tuple[str, float]:
    """Greedy CTC: repeats merged, blanks (class 0) dropped; the score is the mean of the rest."""
    best = steps.argmax(axis=1)
    kept = best != 0
    kept[1:] &= best[1:] != best[:-1]
    if not kept.any():
        return "", 0.0
    return "".join(characters[c] for c in best[kept]), float(steps.max(axis=1)[kept].mean())


def recognise(
    session: Any, lines: list[np.ndarray], characters: list[str], stages: Stages
) -> list[tuple[str, float]]:
    texts = [("", 0.0)] * len(lines)
    for chosen in batches(lines):
        with stages("read: prepare"):
            aspect = max(lines[i].shape[1] / lines[i].shape[0] for i in chosen)
            width = int(LINE_HEIGHT * max(LINE_WIDTH / LINE_HEIGHT, aspect))
            batch = line_batch([lines[i] for i in chosen], width)
        with stages("read: model"):
            probabilities = run(session, batch)
        with stages("read: decode"):
            for i, steps in zip(chosen, probabilities, strict=True):
                texts[i] = decode(steps, characters)
    return texts


def rows_of_text(found: list[tuple[np.ndarray, str]]) -> list[str]:
    """Boxes of one row joined into one line."""
    rows: list[str] = []
    for i, (box, text) in enumerate(found):
        if i and geometry.same_row(found[i - 1][0], box):
            rows[-1] += " " + text
        else:
            rows.append(text)
    return rows


def placement(session: Any) -> str:
    """How many nodes each provider runs, or the providers alone where the module cannot tell."""
    if not hasattr(session, "explain"):
        return ", ".join(session.get_providers())
    nodes = json.loads(session.explain(json=True))["nodes"]
    counts = Counter(node["provider"] for node in nodes)
    return ", ".join(f"{provider} {count} nodes" for provider, count in sorted(counts.items()))


def arguments() -> argparse.Namespace:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(
        description="Reads the text in a picture with the PP-OCR models."
    )
    parser.add_argument(
        "--models", type=Path, default=root / "models/ppocr", help="folder with models and keys.txt"
    )
    parser.add_argument(
        "image",
        type=Path,
        nargs="?",
        help="PNG or JPEG (default: sample.png of the models' folder)",
    )
    parser.add_argument(
        "--output", type=Path, default=root / "build/demo/ocr.png", help="picture with the boxes"
    )
    parser.add_argument(
        "--providers", nargs="+", default=["CPUExecutionProvider"], help="in order of preference"
    )
    parser.add_argument(
        "--module", default="switchyard", help="module with InferenceSession (or: onnxruntime)"
    )
    parser.add_argument("--text-only", action="store_true", help="print the text and nothing else")
    return parser.parse_args()


def read_text(options: argparse.Namespace, stages: Stages) -> tuple[list[str], dict[str, Any]]:
    engine = importlib.import_module(options.module)
    names = {
        "detection": "ch_PP-OCRv4_det_infer.onnx",
        "angle": "ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "recognition": "ch_PP-OCRv4_rec_infer.onnx",
    }
    with stages("load models"):
        sessions = {
            role: engine.InferenceSession(str(options.models / name), providers=options.providers)
            for role, name in names.items()
        }
        keys = (options.models / "keys.txt").read_text(encoding="utf-8").split("\n")
        characters = ["", *(keys[:-1] if keys[-1] == "" else keys), " "]
    with stages("read picture"):
        original = pixels.read(str(options.image or options.models / "sample.png"))
        padding = flat_padding(fit(original))
        picture = pixels.pad_rows(fit(original), padding)
    boxes = detect(sessions["detection"], picture, stages)
    with stages("crop lines"):
        lines = [pixels.crop(picture, box) for box in boxes]
    turn_upright(sessions["angle"], lines, stages)
    texts = recognise(sessions["recognition"], lines, characters, stages)
    found = [
        (box, text)
        for box, (text, score) in zip(boxes, texts, strict=True)
        if score >= TEXT_THRESHOLD
    ]
    with stages("write picture"):
        options.output.parent.mkdir(parents=True, exist_ok=True)
        height, width = picture.shape[0] - 2 * padding, picture.shape[1]
        scale = np.array([original.shape[1] / width, original.shape[0] / height])
        marked = [(box - [0, padding]) * scale for box, _ in found]
        pixels.write_with_boxes(str(options.output), original, marked)
    return rows_of_text(found), sessions


def main() -> int:
    options = arguments()
    stages = Stages()
    try:
        rows, sessions = read_text(options, stages)
    except Exception as error:  # a model, a file, a provider: all end as one line
        print(f"ocr: {error}", file=sys.stderr)
        return 1
    print("\n".join(rows))
    if options.text_only:
        return 0
    print("\nPlacement")
    for role, session in sessions.items():
        print(f"  {role}: {placement(session)}")
    print("\nTime (ms)")
    for name, milliseconds in stages.milliseconds.items():
        print(f"  {name:<16} {milliseconds:9.2f}")
    print(f"  {'all':<16} {sum(stages.milliseconds.values()):9.2f}")
    print(f"\nBoxes drawn in {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
