#include "node/vendor/amd/amd_inventory.hpp"

#include "model/card_names.hpp"
#include "model/cards.hpp"
#include "node/vendor/amd/kfd_topology.hpp"
#include "tests/node/vendor/amd/fake_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::node::amd {
namespace {

using Ids = std::vector<std::string>;
using Gpu = FakeMachine::Gpu;

class AmdInventoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] Result<AmdCards> read() const { return read_amd_cards(machine_.files()); }
  [[nodiscard]] model::Card card(std::size_t i) const {
    const auto cards = read();
    return cards && i < cards->cards.size() ? cards->cards[i].installed.card : model::Card{};
  }
  /// Why a card is left out; all reasons.
  [[nodiscard]] std::string reasons() const {
    const auto cards = read();
    std::string all;
    if (cards) {
      for (const std::string& reason : cards->left_out) all += reason + "\n";
    }
    return all;
  }
  void expect_reason(const std::string& words) const {
    EXPECT_NE(reasons().find(words), std::string::npos) << reasons();
  }
  void expect_failure(Errc code, const std::string& words) const {
    const auto cards = read();
    ASSERT_FALSE(cards);
    EXPECT_EQ(cards.error().code, code);
    EXPECT_NE(cards.error().message.find(words), std::string::npos) << cards.error().message;
  }

  const FakeMachine machine_;
};

