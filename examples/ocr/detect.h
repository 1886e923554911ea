#pragma once
// Finds the lines of text in a picture: the detection model and RapidOCR's default steps around it.

#include <vector>

#include "geometry.h"
#include "image.h"
#include "model.h"
#include "stages.h"

namespace ocr {

// The picture as the detector takes it: neither too large nor too small, nor too flat.
struct Page {
  Image image;
  int padding = 0;  // rows added above and below
  double scale_x = 1;
  double scale_y = 1;  // pixels of the original per pixel of the page

  Quad ToOriginal(const Quad& box) const;
};

Page MakePage(const Image& original);

// In reading order, in the page's coordinates.
std::vector<Quad> DetectLines(Model& model, const Image& page, Stages& stages);

// The same from a probability map; boxes are scaled from the map's size to the given one.
std::vector<Quad> BoxesFromMap(const ProbabilityMap& map, int width, int height);

// Adds the picture, channel by channel, each value v as v / 127.5 - 1, to the top left of an area
// `stride` wide.
void Normalise(const Image& image, float* target, int stride);

}  // namespace ocr
