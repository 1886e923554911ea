#include "session/option_checks.h"

#include <gtest/gtest.h>

#include <functional>

namespace switchyard {
namespace {

std::string Refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
  return "";
}

TEST(CheckOptions, SwitchesAreOnOrOff) {
  for (const char* key : {"switchyard.strict_providers", "session.disable_cpu_ep_fallback",
                          "session.set_denormal_as_zero"}) {
    SessionOptions options;
    options.AddConfigEntry(key, "perhaps");
    const std::string text = Refusal([&] { CheckOptions(options); });
    EXPECT_NE(text.find(key), std::string::npos);
    EXPECT_NE(text.find("'perhaps'"), std::string::npos);
    for (const char* value : {"", "0", "1", "true", "OFF"}) {
      options.AddConfigEntry(key, value);
      EXPECT_EQ(Refusal([&] { CheckOptions(options); }), "") << value;
    }
  }
}

TEST(CheckOptions, DimsAreFixedToOneOrMore) {
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    SessionOptions by_name, by_denotation;
    by_name.free_dimension_overrides.emplace_back("batch", size);
    by_denotation.free_dimension_overrides_by_denotation.emplace_back("DATA_BATCH", size);
    for (const SessionOptions* options : {&by_name, &by_denotation}) {
      const std::string text = Refusal([&] { CheckOptions(*options); });
      EXPECT_NE(text.find(std::to_string(size)), std::string::npos) << text;
    }
  }
}

TEST(DisabledPasses, AreOursOrThoseThatTheirsStandFor) {
  const std::vector<std::string> known = {"constant_folding", "gelu"};
  SessionOptions options;
  options.disabled_passes = {"gelu", "ConstantFolding"};
  options.AddConfigEntry("optimization.disable_specified_optimizers",
                         " GeluFusionL2; EmbedLayerNormFusion,constant_folding;");
  EXPECT_EQ(DisabledPasses(options, known),
            (std::vector<std::string>{"gelu", "constant_folding", "gelu", "constant_folding"}));
  options.disabled_passes = {"constantfolding"};
  const std::string text = Refusal([&] { DisabledPasses(options, known); });
  EXPECT_NE(text.find("'constantfolding'"), std::string::npos);
  EXPECT_NE(text.find("constant_folding, gelu"), std::string::npos);
}

}  // namespace
}  // namespace switchyard
