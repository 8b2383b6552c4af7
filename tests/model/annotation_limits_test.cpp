// Annotations as long as Kubernetes lets them be: answered in a sentence that can be read, and at
// once. How long it takes is not measured here; a decoder that is not linear would not end.

#include "model/cards.hpp"
#include "model/grant.hpp"
#include "model/request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::model {
namespace {

/// Of all annotations of an object together: Kubernetes' own limit.
constexpr std::size_t kLongest = std::size_t{256} << 10;

/// An event's note has 1,024 bytes, an admission message fits a terminal: a few of those will do.
constexpr std::size_t kReadable = 8'192;

std::string repeated(std::string_view part) {
  std::string text;
  while (text.size() + part.size() <= kLongest) text += part;
  return text;
}

const std::vector<std::string>& long_texts() {
  static const std::vector<std::string> kTexts{repeated("x"),   repeated("9"),
                                               repeated("0."),  repeated("0.1"),
                                               repeated(","),   repeated("*"),
                                               repeated("a*,"), repeated("!A,"),
                                               repeated(" "),   repeated("\n"),
                                               repeated("["),   repeated("{\"a\":"),
                                               repeated("é"),   std::string(kLongest, '\0')};
  return kTexts;
}

std::string answer_to(const Annotations& annotations) {
  const auto request = parse_request(annotations, {{.name = "main", .slots = 1}},
                                     {.default_isolation = Isolation::kMps});
  return request ? "" : request.error().message;
}

TEST(AnnotationLimitsTest, ALongValueIsAnsweredInAFewLines) {
  for (const std::string key :
       {"gpu-fraction", "gpu-mem", "gpu-compute", "gpu-count", "gpu-mem-limit", "gpu-compute-limit",
        "gpu-model", "gpu-uuid", "gpu-policy", "gpu-isolation", "gpu-memory-limits",
        "gpu-container", "gpu-fraction.main", "gpu-unheard-of"}) {
    for (const auto& text : long_texts()) {
      EXPECT_LE(answer_to({{key, text}, {"gpu-count", "1"}}).size(), kReadable) << key;
    }
  }
}

TEST(AnnotationLimitsTest, ALongKeyIsAnsweredInAFewLines) {
  for (const auto& text : long_texts()) {
    EXPECT_LE(answer_to({{"gpu-" + text, "1"}}).size(), kReadable);
    EXPECT_LE(answer_to({{"gpu-fraction." + text, "0.5"}}).size(), kReadable);
  }
}

TEST(AnnotationLimitsTest, ManyAnnotationsAreAnsweredInAFewLines) {
  Annotations many;
  for (int i = 0; i < 10'000; ++i) many["gpu-wrong-" + std::to_string(i)] = "1";
  for (int i = 0; i < 10'000; ++i) many["gpu-fraction.c" + std::to_string(i)] = "0.5";
  const auto message = answer_to(many);
  EXPECT_NE(message, "");
  EXPECT_LE(message.size(), kReadable);
}

TEST(AnnotationLimitsTest, LongTextsAreNoGrantAndNoCards) {
  for (const auto& text : long_texts()) {
    const auto grant = decode_grant(text);
    ASSERT_FALSE(grant);
    EXPECT_LE(grant.error().message.size(), kReadable);
    const auto cards = decode_cards(text);
    ASSERT_FALSE(cards);
    EXPECT_LE(cards.error().message.size(), kReadable);
  }
}

}  // namespace
}  // namespace tangram::model
