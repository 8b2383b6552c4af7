#include "cluster/pod_reader.hpp"

#include "base/quote.hpp"
#include "kube/object_scan.hpp"

#include <spdlog/spdlog.h>

namespace tangram::cluster {

namespace {

/// Of text: some hundred pods, a millisecond of work for helpers that need some dozen microseconds
/// to wake up.
constexpr std::size_t kFull = std::size_t{1} << 20U;

}  // namespace

std::optional<PodReading> PodReader::read(std::string_view object) const {
  std::optional<PodReading> reading(std::in_place);
  if (auto pod = kube::decode_pod(std::string(object))) {
    reading->pod = *std::move(pod);
  } else {
    ++bad_objects_;
    auto scanned = kube::scan_pod(object);
    spdlog::warn("pod {} cannot be read, so only its node, its grant and its end count: {}",
                 quote(scanned ? scanned->full_name() : ""), pod.error().message);
    if (!scanned) return std::nullopt;
    reading->readable = false;
    reading->pod = *std::move(scanned);
  }
  if (reading->pod.finished) return reading;
  if (reading->readable) reading->plan = policies_.plan(reading->pod);
  if (!reading->pod.node.empty()) reading->recorded = recorded_allocation(reading->pod, check_);
  return reading;
}

void PodBatch::add(std::string_view object) {
  text_ += object;
  ends_.push_back(text_.size());
}

bool PodBatch::is_full() const { return text_.size() >= kFull; }

std::vector<std::optional<PodReading>> PodBatch::read() {
  const std::string_view text = text_;
  std::vector<std::optional<PodReading>> readings(ends_.size());
  threads_.run(readings.size(), threads_.helpers(), [&](std::size_t i, std::size_t /*worker*/) {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    readings[i] = reader_.read(text.substr(begin, ends_[i] - begin));
  });
  clear();
  return readings;
}

void PodBatch::clear() {
  text_.clear();
  ends_.clear();
}

}  // namespace tangram::cluster
