// Reviews at sizes n, 2n and 4n, for scripts/check-cost. It runs this program under callgrind and
// reads the instructions of each review from the dumps "CASE SIZE".

#include "extender/admission/mutate.hpp"
#include "extender/admission/review.hpp"
#include "extender/admission/validate.hpp"
#include "tests/extender/admission/reviews.hpp"
#include "tests/testing/colliding_keys.hpp"

#include <valgrind/callgrind.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace tangram::extender {
namespace {

constexpr std::size_t kSmallest = 16'384;

/// `count` times `text`, in which each # becomes another number, with commas between.
std::string repeated(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    std::string one = text;
    const std::size_t place = one.find('#');
    if (place != std::string::npos) one.replace(place, 1, std::to_string(i));
    all += (i == 0 ? "" : ",") + one;
  }
  return all;
}

std::string pod(const std::string& metadata, const std::string& containers) {
  return R"({"metadata":{"name":"p",)" + metadata + R"(},"spec":{"containers":[)" + containers +
         "]}}";
}

std::string annotated(const std::string& annotations, const std::string& containers) {
  return pod(R"("annotations":{)" + annotations + "}", containers);
}

const std::string kNone = R"("labels":{})";
const std::string kHalf = R"("tangram.dev/gpu-fraction":"0.5")";
const std::string kContainer = R"({"name":"c#"})";

std::string limit_ranger(std::size_t size) {
  std::string said = "LimitRanger plugin set: ";
  while (said.size() < size) said += "cpu limit for container x; ";
  return annotated(R"("kubernetes.io/limit-ranger":")" + said + '"',
                   repeated(size / 128, kContainer));
}

std::string colliding(std::size_t size) {
  std::string limits;
  for (const std::string& key : testing::colliding_keys(size / 24)) {
    limits += (limits.empty() ? "\"" : ",\"") + key + R"(":"")";
  }
  return pod(kNone, R"({"name":"c","resources":{"limits":{)" + limits + "}}}");
}

std::string small_labels(std::size_t size) {
  return pod(R"("labels":{)" + repeated(size / 9, R"("#":"")") + "}", kContainer);
}

std::string small_annotations(std::size_t size) {
  return annotated(repeated(size / 9, R"("#":"")"), kContainer);
}

std::string small_limits(std::size_t size) {
  return pod(kNone,
             R"({"name":"c","resources":{"limits":{)" + repeated(size / 9, R"("#":"")") + "}}}");
}

std::string small_variables(std::size_t size) {
  return pod(kNone, R"({"name":"c","env":[)" + repeated(size / 3, "{}") + "]}");
}

std::string hami_brands(std::size_t size) {
  std::string brands;
  while (brands.size() < size) brands += "NVIDIA";
  return annotated(R"("nvidia.com/use-gputype":")" + brands + '"',
                   R"({"name":"c","resources":{"limits":{"nvidia.com/gpumem":"1"}}})");
}

/// 'a' to 'p' for each digit: letters alone may follow the profile.
std::string letters(std::size_t number) {
  std::string text;
  for (int i = 0; i < 4; ++i, number /= 16) text += static_cast<char>('a' + number % 16);
  return text;
}

std::string zero_mig(std::size_t size) {
  std::string limits;
  for (std::size_t i = 0; i < size / 128; ++i) {
    limits += (i == 0 ? "" : ",") + ("\"nvidia.com/mig-1g.10gb." + letters(i)) + R"(":"0")";
  }
  return pod(kNone, R"({"name":"c","resources":{"limits":{)" + limits + "}}}," +
                        repeated(size / 128, kContainer));
}

std::string visible_devices(std::size_t size) {
  return annotated(kHalf, R"({"name":"c","env":[)" +
                              repeated(size / 50, R"({"name":"NVIDIA_VISIBLE_DEVICES"})") + "]}");
}

std::string empty_containers(std::size_t size) { return pod(kNone, repeated(size / 3, "{}")); }

std::string many_annotations(std::size_t size) {
  return annotated(repeated(size / 24, R"("tangram.dev/gpux#":"1")"), kContainer);
}

std::string many_mistakes(std::size_t size) {
  return pod(kNone, repeated(size / 64,
                             R"({"name":"c#","resources":{"limits":{"aliyun.com/gpu-x":"1"}}})"));
}

std::string deep(std::size_t size) {
  std::string fields = "1";
  for (std::size_t i = 0; i < size / 10; ++i) fields = R"({"f:x":)" + fields + "}";
  return pod(R"("managedFields":[)" + fields + "]", kContainer);
}

std::string honest(std::size_t size) {
  const std::string variable = R"({"name":"SETTING_#","value":"some text of a usual length"})";
  return annotated(
      kHalf, repeated(size / 2'048, R"({"name":"c#","env":[)" + repeated(32, variable) + "]}"));
}

struct Case {
  const char* name;
  std::string (*pod)(std::size_t size);
};

constexpr std::array kCases{
    Case{"LimitRanger", limit_ranger},
    Case{"CollidingKeys", colliding},
    Case{"SmallLabels", small_labels},
    Case{"SmallAnnotations", small_annotations},
    Case{"SmallLimits", small_limits},
    Case{"SmallVariables", small_variables},
    Case{"HamiBrands", hami_brands},
    Case{"ZeroMigResources", zero_mig},
    Case{"VisibleDevices", visible_devices},
    Case{"EmptyContainers", empty_containers},
    Case{"ManyAnnotations", many_annotations},
    Case{"ManyMistakes", many_mistakes},
    Case{"ManagedFields", deep},
    Case{"HonestPod", honest},
};

/// All that both webhooks do with a new pod.
void review(std::string text, const AdmissionSettings& settings) {
  const auto request = decode_review(std::move(text));
  if (!request) {
    std::cerr << request.error().message << '\n';
    std::exit(1);
  }
  const AdmissionResponse mutation = mutate(*request->pod, settings);
  const AdmissionResponse answer = validate(*request, settings, {});
  std::cout << encode_review(request->uid, mutation).size() << ' '
            << encode_review(request->uid, answer).size() << '\n';
}

}  // namespace
}  // namespace tangram::extender

int main() {
  using namespace tangram;
  extender::AdmissionSettings settings = testing::shipped_settings();
  settings.other_systems = {.nvidia = true, .hami = true, .gpushare = true, .kai = true};
  for (const auto& [name, pod] : extender::kCases) {
    for (const std::size_t factor : {1U, 2U, 4U}) {
      const std::string text = testing::review_text({.object = pod(factor * extender::kSmallest)});
      const std::string dump = name + (" " + std::to_string(text.size()));
      std::cout << dump << ": " << std::flush;
      CALLGRIND_START_INSTRUMENTATION;
      CALLGRIND_ZERO_STATS;
      extender::review(text, settings);
      CALLGRIND_DUMP_STATS_AT(dump.c_str());
      CALLGRIND_STOP_INSTRUMENTATION;
    }
  }
}
