// The memory that reading a review takes, whatever a hostile client writes.

#include "extender/admission/limits.hpp"
#include "extender/admission/review.hpp"
#include "tests/extender/admission/reviews.hpp"
#include "tests/testing/allocations.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tangram::extender {
namespace {

/// Different words of lower-case letters, short ones first.
class Words {
 public:
  const std::string& next() {
    std::size_t i = 0;
    while (i < word_.size() && word_[i] == 'z') word_[i++] = 'a';
    if (i == word_.size()) {
      word_ += 'a';
    } else {
      ++word_[i];
    }
    return word_;
  }

 private:
  std::string word_;
};

/// `{"PREFIXa":"","PREFIXb":"",...}` of about that size.
std::string map_of(std::size_t size, const std::string& prefix) {
  Words words;
  std::string text = "{";
  text.reserve(size + 100);
  while (text.size() < size) {
    text += text.size() == 1 ? "\"" : ",\"";
    text.append(prefix).append(words.next()).append(R"(":"")");
  }
  return text + "}";
}

std::string list_of(std::size_t size, const std::string& element) {
  std::string text = "[" + element;
  text.reserve(size + 100);
  while (text.size() < size) text.append(",").append(element);
  return text + "]";
}

std::string pod(const std::string& metadata, const std::string& spec) {
  return R"({"metadata":{"name":"p")" + metadata + R"(},"spec":{)" + spec + "}}";
}

std::string labels(std::size_t size) { return pod(R"(,"labels":)" + map_of(size, ""), ""); }
std::string annotations(std::size_t size) {
  return pod(R"(,"annotations":)" + map_of(size, ""), "");
}
std::string own_annotations(std::size_t size) {
  return pod(R"(,"annotations":)" + map_of(size, "tangram.dev/"), "");
}
std::string owners(std::size_t size) {
  return pod(R"(,"ownerReferences":)" + list_of(size, "{}"), "");
}
std::string selectors(std::size_t size) { return pod("", R"("nodeSelector":)" + map_of(size, "")); }
std::string container(const std::string& rest) {
  return pod("", R"("containers":[{"name":"c",)" + rest + "}]");
}
std::string limits(std::size_t size) {
  return container(R"("resources":{"limits":)" + map_of(size, "") + "}");
}
std::string requests_of_many(std::size_t size) {
  const std::string one = R"({"resources":{"requests":)" + map_of(180, "") + "}}";
  return pod("", R"("containers":)" + list_of(size, one));
}
std::string variables(std::size_t size) {
  return container(R"("env":)" + list_of(size, R"({"name":"a","value":"b"})"));
}
std::string empty_variables(std::size_t size) {
  return container(R"("env":)" + list_of(size, "{}"));
}
std::string visible_devices(std::size_t size) {
  return container(R"("env":)" + list_of(size, R"({"name":"NVIDIA_VISIBLE_DEVICES"})"));
}
std::string env_from(std::size_t size) { return container(R"("envFrom":)" + list_of(size, "{}")); }
std::string empty_containers(std::size_t size) {
  return pod("", R"("containers":)" + list_of(size, "{}"));
}
std::string long_names(std::size_t size) {
  const std::string name(size / 4, 'n');
  return pod(R"(,"namespace":")" + name + R"(","generateName":")" + name + '"',
             R"("nodeName":")" + name + R"(","containers":[{"name":")" + name + R"("}])");
}

struct Case {
  const char* name;
  std::string (*pod)(std::size_t size);
};

class HostileReviewTest : public ::testing::TestWithParam<Case> {};

/// The most that reading it takes beside the text.
std::size_t peak_of(std::string text) {
  const testing::PeakAllocation peak;
  { const auto request = decode_review(std::move(text)); }
  return peak.bytes();
}

std::string update_of(const std::string& pod) {
  return testing::review_text({.operation = "UPDATE", .object = pod, .old_object = pod});
}

TEST_P(HostileReviewTest, MemoryIsBoundedByTheText) {
  for (const std::size_t size : {40'000U, 160'000U}) {
    const std::string text = update_of(GetParam().pod(size));
    EXPECT_LE(peak_of(text), most_memory_to_read(text.size())) << text.size();
  }
}

/// Almost as many annotations as fit into a stored pod, and almost as many values as are read.
TEST(ReviewMemoryTest, TheLargestReviewThatIsReadTakesAsMuchAsIsCounted) {
  const std::string text = update_of(pod(R"(,"annotations":)" + map_of(650'000, "") +
                                             R"(,"ownerReferences":)" + list_of(580'000, "{}"),
                                         ""));
  const auto request = decode_review(text);
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_GT(request->old_pod.value().annotations.size(), 60'000U);
  EXPECT_LE(peak_of(text), most_memory_to_read(text.size()));
}

TEST(ReviewMemoryTest, MoreValuesTakeNoMore) {
  const std::string text = update_of(owners(1'700'000));
  EXPECT_FALSE(decode_review(text).has_value());
  EXPECT_LE(peak_of(text), most_memory_to_read(text.size()));
}

TEST(ReviewMemoryTest, WhatIsNotReadTakesNoMoreThanItsText) {
  for (const auto& hostile : {labels, selectors}) {
    const std::string text = update_of(hostile(640'000));
    EXPECT_LE(peak_of(text), text.size() + 100'000);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileReviewTest,
    ::testing::Values(Case{"Labels", labels}, Case{"Annotations", annotations},
                      Case{"OwnAnnotations", own_annotations}, Case{"Owners", owners},
                      Case{"Selectors", selectors}, Case{"Limits", limits},
                      Case{"RequestsOfMany", requests_of_many}, Case{"Variables", variables},
                      Case{"EmptyVariables", empty_variables},
                      Case{"VisibleDevices", visible_devices}, Case{"EnvFrom", env_from},
                      Case{"EmptyContainers", empty_containers}, Case{"LongNames", long_names}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tangram::extender
