#include "node/isolation/enforcer.hpp"

#include <memory>

namespace tangram::node {
namespace {

/// Mode "none": nothing is set up, and nothing holds pods to their shares.
class NoneEnforcer final : public Enforcer {
 public:
  Result<void> prepare(const std::string& /*card*/, const CardSharers& /*sharers*/) override {
    return {};
  }
  [[nodiscard]] Result<ContainerEdits> edits(
      std::string_view /*allocation*/,
      const std::vector<model::GrantedCard>& /*cards*/) const override {
    return ContainerEdits{};
  }
  void keep(const CardsInMode& /*cards*/) override {}
  Result<void> release(const std::string& /*card*/) override { return {}; }
  void maintain() override {}
  [[nodiscard]] Enforcement enforcement(const model::GrantedCard& /*part*/) const override {
    return {Holder::kNobody, Holder::kNobody,
            "isolation none: nothing holds the pods on this card to their shares"};
  }
};

}  // namespace

std::unique_ptr<Enforcer> make_none_enforcer(const EnforcerParts& /*parts*/) {
  return std::make_unique<NoneEnforcer>();
}

}  // namespace tangram::node
