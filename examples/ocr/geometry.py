"""From a text probability map to boxes: regions, rectangles, growing, scores, reading order.

Points are (x, y). A box is an array [4, 2]: top left, top right, bottom right, bottom left.
"""

from __future__ import annotations

import numpy as np


def dilate(mask: np.ndarray) -> np.ndarray:
    """Each set pixel also sets its right, lower and lower right neighbour."""
    grown = mask.copy()
    grown[:, 1:] |= mask[:, :-1]
    grown[1:] |= grown[:-1].copy()
    return grown


def regions(mask: np.ndarray) -> list[np.ndarray]:
    """The 8-connected regions, each as the end points [n, 2] of its horizontal runs.

    These span the region's convex hull.
    """
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1] - 1
    parent = list(range(len(rows)))

    def root(run: int) -> int:
        while parent[run] != run:
            parent[run] = parent[parent[run]]
            run = parent[run]
        return run

    first = np.searchsorted(rows, np.arange(mask.shape[0] + 1)).tolist()
    begin, last = starts.tolist(), ends.tolist()
    for row in range(1, mask.shape[0]):
        above, here = first[row - 1], first[row]
        while above < first[row] and here < first[row + 1]:
            if begin[above] <= last[here] + 1 and begin[here] <= last[above] + 1:
                parent[max(root(above), root(here))] = min(root(above), root(here))
            if last[above] < last[here]:
                above += 1
            else:
                here += 1
    members: dict[int, list[int]] = {}
    for run in range(len(rows)):
        members.setdefault(root(run), []).append(run)
    result = []
    for runs in members.values():
        left = np.stack([starts[runs], rows[runs]], axis=1)
        right = np.stack([ends[runs], rows[runs]], axis=1)
        result.append(np.concatenate([left, right]).astype(np.float64))
    return result


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Andrew's monotone chain; collinear points are dropped."""
    ordered = sorted(set(map(tuple, points.tolist())))
    if len(ordered) <= 2:
        return np.array(ordered)

    def chain(sequence: list[tuple[float, float]]) -> list[tuple[float, float]]:
        hull: list[tuple[float, float]] = []
        for x, y in sequence:
            while len(hull) >= 2:
                (ax, ay), (bx, by) = hull[-2], hull[-1]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                hull.pop()
            hull.append((x, y))
        return hull[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def smallest_rectangle(points: np.ndarray) -> tuple[np.ndarray, float]:
    """The box of least area around the points, and its shorter side.

    One of its sides lies on an edge of the hull.
    """
    hull = convex_hull(points)
    edges = np.roll(hull, -1, axis=0) - hull
    lengths = np.linalg.norm(edges, axis=1)
    along = edges[lengths > 0] / lengths[lengths > 0, None]
    if not len(along):
        along = np.array([[1.0, 0.0]])
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    u, v = hull @ along.T, hull @ across.T
    width, height = np.ptp(u, axis=0), np.ptp(v, axis=0)
    best = int(np.argmin(width * height))
    u_low, u_high = u[:, best].min(), u[:, best].max()
    v_low, v_high = v[:, best].min(), v[:, best].max()
    corners = np.array([[u_low, v_low], [u_high, v_low], [u_high, v_high], [u_low, v_high]])
    box = corners @ np.stack([along[best], across[best]])
    return order_corners(box), float(min(width[best], height[best]))


def order_corners(box: np.ndarray) -> np.ndarray:
    by_x = box[np.argsort(box[:, 0], kind="stable")]
    left, right = by_x[:2], by_x[2:]
    top_left, bottom_left = left[np.argsort(left[:, 1], kind="stable")]
    top_right, bottom_right = right[np.argsort(right[:, 1], kind="stable")]
    return np.array([top_left, top_right, bottom_right, bottom_left])


def grow(box: np.ndarray, ratio: float) -> tuple[np.ndarray, float]:
    """The rectangle moved outwards by area * ratio / perimeter on each side, and its shorter side.

    An offset with round corners has this same rectangle as its smallest one.
    """
    right, down = box[1] - box[0], box[3] - box[0]
    width, height = np.linalg.norm(right), np.linalg.norm(down)
    if width == 0 or height == 0:
        return box, 0.0
    distance = width * height * ratio / (2 * (width + height))
    right, down = right / width * distance, down / height * distance
    grown = box + np.array([-right - down, right - down, right + down, -right + down])
    return grown, float(min(width, height) + 2 * distance)


def mean_inside(values: np.ndarray, box: np.ndarray) -> float:
    """Mean of the map over the pixels at most half a pixel outside the box.

    The box's corners are cut to whole pixels first.
    """
    height, width = values.shape
    low = np.clip(np.floor(box.min(axis=0)).astype(int), 0, [width - 1, height - 1])
    high = np.clip(np.ceil(box.max(axis=0)).astype(int), 0, [width - 1, height - 1])
    corners = np.trunc(box - low)
    y, x = np.mgrid[0 : high[1] - low[1] + 1, 0 : high[0] - low[0] + 1]
    inside = np.ones(x.shape, bool)
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        edge = b - a
        length = np.hypot(*edge)
        if length > 0:
            inside &= (edge[0] * (y - a[1]) - edge[1] * (x - a[0])) >= -0.5 * length
    window = values[low[1] : high[1] + 1, low[0] : high[0] + 1]
    return float(window[inside].mean()) if inside.any() else 0.0


def reading_order(boxes: list[np.ndarray]) -> list[np.ndarray]:
    """Top to bottom; boxes of the same row go left to right."""
    ordered = sorted(boxes, key=lambda box: (box[0][1], box[0][0]))
    for i in range(len(ordered) - 1):
        for j in range(i, -1, -1):
            a, b = ordered[j], ordered[j + 1]
            if not same_row(a, b) or b[0][0] >= a[0][0]:
                break
            ordered[j], ordered[j + 1] = b, a
    return ordered


def same_row(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the top left corners are less than 10 pixels apart in height."""
    return abs(int(a[0][1]) - int(b[0][1])) < 10
