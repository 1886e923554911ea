"""Pixels for the OCR example: reading, resampling, cropping, drawing.

An image is a uint8 array [height, width, 3] in the order blue, green, red: what the PP-OCR models
were trained on.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw


def read(path: str) -> np.ndarray:
    with Image.open(path) as picture:
        return np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1])


def write_with_boxes(path: str, image: np.ndarray, boxes: list[np.ndarray]) -> None:
    picture = Image.fromarray(np.ascontiguousarray(image[:, :, ::-1]))
    pen = ImageDraw.Draw(picture)
    for box in boxes:
        corners = [tuple(corner) for corner in box.tolist()]
        pen.line([*corners, corners[0]], fill=(255, 64, 0), width=2)
    picture.save(path)


def _taps(source: int, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per target pixel its two source pixels and the weight of the second; centres are aligned."""
    position = (np.arange(target) + 0.5) * (source / target) - 0.5
    low = np.floor(position).astype(np.int64)
    weight = (position - low).astype(np.float32)
    return np.clip(low, 0, source - 1), np.clip(low + 1, 0, source - 1), weight


def resize(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Bilinear, without smoothing when it shrinks."""
    if image.shape[:2] == (height, width):
        return image
    left, right, wx = _taps(image.shape[1], width)
    top, bottom, wy = _taps(image.shape[0], height)
    pixels = image.astype(np.float32)
    rows = pixels[:, left] + (pixels[:, right] - pixels[:, left]) * wx[None, :, None]
    result = rows[top] + (rows[bottom] - rows[top]) * wy[:, None, None]
    return np.rint(result).astype(np.uint8)


def pad_rows(image: np.ndarray, rows: int) -> np.ndarray:
    """Black rows above and below."""
    return np.pad(image, ((rows, rows), (0, 0), (0, 0)))


def _homography(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The 3x3 matrix that takes four source points to four target points."""
    equations = []
    for (x, y), (u, v) in zip(source, target, strict=True):
        equations.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        equations.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    solution = np.linalg.solve(
        np.array(equations, np.float64), target.reshape(-1).astype(np.float64)
    )
    return np.append(solution, 1.0).reshape(3, 3)


def _cubic(fraction: np.ndarray) -> list[np.ndarray]:
    """Weights of the pixels at -1, 0, 1, 2 of the cubic convolution kernel with a = -0.75."""
    a = -0.75

    def near(t: np.ndarray) -> np.ndarray:
        return ((a + 2) * t - (a + 3)) * t * t + 1

    def far(t: np.ndarray) -> np.ndarray:
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a

    return [far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)]


def crop(image: np.ndarray, box: np.ndarray) -> np.ndarray:
    """The box straightened; taller than 1.5 times its width, it is turned a quarter to the left."""
    corners = box.astype(np.float64)
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    width = max(int(max(sides[0], sides[2])), 1)
    height = max(int(max(sides[1], sides[3])), 1)
    frame = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64)
    matrix = _homography(frame, corners)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    scale = matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2]
    source_x = (matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2]) / scale
    source_y = (matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2]) / scale
    base_x, base_y = np.floor(source_x).astype(np.int64), np.floor(source_y).astype(np.int64)
    weights_x, weights_y = _cubic(source_x - base_x), _cubic(source_y - base_y)
    result = np.zeros((height, width, 3), np.float64)
    for dy in range(4):
        rows = np.clip(base_y + dy - 1, 0, image.shape[0] - 1)
        for dx in range(4):
            columns = np.clip(base_x + dx - 1, 0, image.shape[1] - 1)
            result += image[rows, columns] * (weights_x[dx] * weights_y[dy])[:, :, None]
    straight = np.clip(np.rint(result), 0, 255).astype(np.uint8)
    return np.rot90(straight) if height / width >= 1.5 else straight
