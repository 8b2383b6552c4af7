#include "model/request.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <algorithm>
#include <string_view>

namespace {

using namespace tangram::model;
using tangram::fuzz::require;

/// "key=value" per line.
Annotations annotations_of(std::string_view text) {
  Annotations annotations;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto equals = std::min(line.find('='), line.size());
    annotations[std::string(line.substr(0, equals))] =
        line.substr(std::min(equals + 1, line.size()));
  }
  return annotations;
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

/// What the rest of the program relies on.
void check(const ContainerRequest& container) {
  const Share& share = container.share;
  require(container.count >= 1 && container.count <= kMaxCardsPerContainer);
  if (share.form == ShareForm::kFraction) {
    require(share.fraction.count() >= 1 && share.fraction.count() <= 1000);
  }
  if (share.form == ShareForm::kMemory) require(share.memory.count() >= 1);
  if (share.compute) require(share.compute->count() >= 0 && share.compute->count() <= 1000);
  Card card;
  card.memory = tangram::Mebibytes(81'920);
  const Slice slice = slice_of(share, card);
  require(slice.memory <= slice.memory_limit && slice.compute <= slice.compute_limit);
}

}  // namespace

/// The first byte lays out the pod, the rest are its annotations.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned layout = data[0];
  const std::vector<ContainerInfo> pod{
      {.name = "main", .slots = layout & 1U},
      {.name = "side", .slots = (layout >> 1U) & 1U},
      {.name = "init", .slots = (layout >> 2U) & 1U, .ordinary_init = (layout & 8U) != 0}};
  const Annotations annotations =
      annotations_of({reinterpret_cast<const char*>(data) + 1, size - 1});
  const auto request =
      parse_request(annotations, pod, {.default_isolation = Isolation::kTimeSlice});
  if (!request) {
    require(printable(request.error().message));
    require(request.error().message.size() < 20'000);
    return 0;
  }
  for (const ContainerRequest& container : request->containers) check(container);
  static_cast<void>(globs_match(request->models, "A100-SXM4-80GB"));
  return 0;
}
