// Reads the text in a picture with the PP-OCR models: finds the lines, turns those that are upside
// down, reads them. Prints the text, where each model ran and the time per stage, and draws the
// boxes.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "detect.h"
#include "image.h"
#include "image_io.h"
#include "model.h"
#include "read_lines.h"
#include "stages.h"

namespace ocr {
namespace {

struct Options {
  std::string models = "models/ppocr";
  std::string image;
  std::string output = "build/demo/ocr.png";
  std::vector<std::string> providers = {"CPUExecutionProvider"};
  int threads = 0;
  bool text_only = false;
};

struct Models {
  explicit Models(const Options& options)
      : detection(options.models + "/ch_PP-OCRv4_det_infer.onnx", options.providers,
                  options.threads),
        angle(options.models + "/ch_ppocr_mobile_v2.0_cls_infer.onnx", options.providers,
              options.threads),
        recognition(options.models + "/ch_PP-OCRv4_rec_infer.onnx", options.providers,
                    options.threads),
        alphabet(ReadAlphabet(options.models + "/keys.txt")) {}

  Model detection;
  Model angle;
  Model recognition;
  std::vector<std::string> alphabet;
};

struct Found {
  Quad box;
  std::string text;
};

std::vector<Found> FindText(Models& models, const Image& page, Stages& stages) {
  const std::vector<Quad> boxes = DetectLines(models.detection, page, stages);
  std::vector<Image> lines = stages("crop lines", [&] {
    std::vector<Image> crops;
    for (const Quad& box : boxes) crops.push_back(CropQuad(page, box));
    return crops;
  });
  TurnUpright(models.angle, lines, stages);
  const std::vector<Text> texts = ReadLines(models.recognition, lines, models.alphabet, stages);
  std::vector<Found> found;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (texts[i].score >= kMinTextScore) found.push_back({boxes[i], texts[i].characters});
  }
  return found;
}

void PrintText(const std::vector<Found>& found) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool continues = i > 0 && SameRow(found[i - 1].box, found[i].box);
    const char* separator = i == 0 ? "" : continues ? " " : "\n";
    std::printf("%s%s", separator, found[i].text.c_str());
  }
  std::printf("\n");
}

void PrintReport(const Models& models, const Stages& stages) {
  std::printf("\nPlacement\n");
  std::printf("  detection    %s\n", models.detection.Placement().c_str());
  std::printf("  angle        %s\n", models.angle.Placement().c_str());
  std::printf("  recognition  %s\n", models.recognition.Placement().c_str());
  std::printf("\nTime (ms)\n");
  double sum = 0;
  for (const auto& [name, milliseconds] : stages.milliseconds()) {
    std::printf("  %-16s %9.2f\n", name.c_str(), milliseconds);
    sum += milliseconds;
  }
  std::printf("  %-16s %9.2f\n", "all", sum);
}

void ReadPicture(const Options& options) {
  Stages stages;
  Models models = stages("load models", [&] { return Models(options); });
  Image original = stages("read picture", [&] {
    return ReadImage(options.image.empty() ? options.models + "/sample.png" : options.image);
  });
  const Page page = stages("fit picture", [&] { return MakePage(original); });
  const std::vector<Found> found = FindText(models, page.image, stages);
  stages("write picture", [&] {
    for (const Found& item : found) DrawQuad(original, page.ToOriginal(item.box));
    const std::filesystem::path folder = std::filesystem::path(options.output).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder);
    WritePng(options.output, original);
  });
  PrintText(found);
  if (options.text_only) return;
  PrintReport(models, stages);
  std::printf("\nBoxes drawn in %s\n", options.output.c_str());
}

}  // namespace
}  // namespace ocr

int main(int argc, char** argv) {
  ocr::Options options;
  CLI::App app("Reads the text in a picture with the PP-OCR models.");
  app.add_option("--models", options.models, "Folder with the three models and keys.txt")
      ->capture_default_str();
  app.add_option("image", options.image, "PNG or JPEG (default: sample.png of the models' folder)");
  app.add_option("--output", options.output, "Where to write the picture with the boxes (PNG)")
      ->capture_default_str();
  app.add_option("--providers", options.providers, "Execution providers in order of preference")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Threads per model; 0: one per core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--text-only", options.text_only, "Print the text and nothing else");
  CLI11_PARSE(app, argc, argv);
  try {
    ocr::ReadPicture(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ocr: %s\n", error.what());
    return 1;
  }
  return 0;
}
