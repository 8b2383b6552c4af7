// Random pods of other systems: whatever is translated can be read, asks for no less memory than
// was asked, and is left alone when it comes again.

#include "extender/admission/translation.hpp"
#include "model/request.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <random>

namespace tangram::extender {
namespace {

using testing::Random;

constexpr int kRounds = 5000;
constexpr std::int64_t kCardMib = 40'960;

/// A pod, and by container how much memory of each card it asks for, at least.
struct Expected {
  kube::PodManifest pod;
  std::map<std::string, std::int64_t> mib;
  std::map<std::string, std::int64_t> cards;
};

void request_from_hami(Random& random, kube::ContainerManifest& container, Expected& asked) {
  asked.cards[container.name] = random.between(1, 3);
  std::int64_t& mib = asked.mib[container.name];
  container.limits["nvidia.com/gpu"] = std::to_string(asked.cards[container.name]);
  mib = kCardMib;
  if (random.chance(40)) {
    mib = random.between(1, kCardMib);
    container.limits["nvidia.com/gpumem"] = std::to_string(mib);
  } else if (random.chance(50)) {
    const auto percent = random.between(1, 100);
    mib = percent * kCardMib / 100;
    container.limits["nvidia.com/gpumem-percentage"] = std::to_string(percent);
  }
  if (random.chance(40))
    container.limits["nvidia.com/gpucores"] = std::to_string(random.between(0, 100));
}

void request_from_gpushare(Random& random, kube::ContainerManifest& container, Expected& asked) {
  const auto gib = random.between(1, 80);
  container.limits["aliyun.com/gpu-mem"] = std::to_string(gib);
  std::int64_t cards = 1;
  if (const auto label = asked.pod.labels.find("aliyun.com/gpu-count");
      label != asked.pod.labels.end()) {
    cards = std::stoll(label->second);
  }
  asked.cards[container.name] = cards;
  asked.mib[container.name] = gib * 1024 / cards;
}

void request_from_kai(Random& random, Expected& asked) {
  const kube::ContainerManifest& container =
      asked.pod.containers[static_cast<std::size_t>(random.between(0, 1))];
  if (container.index > 0) asked.pod.annotations["gpu-fraction-container-name"] = container.name;
  asked.cards[container.name] = random.between(1, 3);
  asked.pod.annotations["gpu-fraction-num-devices"] = std::to_string(asked.cards[container.name]);
  if (random.chance(50)) {
    const auto tenthousandths = random.between(1, 9999);
    asked.mib[container.name] = tenthousandths * kCardMib / 10'000;
    std::string text = std::to_string(10'000 + tenthousandths);
    asked.pod.annotations["gpu-fraction"] = text.replace(0, 1, "0.");
  } else {
    asked.mib[container.name] = random.between(1, kCardMib);
    asked.pod.annotations["gpu-memory"] = std::to_string(asked.mib[container.name]);
  }
}

kube::PodManifest two_containers(Random& random) {
  kube::PodManifest pod;
  for (std::size_t i = 0; i < 2; ++i) {
    kube::ContainerManifest container;
    container.index = i;
    container.name = (i == 0 ? "a" : "b") + std::string(random.chance(10) ? 50 : 0, 'x');
    pod.containers.push_back(container);
  }
  return pod;
}

using RequestFrom = void (*)(Random&, kube::ContainerManifest&, Expected&);

/// Each container more often than not.
void ask_of_containers(Random& random, RequestFrom ask, Expected& asked) {
  for (kube::ContainerManifest& container : asked.pod.containers) {
    if (!random.chance(30)) ask(random, container, asked);
  }
}

Expected random_pod(Random& random) {
  Expected asked;
  asked.pod = two_containers(random);
  const auto system = random.between(0, 2);
  if (system == 0) ask_of_containers(random, request_from_hami, asked);
  if (system == 1) {
    if (random.chance(30))
      asked.pod.labels["aliyun.com/gpu-count"] = std::to_string(random.between(1, 4));
    ask_of_containers(random, request_from_gpushare, asked);
  }
  if (system == 2) request_from_kai(random, asked);
  return asked;
}

Result<model::GpuRequest> read(const kube::PodManifest& pod) {
  model::Annotations annotations;
  for (const auto& [name, value] : pod.annotations) {
    if (name.starts_with(model::kPrefix)) annotations[name.substr(model::kPrefix.size())] = value;
  }
  std::vector<model::ContainerInfo> containers;
  for (const kube::ContainerManifest& container : pod.containers) {
    containers.push_back({.name = container.name, .slots = 0, .ordinary_init = false});
  }
  return model::parse_request(annotations, containers,
                              {.default_isolation = model::Isolation::kMps});
}

TEST(TranslatePropertyTest, AsksForNoLessAndOnlyOnce) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;  // at once: a sanitizer ends the program
  Random random(seed);
  const OtherSystems systems{.nvidia = true, .hami = true, .gpushare = true, .kai = true};
  model::Card card;
  card.memory = Mebibytes(kCardMib);
  card.compute = kWholeGpu;
  int translated = 0;
  for (int round = 0; round < kRounds; ++round) {
    Expected asked = random_pod(random);
    const Translation made = translate(asked.pod, systems);
    if (!made.mistakes.empty()) {  // the only one that these pods can have
      ASSERT_NE(made.mistakes[0].find("too long"), std::string::npos) << made.mistakes[0];
      continue;
    }
    for (const auto& [name, value] : made.annotations) asked.pod.annotations[name] = value;
    for (kube::ContainerManifest& container : asked.pod.containers) {
      for (const std::string& name : made.resources) container.limits.erase(name);
      ASSERT_TRUE(container.limits.empty());
    }
    const auto request = read(asked.pod);
    ASSERT_TRUE(request) << request.error().message;
    ASSERT_EQ(request->containers.size(), asked.cards.size());
    for (const model::ContainerRequest& container : request->containers) {
      EXPECT_EQ(container.count, asked.cards.at(container.container));
      EXPECT_GE(slice_of(container.share, card).memory.count(), asked.mib.at(container.container));
    }
    ASSERT_TRUE(translate(asked.pod, systems).empty());
    ++translated;
  }
  EXPECT_GT(translated, kRounds / 2);
}

}  // namespace
}  // namespace tangram::extender
