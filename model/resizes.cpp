#include "model/resizes.hpp"

#include "base/quote.hpp"
#include "model/codec.hpp"
#include "model/grant.hpp"

#include <algorithm>

namespace tangram::model {

namespace {

constexpr int kVersion = 1;

ResizeRefusal read_refusal(json::Reader& in) {
  const std::string_view text = in.string();
  const auto name = std::ranges::find(kResizeRefusalNames, text);
  if (name == kResizeRefusalNames.end()) {
    in.fail(quote(text) + " is not a reason of a refusal");
    return {};
  }
  return static_cast<ResizeRefusal>(name - kResizeRefusalNames.begin());
}

ResizeAnswer read_answer(json::Reader& in) {
  ResizeAnswer answer;
  codec::object(in, {"revision"}, "revision", codec::into(answer.applied, 0, Grant::kMaxRevision),
                "refused", codec::into(answer.refused, 1, Grant::kMaxRevision), "why",
                [&](json::Reader&) { answer.why = read_refusal(in); });
  if ((answer.refused > 0) != answer.why.has_value()) in.fail("\"refused\" needs \"why\"");
  if (answer.refused > 0 && answer.refused <= answer.applied) {
    in.fail("the refused revision is not later than the applied one");
  }
  return answer;
}

}  // namespace

std::string encode_resizes(const ResizeAnswers& answers) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("version", kVersion).key("pods").begin_object();
  for (const auto& [uid, answer] : answers) {
    out.key(uid).begin_object().member("revision", answer.applied);
    if (answer.refused > 0) {
      out.member("refused", answer.refused).member("why", to_string(*answer.why));
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
    in.object([&](std::string_view uid) {
      std::string key(uid);
      if (key.empty() || key.size() > kMaxName) in.fail("a pod's UID has a wrong length");
      if (answers.size() == kMaxResizeAnswers) {
        in.fail("more than " + std::to_string(kMaxResizeAnswers) + " pods");
      }
      answers.insert_or_assign(std::move(key), read_answer(in));
    });
  };
  codec::object(in, {"version", "pods"}, "version", codec::version_of(kVersion), "pods", pods);
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument, "resizes: " + done.error().message);
  }
  return answers;
}

}  // namespace tangram::model
