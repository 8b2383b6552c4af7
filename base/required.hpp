#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace tangram {

/// A member that an aggregate's maker must give: it has no default, so that leaving it out does not
/// compile. For what safety depends on, such as the permission to write.
template <class T>
class Required {
 public:
  template <std::convertible_to<T> Value>
  requires(!std::same_as<std::remove_cvref_t<Value>, Required>)
      // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): the constraint leaves copies alone
      Required(Value&& value)
      : value_(std::forward<Value>(value)) {}

  [[nodiscard]] const T& operator*() const { return value_; }
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return value_(std::forward<Arguments>(arguments)...);
  }

 private:
  T value_;
};

}  // namespace tangram
