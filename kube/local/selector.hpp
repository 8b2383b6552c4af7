#pragma once

#include "base/result.hpp"
#include "kube/local/object.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube {

/// The selectors of a list or watch: field selectors ("spec.nodeName=n1,status.phase!=Failed") that
/// a real server knows for the kind, and label selectors by equality and existence
/// ("app=train,tier!=test,gpu,!spot").
class Selector {
 public:
  /// @returns kInvalidArgument for another syntax, or a field that cannot be selected by
  static Result<Selector> parse(ResourceKind kind, std::string_view fields,
                                std::string_view labels);

  [[nodiscard]] bool matches(const Fields& fields) const;

 private:
  struct FieldTerm {
    std::string Fields::*field;
    bool negated;
    std::string value;
  };
  struct LabelTerm {
    std::string key;
    bool negated;
    bool any_value;  ///< the label must be there, or, negated, must not
    std::string value;
  };
  static Result<FieldTerm> field_term(ResourceKind kind, std::string_view text);
  static Result<LabelTerm> label_term(std::string_view text);
  static bool matches(const LabelTerm& term, const Fields& fields);

  std::vector<FieldTerm> fields_;
  std::vector<LabelTerm> labels_;
};

}  // namespace tangram::kube
