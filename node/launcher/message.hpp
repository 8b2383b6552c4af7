#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tangram::node::launcher {

// The messages between `run` and `serve`, one in each direction. A message is a list of texts that
// each end with a zero byte; the first names the protocol and its version:
//
//   request  "tangram-launcher 1" COUNT ARGUMENT... ENVIRONMENT...   with three open files
//   reply    "tangram-launcher 1" "ended" EXIT-CODE
//            "tangram-launcher 1" "refused" SENTENCE
//
// The pods of the launcher are not upgraded with the agents, so version 1 stays readable.

struct Request {
  std::vector<std::string> arguments;  ///< the first is the program, looked for in env's PATH
  std::vector<std::string> env;        ///< "NAME=value"; of two with one name the first counts
};

struct Ended {
  int exit_code = 0;  ///< 128 + the signal that killed it
};
struct Refused {
  std::string why;
};
using Reply = std::variant<Ended, Refused>;

/// The agent's commands take some hundred bytes; most is its environment, which has seven variables
/// of 200 bytes in all for each Service of its namespace. A socket takes messages of 208 KiB by
/// default (net.core.wmem_default).
inline constexpr std::size_t kMostRequestBytes = 128 * std::size_t{1024};
/// An exit code or a sentence.
inline constexpr std::size_t kMostReplyBytes = 1024;

/// @returns kTooLarge; kInvalidArgument if it has no argument, or a zero byte in one
[[nodiscard]] Result<std::string> encode(const Request& request);
/// @returns kInvalidArgument
[[nodiscard]] Result<Request> decode_request(std::string_view message);

/// A sentence that is too long is cut.
[[nodiscard]] std::string encode(const Reply& reply);
/// @returns kInvalidArgument
[[nodiscard]] Result<Reply> decode_reply(std::string_view message);

}  // namespace tangram::node::launcher
