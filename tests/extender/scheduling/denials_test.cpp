#include "extender/scheduling/denials.hpp"

#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {
namespace {

using testing::allocation;
using testing::card;
using testing::granted;
using testing::inventory;

TEST(DenialsTest, NameTheNodesThatTheLedgerDoesNotKnow) {
  testing::ManualClock clock;
  model::Ledger ledger(clock);
  for (const char* name : {"asked", "other", "gone"}) {
    ledger.put_node(inventory(name, {card("GPU-" + std::string(name))}));
  }
  ledger.observe(allocation("p", "gone", {granted("GPU-gone", 81'920, 1000)}));
  ledger.remove_node("gone");
  const auto cluster = ledger.snapshot();
  Denials denials(clock);
  kube::Pod pod;
  pod.uid = "waits";
  const std::vector<std::string_view> names{"new", "asked", "gone"};
  denials.denied(pod, names, *cluster, false);
  const DenialPtr denial = denials.find("waits");
  ASSERT_NE(denial, nullptr);
  EXPECT_EQ(denial->unknown, (std::set<std::string, std::less<>>{"new"}));
  EXPECT_TRUE(denial->nodes.at(cluster->index_of("asked").value()));
  EXPECT_TRUE(denial->nodes.at(cluster->index_of("gone").value())) << "it may come back";
  EXPECT_FALSE(denial->nodes.at(cluster->index_of("other").value()));
}

}  // namespace
}  // namespace tangram::extender
