#pragma once
// From a map of text probabilities to boxes: regions, smallest rectangles, growing, scores, reading
// order. Coordinates are pixels, y downwards; a pixel's centre has whole coordinates.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ocr {

struct Point {
  double x = 0;
  double y = 0;
};

// Top left, top right, bottom right, bottom left.
using Quad = std::array<Point, 4>;

struct Rectangle {
  Quad corners;
  double shorter_side = 0;
};

struct Mask {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> set;  // row by row, 0 or 1
};

struct ProbabilityMap {
  int width = 0;
  int height = 0;
  std::span<const float> values;  // row by row
};

double Distance(Point a, Point b);

// Each set pixel also sets its right, lower and lower right neighbour.
Mask Dilate(const Mask& mask);

// The outlines of the 8-connected regions, in the order of their first pixels: the first and the
// last pixel of every horizontal run, which span the region's convex hull. Holes have no outline of
// their own.
std::vector<std::vector<Point>> FindOutlines(const Mask& mask);

// Counter-clockwise with y upwards, no collinear points; one or two points where the input has no
// area.
std::vector<Point> ConvexHull(std::vector<Point> points);

// The rectangle of least area around at least one point: one of its sides lies on an edge of the
// hull.
Rectangle SmallestRectangle(const std::vector<Point>& points);

Quad OrderCorners(const Quad& corners);

// The smallest rectangle around the quadrilateral moved outwards by area * ratio / perimeter with
// round corners.
Rectangle Unclip(const Quad& quad, double ratio);

// Mean over the pixels at most half a pixel outside the quadrilateral, whose corners are first cut
// to whole pixels.
double MeanInside(const ProbabilityMap& map, const Quad& quad);

// Whether the top left corners are less than 10 pixels apart in height.
bool SameRow(const Quad& a, const Quad& b);

// Top to bottom; boxes of the same row left to right.
void SortForReading(std::vector<Quad>& boxes);

}  // namespace ocr
