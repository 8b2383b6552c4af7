#include "model/resizes.hpp"

#include "model/amounts_codec.hpp"
#include "model/codec.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <utility>

namespace tangram::model {

namespace {

constexpr int kVersion = 1;

ResizeRefusal read_refusal(json::Reader& in) {
  const auto name = std::ranges::find(kResizeRefusalNames, in.string());
  if (name == kResizeRefusalNames.end()) return ResizeRefusal::kUnknown;
  return static_cast<ResizeRefusal>(name - kResizeRefusalNames.begin());
}

/// Reads an object of at most `most` members, which are called `what`.
template <class Members, class Read>
void read_map(json::Reader& in, std::string_view what, std::size_t most, Members& members,
              Read&& read) {
  in.object([&](std::string_view name) {
    std::string key(name);
    if (key.empty() || key.size() > kMaxName) {
      in.fail("the name of a " + std::string(what) + " has a wrong length");
    }
    if (members.size() == most) {
      in.fail("more than " + std::to_string(most) + " " + std::string(what) + "s");
    }
    members.insert_or_assign(std::move(key), read());
  });
}

HeldAmounts read_held(json::Reader& in) {
  HeldAmounts held;
  const auto read_card = [&] { return codec::amounts(in); };
  read_map(in, "container", kMaxGpuContainers, held, [&] {
    HeldAmounts::mapped_type cards;
    read_map(in, "card", kMaxCardsPerContainer, cards, read_card);
    for (const auto& [uuid, amounts] : cards) codec::check_limits(in, uuid, amounts);
    return cards;
  });
  return held;
}

ResizeAnswer read_answer(json::Reader& in) {
  ResizeAnswer answer;
  codec::object(
      in, {"revision"}, "revision", codec::into(answer.applied, 0, Grant::kMaxRevision), "refused",
      codec::into(answer.refused, 1, Grant::kMaxRevision), "why",
      [&](json::Reader&) { answer.why = read_refusal(in); }, "held",
      [&](json::Reader&) { answer.held = read_held(in); });
  if ((answer.refused > 0) != answer.why.has_value()) in.fail("\"refused\" needs \"why\"");
  if (answer.refused > 0 && answer.refused <= answer.applied) {
    in.fail("the refused revision is not later than the applied one");
  }
  return answer;
}

void write_held(json::Writer& out, const HeldAmounts& held) {
  out.begin_object();
  for (const auto& [container, cards] : held) {
    out.key(container).begin_object();
    for (const auto& [uuid, amounts] : cards) {
      out.key(uuid);
      codec::write(out, amounts);
    }
    out.end_object();
  }
  out.end_object();
}

}  // namespace

void keep_to_size(ResizeAnswers& answers, const std::set<std::string, std::less<>>& as_granted) {
  std::size_t size = encode_resizes(answers).size();
  for (const bool first : {true, false}) {
    for (auto last = answers.rbegin(); last != answers.rend() && size > kMaxResizesBytes; ++last) {
      if (last->second.held.empty() || as_granted.contains(last->first) != first) continue;
      const std::size_t with = encode_resizes({*last}).size();
      last->second.held.clear();
      size -= with - encode_resizes({*last}).size();
    }
  }
}

std::string encode_resizes(const ResizeAnswers& answers) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("version", kVersion).key("pods").begin_object();
  for (const auto& [uid, answer] : answers) {
    out.key(uid).begin_object().member("revision", answer.applied);
    if (answer.refused > 0) {
      out.member("refused", answer.refused).member("why", to_string(*answer.why));
    }
    if (!answer.held.empty()) {
      out.key("held");
      write_held(out, answer.held);
    }
    out.end_object();
  }
  out.end_object().end_object();
  return text;
}

Result<ResizeAnswers> decode_resizes(std::string text) {
  json::Reader in(text);
  ResizeAnswers answers;
  const auto pods = [&](json::Reader&) {
    read_map(in, "pod", kMaxResizeAnswers, answers, [&] { return read_answer(in); });
  };
  codec::object(in, {"version", "pods"}, "version", codec::version_of(kVersion), "pods", pods);
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument, "resizes: " + done.error().message);
  }
  return answers;
}

}  // namespace tangram::model
