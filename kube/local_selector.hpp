#pragma once

#include "base/result.hpp"
#include "kube/local_object.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube {

/// "spec.nodeName=n1,status.phase!=Failed": the field selectors a real server knows for these
/// kinds.
class FieldSelector {
 public:
  /// @returns kInvalidArgument for another syntax, or a field that cannot be selected by
  static Result<FieldSelector> parse(ResourceKind kind, std::string_view text);

  [[nodiscard]] bool matches(const Fields& fields) const;

 private:
  struct Term {
    std::string Fields::*field;
    bool negated;
    std::string value;
  };
  std::vector<Term> terms_;
};

}  // namespace tangram::kube