TEST_F(AmdInventoryTest, AWholeCardIsOneCard) {
  machine_.add_spx();
  const auto cards = read();
  ASSERT_TRUE(cards) << cards.error().message;
  ASSERT_EQ(cards->cards.size(), 1U);
  EXPECT_EQ(cards->driver, "6.14.0-rocm") << "the kernel's own driver has the kernel's version";
  const AmdCard& found = cards->cards[0];
  const model::Card& card = found.installed.card;
  EXPECT_EQ(card.id, "AMD-8f1c2d3e4a5b6c7d");
  EXPECT_EQ(card.kind, model::CardKind::kPhysical);
  EXPECT_EQ(card.model, "MI300X OAM");
  EXPECT_EQ(card.memory, Mebibytes(196'592));  // 206'141'652'992 / 2^20, rounded down
  EXPECT_EQ(card.numa_node, 1);
  EXPECT_EQ(card.pci_bus, "0000:c1:00.0");
  EXPECT_EQ(card.parent, "");
  EXPECT_TRUE(card.healthy);
  EXPECT_FALSE(card.isolation.has(model::Isolation::kMps));
  EXPECT_TRUE(card.isolation.has(model::Isolation::kTimeSlice));
  EXPECT_EQ(found.installed.compute_capability, "gfx942");
  EXPECT_EQ(found.render_node, "renderD128");
  EXPECT_EQ(found.card_node, "card1");
  EXPECT_EQ(found.gpu_id, FakeMachine::gpu_id(1));
  EXPECT_EQ(reasons(), "");
}

TEST_F(AmdInventoryTest, APartitionIsACardOfItsCard) {
  machine_.add_cpx();
  const auto cards = read();
  ASSERT_TRUE(cards) << cards.error().message;
  ASSERT_EQ(cards->cards.size(), 8U) << reasons();
  for (unsigned i = 0; i < 8; ++i) {
    const AmdCard& found = cards->cards[i];
    EXPECT_EQ(found.installed.card.id, "AMD-8f1c2d3e4a5b6c7d-cpx" + std::to_string(i));
    EXPECT_EQ(found.installed.card.kind, model::CardKind::kMig);
    EXPECT_EQ(found.installed.card.parent, "AMD-8f1c2d3e4a5b6c7d");
    EXPECT_EQ(found.installed.card.model, "MI300X OAM CPX NPS4");
    EXPECT_EQ(found.installed.card.memory, Mebibytes(24'574));  // an eighth
    EXPECT_EQ(found.installed.card.pci_bus, "0000:c1:00.0");
    EXPECT_EQ(found.render_node, "renderD" + std::to_string(128 + i));
    EXPECT_EQ(found.card_node, "") << "it would be the whole card";
    EXPECT_EQ(found.installed.card.max_sharers, 16);
  }
}

TEST_F(AmdInventoryTest, MemoryThatPartitionsShareIsThereOnce) {
  machine_.add_cpx();
  for (unsigned node = 1; node <= 8; ++node) {
    machine_.add_kfd(node, {}, 127 + node, 0xc100 | (node - 1), Gpu{}.bytes);
  }
  const auto cards = read();
  ASSERT_TRUE(cards) << cards.error().message;
  Mebibytes sum;
  for (const AmdCard& card : cards->cards) sum += card.installed.card.memory;
  EXPECT_EQ(sum, Mebibytes(8 * 24'574)) << "of 196'592 MiB";
}

TEST_F(AmdInventoryTest, EveryIdAndModelIsValidInTheWholeTree) {
  machine_.add_cpx();
  machine_.add_pci({.address = "0000:d1:00.0", .unique_id = "", .product = ""}, 20, 150);
  machine_.add_kfd(20, {.unique_id = ""}, 150, 0xd100, Gpu{}.bytes);
  std::vector<model::Card> cards;
  const auto here = read();
  ASSERT_TRUE(here) << here.error().message;
  for (const AmdCard& card : here->cards) {
    EXPECT_TRUE(model::is_card_id(card.installed.card.id)) << card.installed.card.id;
    EXPECT_TRUE(model::is_card_model(card.installed.card.model)) << card.installed.card.model;
    cards.push_back(card.installed.card);
  }
  ASSERT_EQ(cards.size(), 9U);
  EXPECT_EQ(cards[8].id, "AMD-0000:d1:00.0") << "a card without an id has its place";
  EXPECT_EQ(cards[8].model, "gfx942") << "and one without a name its architecture";
  const auto decoded = model::decode_cards(model::encode_cards(cards));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, cards);
}

TEST_F(AmdInventoryTest, APartitionOfAnotherModeIsAnotherCard) {
  machine_.add_cpx();
  const Ids before = ids_of(read());
  machine_.write(FakeMachine::pci("0000:c1:00.0") + "/current_compute_partition", "QPX\n");
  for (const std::string& id : ids_of(read())) {
    EXPECT_EQ(std::ranges::count(before, id), 0) << id;
  }
}

TEST_F(AmdInventoryTest, AnOnlyPartitionIsNotTheWholeCard) {
  machine_.add_pci({.compute = "CPX"}, 1, 128);
  machine_.add_kfd(1, {}, 128, 0xc100, Gpu{}.bytes / 8);
  EXPECT_EQ(ids_of(read()), Ids{"AMD-8f1c2d3e4a5b6c7d-cpx0"}) << "the others are not there yet";
  EXPECT_EQ(card(0).memory, Mebibytes(24'574));
}

TEST_F(AmdInventoryTest, AKernelMayPutThePartitionIntoTheHighestBits) {
  machine_.add_cpx();
  for (unsigned i = 1; i < 8; ++i) {
    machine_.add_kfd(1 + i, {}, 128 + i, 0xc100 | (std::uint64_t{i} << 28U), Gpu{}.bytes / 8);
  }
  EXPECT_EQ(ids_of(read()).size(), 8U) << reasons();
}

TEST_F(AmdInventoryTest, WhilePartitionsAreRemovedNoneIsTakenForAnother) {
  machine_.add_cpx();
  machine_.remove(FakeMachine::node_folder(1));
  EXPECT_EQ(ids_of(read()), Ids{});
  expect_reason("the first one is not the card's own");
  machine_.add_cpx();
  machine_.remove(FakeMachine::node_folder(4));
  EXPECT_EQ(ids_of(read()), Ids{});
  expect_reason("node 5 is partition 4 by its location_id, and 3 by its place");
}

TEST_F(AmdInventoryTest, APartitionWithoutItsRenderNodeTakesOnlyItsCardAway) {
  machine_.add_cpx();
  machine_.remove("/sys/class/drm/renderD131");
  machine_.add_pci({.address = "0000:d1:00.0", .unique_id = "00000000000000d1"}, 20, 150);
  machine_.add_kfd(20, {.unique_id = "00000000000000d1"}, 150, 0xd100, Gpu{}.bytes);
  EXPECT_EQ(ids_of(read()), Ids{"AMD-00000000000000d1"});
  expect_reason("node 4 has no render node of a partition");
}

TEST_F(AmdInventoryTest, VirtualFunctionsAreCardsWithTheirCardAsParent) {
  machine_.add_two_functions();
  EXPECT_EQ(ids_of(read()), (Ids{"AMD-00000000000000a0", "AMD-00000000000000a1"}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(card(i).kind, model::CardKind::kMig);
    EXPECT_EQ(card(i).parent, "AMD-0000:c1:00.0") << "which has no id of its own here";
    EXPECT_EQ(card(i).memory, Mebibytes(96 * 1024));
  }
  machine_.write(FakeMachine::pci("0000:c1:00.0") + "/unique_id", "00000000000000aa\n");
  EXPECT_EQ(card(0).parent, "AMD-00000000000000aa");
}

TEST_F(AmdInventoryTest, ACardWithVirtualFunctionsHereIsNoCardItself) {
  machine_.add_spx();
  const Gpu function{.address = "0000:c1:02.0",
                     .unique_id = "00000000000000a0",
                     .physical_function = "0000:c1:00.0"};
  machine_.add_pci(function, 2, 129);
  machine_.add_kfd(2, function, 129, 0xc110, Gpu{}.bytes);
  EXPECT_EQ(ids_of(read()), Ids{"AMD-00000000000000a0"});
  expect_reason("0000:c1:00.0 is left out: its virtual functions are cards");
}

TEST_F(AmdInventoryTest, ACardWithoutAKfdNodeIsLeftOut) {
  machine_.add_spx();
  machine_.add_pci({.address = "0000:05:00.0", .unique_id = ""}, 0, 130);
  EXPECT_EQ(ids_of(read()), Ids{"AMD-8f1c2d3e4a5b6c7d"});
  expect_reason("0000:05:00.0 is left out: amdkfd has no node for it");
}

TEST_F(AmdInventoryTest, OfCardsWithOneIdNoneIsACard) {
  machine_.add_spx();
  machine_.add_pci({.address = "0000:d1:00.0"}, 2, 129);
  machine_.add_kfd(2, {}, 129, 0xd100, Gpu{}.bytes);
  EXPECT_EQ(ids_of(read()), Ids{});
  expect_reason("another card has the same id, AMD-8f1c2d3e4a5b6c7d");
}

TEST_F(AmdInventoryTest, ACardThatIsResetIsLeftOutAndTheOthersStay) {
  machine_.add_spx();
  const Gpu other{.address = "0000:d1:00.0", .unique_id = "00000000000000d1"};
  machine_.add_pci(other, 2, 129);
  machine_.add_kfd(2, other, 129, 0xd100, Gpu{}.bytes);
  for (const std::string file : {"unique_id", "current_compute_partition"}) {
    const std::string path = FakeMachine::pci("0000:c1:00.0") + "/" + file;
    machine_.make_unreadable(path);
    EXPECT_EQ(ids_of(read()), Ids{"AMD-00000000000000d1"}) << file;
    expect_reason(file + " cannot be read; the card may be in a reset");
    machine_.remove(path);
    machine_.add_spx();
  }
  EXPECT_EQ(ids_of(read()).size(), 2U);
}

TEST_F(AmdInventoryTest, ACardThatVanishesIsNotListed) {
  machine_.add_spx();
  machine_.remove(FakeMachine::pci("0000:c1:00.0"));
  EXPECT_EQ(ids_of(read()), Ids{});
  expect_reason("there is no PCI device 0000:c1:00.0");
}

TEST_F(AmdInventoryTest, CardsAreConnectedByXgmi) {
  for (unsigned i = 0; i < 2; ++i) {
    const Gpu gpu{.address = "0000:c" + std::to_string(1 + i) + ":00.0",
                  .unique_id = "000000000000000" + std::to_string(i)};
    machine_.add_pci(gpu, 1 + i, 128 + i);
    machine_.add_kfd(1 + i, gpu, 128 + i, 0xc100 + 0x100 * i, gpu.bytes, {2 - i});
  }
  ASSERT_EQ(card(0).links.size(), 1U);
  EXPECT_EQ(card(0).links[0], (model::Link{.peer = card(1).id, .type = "xgmi", .count = 1}));
  EXPECT_EQ(card(1).links.at(0).peer, card(0).id);
}

TEST_F(AmdInventoryTest, AnotherVendorsNodeIsNoCard) {
  machine_.write(FakeMachine::node_folder(9) + "/gpu_id", "7\n");
  machine_.write(FakeMachine::node_folder(9) + "/properties", "vendor_id 4318\n");
  EXPECT_EQ(ids_of(read()), Ids{});
}

TEST_F(AmdInventoryTest, WithoutTheDriverItSaysWhatToLoad) {
  machine_.remove("/sys/class/kfd");
  expect_failure(Errc::kUnavailable, "load the kernel module amdgpu");
}

TEST_F(AmdInventoryTest, AListThatIsNotAsTheDriverWritesItIsNoList) {
  const std::string node = FakeMachine::node_folder(1);
  const std::string good = "vendor_id 4098\nlocation_id 49408\ndrm_render_minor 128\n";
  struct Broken {
    std::string path;
    std::string text;
    std::string words;
  };
  for (const Broken& one : std::vector<Broken>{
           {"/gpu_id", "forty\n", "/gpu_id has no number but \"forty\""},
           {"/properties", "vendor_id 4098\nrubbish\n", "no name and value but \"rubbish\""},
           {"/properties", "vendor_id 4098\n", "/properties has no number location_id"},
           {"/properties", "vendor_id 4098\nlocation_id 49408\n", "no number drm_render_minor"},
           {"/properties", "location_id x\n", "/properties has no number vendor_id"},
           {"/mem_banks/0/properties", "heap_type 1\n", "no number size_in_bytes"},
           {"/mem_banks/0/properties", "\x01\x02\n", R"(no name and value but "\x01\x02")"}}) {
    machine_.add_spx();
    machine_.write(node + one.path, one.text);
    expect_failure(Errc::kInvalidArgument, one.words);
  }
}

TEST_F(AmdInventoryTest, FilesOfACardThatAreNotAsTheDriverWritesThemLeaveItOut) {
  const std::string folder = FakeMachine::pci("0000:c1:00.0");
  for (const auto& [file, text] :
       std::vector<std::pair<std::string, std::string>>{{"unique_id", "8F1C\n"},
                                                        {"unique_id", "../../etc\n"},
                                                        {"mem_info_vram_total", "-1\n"}}) {
    machine_.add_spx();
    machine_.write(folder + "/" + file, text);
    EXPECT_EQ(ids_of(read()), Ids{}) << file;
    expect_reason(file);
  }
  machine_.add_spx();
  machine_.write(folder + "/mem_info_vram_total", "4096\n");
  EXPECT_EQ(ids_of(read()), Ids{});
  expect_reason("reports no memory of its own");
}

TEST_F(AmdInventoryTest, ANodeThatIsRemovedMeanwhileIsNoMistakeOfTheMachine) {
  machine_.add_spx();
  machine_.remove(FakeMachine::node_folder(1) + "/properties");
  expect_failure(Errc::kUnavailable, "there is no /sys/class/kfd/kfd/topology/nodes/1/properties");
}

TEST(GfxNameTest, IsTheCompilers) {
  EXPECT_EQ(gfx_name(90'402), "gfx942");
  EXPECT_EQ(gfx_name(90'010), "gfx90a");
  EXPECT_EQ(gfx_name(110'000), "gfx1100");
}

}  // namespace
}  // namespace tangram::node::amd
