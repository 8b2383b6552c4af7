#include "node/isolation/enforcers.hpp"

#include <memory>
#include <string>
#include <utility>

namespace tangram::node {
namespace {

class IdleEnforcer final : public Enforcer {
 public:
  explicit IdleEnforcer(std::string note) : note_(std::move(note)) {}

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
    return {Holder::kNobody, Holder::kNobody, note_};
  }

 private:
  const std::string note_;
};

}  // namespace

std::unique_ptr<Enforcer> make_idle_enforcer(std::string note) {
  return std::make_unique<IdleEnforcer>(std::move(note));
}

/// Mode "none".
std::unique_ptr<Enforcer> make_none_enforcer(const EnforcerParts& /*parts*/) {
  return make_idle_enforcer("isolation none: nothing holds the pods on this card to their shares");
}

}  // namespace tangram::node
