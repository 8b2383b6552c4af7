#pragma once

#include <boost/system/result.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace tangram {

/// Why an operation could not be carried out. "This pod does not fit there" is
/// not in the list on purpose: it is an answer (see model::Misfit), not a failure.
enum class Errc {
  kInvalidArgument,  ///< the input is wrong; the message says what to write instead
  kNotFound,         ///< the object is not there
  kConflict,         ///< the object is in a state that forbids it
  kStale,            ///< the caller decided on an older state; look again and retry
  kUnavailable,      ///< the other side refused for now; retry later
  kTimeout,          ///< no answer in time: the outcome is unknown
  kTooLarge,         ///< the answer is longer than this side takes; request less
};

struct Error {
  Errc code{};
  std::string message;  ///< for people: lower case, no full stop, names the object
};

template <class T>
using Result = boost::system::result<T, Error>;

[[nodiscard]] inline Error fail(Errc code, std::string message) {
  return {code, std::move(message)};
}

/// Makes Result::value() on an error a programming mistake that is easy to find.
[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location& where) {
  throw std::logic_error(where.to_string() + ": unchecked error: " + error.message);
}

}  // namespace tangram
