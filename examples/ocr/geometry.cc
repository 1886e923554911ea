#include "geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <polyclipping/clipper.hpp>

namespace ocr {
namespace {

double Cross(Point origin, Point a, Point b) {
  return (a.x - origin.x) * (b.y - origin.y) - (a.y - origin.y) * (b.x - origin.x);
}

struct Run {
  int row;
  int first;
  int last;
};

std::vector<Run> FindRuns(const Mask& mask) {
  std::vector<Run> runs;
  for (int y = 0; y < mask.height; ++y) {
    const std::uint8_t* row = mask.set.data() + static_cast<std::size_t>(y) * mask.width;
    for (int x = 0; x < mask.width; ++x) {
      if (row[x] == 0) continue;
      const int first = x;
      while (x + 1 < mask.width && row[x + 1] != 0) ++x;
      runs.push_back({y, first, x});
    }
  }
  return runs;
}

std::size_t Root(std::vector<std::size_t>& parent, std::size_t run) {
  while (parent[run] != run) {
    parent[run] = parent[parent[run]];
    run = parent[run];
  }
  return run;
}

// parent[i] leads to the first run of the region that run i belongs to.
std::vector<std::size_t> JoinRuns(const std::vector<Run>& runs) {
  std::vector<std::size_t> parent(runs.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  std::size_t above = 0;
  for (std::size_t here = 0; here < runs.size(); ++here) {
    const Run& run = runs[here];
    while (runs[above].row < run.row - 1 ||
           (runs[above].row == run.row - 1 && runs[above].last + 1 < run.first)) {
      ++above;
    }
    for (std::size_t other = above;
         runs[other].row == run.row - 1 && runs[other].first <= run.last + 1; ++other) {
      const std::size_t a = Root(parent, other);
      const std::size_t b = Root(parent, here);
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  return parent;
}

}  // namespace

double Distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

Mask Dilate(const Mask& mask) {
  Mask grown = mask;
  const auto index = [&](int x, int y) { return static_cast<std::size_t>(y) * mask.width + x; };
  for (int y = 0; y < mask.height; ++y) {
    for (int x = 0; x < mask.width; ++x) {
      if (mask.set[index(x, y)] == 0) continue;
      const bool right = x + 1 < mask.width;
      const bool below = y + 1 < mask.height;
      if (right) grown.set[index(x + 1, y)] = 1;
      if (below) grown.set[index(x, y + 1)] = 1;
      if (right && below) grown.set[index(x + 1, y + 1)] = 1;
    }
  }
  return grown;
}

std::vector<std::vector<Point>> FindOutlines(const Mask& mask) {
  const std::vector<Run> runs = FindRuns(mask);
  std::vector<std::size_t> parent = JoinRuns(runs);
  std::vector<std::vector<Point>> outlines;
  std::vector<std::size_t> outline_of_root(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t root = Root(parent, i);
    if (root == i) {
      outline_of_root[i] = outlines.size();
      outlines.emplace_back();
    }
    std::vector<Point>& outline = outlines[outline_of_root[root]];
    outline.push_back({double(runs[i].first), double(runs[i].row)});
    if (runs[i].last != runs[i].first) {
      outline.push_back({double(runs[i].last), double(runs[i].row)});
    }
  }
  return outlines;
}

// Andrew's monotone chain.
std::vector<Point> ConvexHull(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  points.erase(std::unique(points.begin(), points.end(),
                           [](Point a, Point b) { return a.x == b.x && a.y == b.y; }),
               points.end());
  if (points.size() <= 2) return points;
  std::vector<Point> hull;
  const auto add_chain = [&hull](auto begin, auto end) {
    const std::size_t start = hull.size();
    for (auto point = begin; point != end; ++point) {
      while (hull.size() >= start + 2 && Cross(hull[hull.size() - 2], hull.back(), *point) <= 0) {
        hull.pop_back();
      }
      hull.push_back(*point);
    }
    hull.pop_back();
  };
  add_chain(points.begin(), points.end());
  add_chain(points.rbegin(), points.rend());
  return hull;
}

Rectangle SmallestRectangle(const std::vector<Point>& points) {
  const std::vector<Point> hull = ConvexHull(points);
  double least_area = std::numeric_limits<double>::infinity();
  Rectangle best;
  for (std::size_t i = 0; i < hull.size(); ++i) {
    const Point next = hull[(i + 1) % hull.size()];
    const double length = Distance(hull[i], next);
    const Point along = length > 0
                            ? Point{(next.x - hull[i].x) / length, (next.y - hull[i].y) / length}
                            : Point{1, 0};
    double u_low = std::numeric_limits<double>::infinity();
    double v_low = u_low;
    double u_high = -u_low;
    double v_high = -u_low;
    for (const Point point : hull) {
      const double u = point.x * along.x + point.y * along.y;
      const double v = point.y * along.x - point.x * along.y;
      u_low = std::min(u_low, u);
      u_high = std::max(u_high, u);
      v_low = std::min(v_low, v);
      v_high = std::max(v_high, v);
    }
    const double width = u_high - u_low;
    const double height = v_high - v_low;
    if (width * height >= least_area) continue;
    least_area = width * height;
    const auto back = [along](double u, double v) {
      return Point{u * along.x - v * along.y, u * along.y + v * along.x};
    };
    best = {{back(u_low, v_low), back(u_high, v_low), back(u_high, v_high), back(u_low, v_high)},
            std::min(width, height)};
  }
  best.corners = OrderCorners(best.corners);
  return best;
}

Quad OrderCorners(const Quad& corners) {
  Quad sorted = corners;
  std::stable_sort(sorted.begin(), sorted.end(), [](Point a, Point b) { return a.x < b.x; });
  if (sorted[0].y > sorted[1].y) std::swap(sorted[0], sorted[1]);
  if (sorted[2].y > sorted[3].y) std::swap(sorted[2], sorted[3]);
  return {sorted[0], sorted[2], sorted[3], sorted[1]};
}

Rectangle Unclip(const Quad& quad, double ratio) {
  // Clipper works on whole numbers: 256 of its units are one pixel.
  constexpr double kUnits = 256;
  constexpr double kArcTolerance = 0.05 * kUnits;
  double twice_area = 0;
  double perimeter = 0;
  ClipperLib::Path path;
  for (std::size_t i = 0; i < quad.size(); ++i) {
    const Point a = quad[i];
    const Point b = quad[(i + 1) % quad.size()];
    twice_area += a.x * b.y - a.y * b.x;
    perimeter += Distance(a, b);
    path.emplace_back(std::llround(a.x * kUnits), std::llround(a.y * kUnits));
  }
  if (twice_area == 0) return {quad, 0};
  const double distance = std::abs(twice_area) / 2 * ratio / perimeter;
  ClipperLib::ClipperOffset offset(2.0, kArcTolerance);
  offset.AddPath(path, ClipperLib::jtRound, ClipperLib::etClosedPolygon);
  ClipperLib::Paths grown;
  offset.Execute(grown, distance * kUnits);
  std::vector<Point> points;
  for (const ClipperLib::Path& part : grown) {
    for (const ClipperLib::IntPoint& point : part) {
      points.push_back({double(point.X) / kUnits, double(point.Y) / kUnits});
    }
  }
  return points.empty() ? Rectangle{quad, 0} : SmallestRectangle(points);
}

double MeanInside(const ProbabilityMap& map, const Quad& quad) {
  const auto [left, right] = std::minmax({quad[0].x, quad[1].x, quad[2].x, quad[3].x});
  const auto [top, bottom] = std::minmax({quad[0].y, quad[1].y, quad[2].y, quad[3].y});
  const int x_low = std::clamp(static_cast<int>(std::floor(left)), 0, map.width - 1);
  const int x_high = std::clamp(static_cast<int>(std::ceil(right)), 0, map.width - 1);
  const int y_low = std::clamp(static_cast<int>(std::floor(top)), 0, map.height - 1);
  const int y_high = std::clamp(static_cast<int>(std::ceil(bottom)), 0, map.height - 1);
  Quad cut;
  for (std::size_t i = 0; i < quad.size(); ++i) {
    cut[i] = {x_low + std::trunc(quad[i].x - x_low), y_low + std::trunc(quad[i].y - y_low)};
  }
  double sum = 0;
  std::int64_t count = 0;
  for (int y = y_low; y <= y_high; ++y) {
    for (int x = x_low; x <= x_high; ++x) {
      bool inside = true;
      for (std::size_t i = 0; i < cut.size() && inside; ++i) {
        const Point a = cut[i];
        const Point b = cut[(i + 1) % cut.size()];
        inside = Cross(a, b, {double(x), double(y)}) >= -0.5 * Distance(a, b);
      }
      if (!inside) continue;
      sum += map.values[static_cast<std::size_t>(y) * map.width + x];
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

bool SameRow(const Quad& a, const Quad& b) { return std::abs(a[0].y - b[0].y) < 10; }

void SortForReading(std::vector<Quad>& boxes) {
  std::stable_sort(boxes.begin(), boxes.end(), [](const Quad& a, const Quad& b) {
    return a[0].y < b[0].y || (a[0].y == b[0].y && a[0].x < b[0].x);
  });
  // "Same row" is not transitive, so this cannot be the order of a sort: neighbours are exchanged
  // instead.
  for (std::size_t i = 1; i < boxes.size(); ++i) {
    for (std::size_t j = i; j > 0; --j) {
      if (!SameRow(boxes[j], boxes[j - 1]) || boxes[j][0].x >= boxes[j - 1][0].x) break;
      std::swap(boxes[j], boxes[j - 1]);
    }
  }
}

}  // namespace ocr
