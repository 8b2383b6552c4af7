#include "node/launcher/message.hpp"

#include "base/number.hpp"
#include "base/split.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace tangram::node::launcher {
namespace {

constexpr std::string_view kProtocol = "tangram-launcher 1";
constexpr std::string_view kEnded = "ended";
constexpr std::string_view kRefused = "refused";

void append(std::string& message, std::string_view text) {
  message += text;
  message += '\0';
}

/// The texts behind the protocol's name.
Result<std::vector<std::string>> texts_of(std::string_view message) {
  if (message.empty() || message.back() != '\0') {
    return fail(Errc::kInvalidArgument, "the message does not end with a zero byte");
  }
  message.remove_suffix(1);
  auto texts = split(message, '\0');
  if (texts.front() != kProtocol) {
    return fail(Errc::kInvalidArgument,
                "the message is none of the protocol \"" + std::string(kProtocol) +
                    "\"; use tangram-launcher of the same version on both sides");
  }
  texts.erase(texts.begin());
  return texts;
}

bool has_zero(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace

Result<std::string> encode(const Request& request) {
  if (request.arguments.empty()) return fail(Errc::kInvalidArgument, "there is no command");
  std::string message;
  append(message, kProtocol);
  append(message, std::to_string(request.arguments.size()));
  for (const auto* texts : {&request.arguments, &request.env}) {
    if (std::any_of(texts->begin(), texts->end(), has_zero)) {
      return fail(Errc::kInvalidArgument, "an argument or a variable has a zero byte");
    }
    for (const std::string& text : *texts) append(message, text);
  }
  if (message.size() > kMostRequestBytes) {
    return fail(Errc::kTooLarge, "the command and its environment take " +
                                     std::to_string(message.size()) + " bytes, and at most " +
                                     std::to_string(kMostRequestBytes) +
                                     " can be passed; run it with fewer variables (env -u NAME)");
  }
  return message;
}

Result<Request> decode_request(std::string_view message) {
  auto texts = texts_of(message);
  if (!texts) return texts.error();
  const auto count = texts->empty() ? std::nullopt : parse_number<std::size_t>(texts->front());
  if (!count || *count == 0 || *count > texts->size() - 1) {
    return fail(Errc::kInvalidArgument, "the message has another number of arguments than it says");
  }
  const auto first = std::make_move_iterator(std::next(texts->begin()));
  const auto env = std::next(first, static_cast<std::ptrdiff_t>(*count));
  return Request{.arguments = {first, env}, .env = {env, std::make_move_iterator(texts->end())}};
}

std::string encode(const Reply& reply) {
  std::string message;
  append(message, kProtocol);
  if (const auto* ended = std::get_if<Ended>(&reply)) {
    append(message, kEnded);
    append(message, std::to_string(ended->exit_code));
  } else {
    append(message, kRefused);
    const std::string& why = std::get<Refused>(reply).why;
    append(message, std::string_view(why).substr(0, kMostReplyBytes - message.size() - 1));
  }
  return message;
}

Result<Reply> decode_reply(std::string_view message) {
  auto texts = texts_of(message);
  if (!texts) return texts.error();
  if (texts->size() == 2 && texts->front() == kRefused) return Reply(Refused{texts->back()});
  const auto code = texts->size() == 2 && texts->front() == kEnded
                        ? parse_number<int>(texts->back())
                        : std::nullopt;
  if (!code) return fail(Errc::kInvalidArgument, "the answer is neither an exit code nor a reason");
  return Reply(Ended{*code});
}

}  // namespace tangram::node::launcher
