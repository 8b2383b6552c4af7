#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace tangram::model {

using Labels = std::map<std::string, std::string, std::less<>>;

/// Labels that do not change. Copies share them: the pods of one template have the same ones, and a
/// cluster has far more pods than templates.
class SharedLabels {
 public:
  SharedLabels() = default;
  SharedLabels(Labels labels)  // NOLINT(google-explicit-constructor): they are the same labels
      : labels_(labels.empty() ? nullptr : std::make_shared<const Labels>(std::move(labels))) {}
  SharedLabels(std::initializer_list<Labels::value_type> labels) : SharedLabels(Labels(labels)) {}

  [[nodiscard]] const Labels& get() const {
    static const Labels kNone;
    return labels_ == nullptr ? kNone : *labels_;
  }
  [[nodiscard]] bool empty() const { return labels_ == nullptr; }
  friend bool operator==(const SharedLabels& a, const SharedLabels& b) {
    return a.labels_ == b.labels_ || a.get() == b.get();
  }

 private:
  std::shared_ptr<const Labels> labels_;  ///< null = none
};

}  // namespace tangram::model
