#include "kube/list_watch_codec.hpp"
#include "kube/rest/frame_splitter.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <fuzzer/FuzzedDataProvider.h>

#include <vector>

namespace {

using namespace tangram;
using fuzz::require;
using Frames = std::vector<std::string>;

void take_frames(kube::FrameSplitter& splitter, Frames& frames) {
  while (auto frame = splitter.next()) frames.push_back(std::move(*frame));
}

/// What a frame says must be said by a frame made anew of it, too.
void check(const std::string& frame) {
  const auto event = kube::read_watch_event(frame);
  if (!event) return;
  require(event->is_error || !event->version.empty());
  require(frame.find(event->object) != std::string::npos);
  const std::string type = event->is_error                               ? "ERROR"
                           : !event->change                              ? "BOOKMARK"
                           : event->change == kube::EventType::kAdded    ? "ADDED"
                           : event->change == kube::EventType::kModified ? "MODIFIED"
                                                                         : "DELETED";
  const std::string text =
      R"({"type":")" + type + R"(","object":)" + std::string(event->object) + "}";
  const auto again = kube::read_watch_event(text);
  require(again && again->object == event->object);
  require(again->version == event->version && again->ends_list == event->ends_list);
  require(again->code == event->code && again->message == event->message);
}

}  // namespace

/// Any stream, in any pieces: gives the frames that it gives in one piece.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  kube::FrameSplitter in_pieces;
  Frames frames;
  std::string stream;
  while (input.remaining_bytes() > 0) {
    const std::string piece = input.ConsumeBytesAsString(input.ConsumeIntegral<std::uint8_t>());
    stream += piece;
    in_pieces.add(piece);
    take_frames(in_pieces, frames);
  }
  kube::FrameSplitter at_once;
  at_once.add(stream);
  Frames expected;
  take_frames(at_once, expected);
  require(frames == expected && in_pieces.unfinished() == at_once.unfinished());
  require(at_once.unfinished() == stream.size() - (stream.rfind('\n') + 1));
  for (const std::string& frame : frames) check(frame);
  return 0;
}
