#include "geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <vector>

namespace ocr {
namespace {

Mask MakeMask(const std::vector<std::string_view>& rows) {
  Mask mask{static_cast<int>(rows.front().size()), static_cast<int>(rows.size()), {}};
  for (const std::string_view row : rows) {
    for (const char c : row) mask.set.push_back(c == '#' ? 1 : 0);
  }
  return mask;
}

void ExpectPoint(Point point, double x, double y, double tolerance = 1e-9) {
  EXPECT_NEAR(point.x, x, tolerance);
  EXPECT_NEAR(point.y, y, tolerance);
}

Quad Upright(double left, double top, double right, double bottom) {
  return {{{left, top}, {right, top}, {right, bottom}, {left, bottom}}};
}

TEST(OcrGeometry, DilateGrowsRightAndDown) {
  EXPECT_EQ(Dilate(MakeMask({"#...", "....", "...#"})).set, MakeMask({"##..", "##..", "...#"}).set);
}

TEST(OcrGeometry, OutlinesJoinDiagonalsAndKeepRegionsApart) {
  const auto outlines = FindOutlines(MakeMask({
      "##...#",
      "..#..#",
      ".....#",
      "###...",
  }));
  ASSERT_EQ(outlines.size(), 3U);
  ASSERT_EQ(outlines[0].size(), 3U);
  ExpectPoint(outlines[0][0], 0, 0);
  ExpectPoint(outlines[0][1], 1, 0);
  ExpectPoint(outlines[0][2], 2, 1);
  ASSERT_EQ(outlines[1].size(), 3U);
  ExpectPoint(outlines[1][0], 5, 0);
  ExpectPoint(outlines[1][2], 5, 2);
  ASSERT_EQ(outlines[2].size(), 2U);
  ExpectPoint(outlines[2][1], 2, 3);
}

TEST(OcrGeometry, OutlinesThatMeetOnlyAtTheBottomAreOneRegion) {
  EXPECT_EQ(FindOutlines(MakeMask({"#.#.#", "#.#.#", "#####"})).size(), 1U);
  EXPECT_EQ(FindOutlines(MakeMask({"#####", "#...#", "#.#.#", "#...#", "#####"})).size(), 2U);
}

TEST(OcrGeometry, EmptyMaskHasNoOutline) {
  EXPECT_TRUE(FindOutlines(MakeMask({"....", "...."})).empty());
}

TEST(OcrGeometry, HullDropsInnerAndCollinearPoints) {
  const std::vector<Point> hull =
      ConvexHull({{0, 0}, {2, 0}, {4, 0}, {4, 4}, {2, 2}, {0, 4}, {0, 2}, {4, 0}});
  ASSERT_EQ(hull.size(), 4U);
  ExpectPoint(hull[0], 0, 0);
  ExpectPoint(hull[1], 4, 0);
  ExpectPoint(hull[2], 4, 4);
  ExpectPoint(hull[3], 0, 4);
}

TEST(OcrGeometry, HullOfALineIsItsEnds) {
  EXPECT_EQ(ConvexHull({{0, 0}, {1, 1}, {2, 2}, {3, 3}}).size(), 2U);
  EXPECT_EQ(ConvexHull({{5, 5}, {5, 5}}).size(), 1U);
}

TEST(OcrGeometry, SmallestRectangleOfADiamondIsTheDiamond) {
  const Rectangle rectangle = SmallestRectangle({{2, 0}, {4, 2}, {2, 4}, {0, 2}, {2, 2}});
  EXPECT_NEAR(rectangle.shorter_side, std::sqrt(8.0), 1e-9);
  double area = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const Point a = rectangle.corners[i];
    const Point b = rectangle.corners[(i + 1) % 4];
    area += (a.x * b.y - a.y * b.x) / 2;
  }
  EXPECT_NEAR(area, 8, 1e-9);
}

// A 3-4-5 slope: sides 10 along (4, 3) / 5 and 5 across, so every corner is whole.
TEST(OcrGeometry, SmallestRectangleOfATiltedOne) {
  const Rectangle rectangle = SmallestRectangle({{3, 0}, {11, 6}, {8, 10}, {0, 4}, {5, 5}});
  EXPECT_NEAR(rectangle.shorter_side, 5, 1e-9);
  ExpectPoint(rectangle.corners[0], 3, 0);
  ExpectPoint(rectangle.corners[1], 11, 6);
  ExpectPoint(rectangle.corners[2], 8, 10);
  ExpectPoint(rectangle.corners[3], 0, 4);
}

TEST(OcrGeometry, SmallestRectangleWithoutArea) {
  EXPECT_EQ(SmallestRectangle({{3, 3}}).shorter_side, 0);
  EXPECT_NEAR(SmallestRectangle({{0, 0}, {3, 3}}).shorter_side, 0, 1e-12);
}

TEST(OcrGeometry, CornersStartAtTheTopLeft) {
  const Quad quad = OrderCorners({{{10, 5}, {0, 5}, {0, 0}, {10, 0}}});
  ExpectPoint(quad[0], 0, 0);
  ExpectPoint(quad[1], 10, 0);
  ExpectPoint(quad[2], 10, 5);
  ExpectPoint(quad[3], 0, 5);
}

// 40 x 10: 400 * 1.6 / 100 = 6.4 outwards on each side.
TEST(OcrGeometry, UnclipGrowsByAreaOverPerimeter) {
  const Rectangle grown = Unclip(Upright(0, 0, 40, 10), 1.6);
  EXPECT_NEAR(grown.shorter_side, 22.8, 0.02);
  ExpectPoint(grown.corners[0], -6.4, -6.4, 0.02);
  ExpectPoint(grown.corners[1], 46.4, -6.4, 0.02);
  ExpectPoint(grown.corners[2], 46.4, 16.4, 0.02);
  ExpectPoint(grown.corners[3], -6.4, 16.4, 0.02);
}

// The rectangle of sides 10 and 5 above: 50 * 3 / 30 = 5 outwards, that is (4, 3) and (-3, 4) from
// each corner.
TEST(OcrGeometry, UnclipKeepsTheSlope) {
  const Rectangle grown = Unclip({{{3, 0}, {11, 6}, {8, 10}, {0, 4}}}, 3);
  EXPECT_NEAR(grown.shorter_side, 15, 0.05);
  double area = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const Point a = grown.corners[i];
    const Point b = grown.corners[(i + 1) % 4];
    area += (a.x * b.y - a.y * b.x) / 2;
  }
  EXPECT_NEAR(area, 15 * 20, 1);
}

TEST(OcrGeometry, UnclipOfNothingIsNothing) {
  EXPECT_EQ(Unclip(Upright(3, 3, 3, 3), 1.6).shorter_side, 0);
  EXPECT_EQ(Unclip(Upright(0, 3, 9, 3), 1.6).shorter_side, 0);
}

TEST(OcrGeometry, MeanInsideCountsTheBorderAndClipsToTheMap) {
  const std::vector<float> values = {
      1, 1, 1, 0,  //
      1, 4, 1, 0,  //
      1, 1, 1, 0,  //
      0, 0, 0, 0,
  };
  const ProbabilityMap map{4, 4, values};
  EXPECT_NEAR(MeanInside(map, Upright(0, 0, 2, 2)), 12.0 / 9, 1e-6);
  EXPECT_NEAR(MeanInside(map, Upright(1, 1, 1, 1)), 4, 1e-6);
  EXPECT_NEAR(MeanInside(map, Upright(-5, -5, 9, 9)), 12.0 / 16, 1e-6);
}

TEST(OcrGeometry, ReadingOrderTakesRowsThenColumns) {
  const Quad price = Upright(700, 100, 800, 130);
  const Quad item = Upright(60, 104, 200, 134);
  const Quad title = Upright(40, 30, 500, 70);
  const Quad below = Upright(50, 115, 90, 140);
  std::vector<Quad> boxes = {below, price, item, title};
  SortForReading(boxes);
  EXPECT_EQ(boxes[0][0].x, 40);
  EXPECT_EQ(boxes[1][0].x, 60);
  EXPECT_EQ(boxes[2][0].x, 700);
  EXPECT_EQ(boxes[3][0].x, 50);
  EXPECT_TRUE(SameRow(price, item));
  EXPECT_FALSE(SameRow(price, below));
}

}  // namespace
}  // namespace ocr
