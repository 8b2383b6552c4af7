#include "kube/grant_keys.hpp"

#include "base/base64.hpp"
#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace tangram::kube {
namespace {

namespace fs = std::filesystem;
using model::kUnknownKey;
using model::kUnsigned;

model::Grant grant() {
  const model::GrantedCard a{"GPU-5f2a", Mebibytes(8192), MilliGpu(100), Mebibytes(16'384),
                             MilliGpu(500)};
  const model::GrantedCard b{"GPU-77c1", Mebibytes(1), MilliGpu(0), Mebibytes(1), MilliGpu(0)};
  return {.pod_uid = "0d4c7a3e-6f5b-4c7e-9d55-0c1f6f1f2a11",
          .node = "gpu-1",
          .issued_at = "2026-11-20T12:00:00Z",
          .isolation = model::Isolation::kMps,
          .containers = {{"main", {a, b}}, {"side", {b}}},
          .signature = {}};
}

std::string signed_by(const SigningKey& key) {
  return model::encode_signed(grant(),
                              [&](std::string_view text) { return base64_encode(key.sign(text)); });
}

/// Files as a Secret and a ConfigMap bring them, changed at will.
class GrantKeysTest : public ::testing::Test {
 protected:
  GrantKeysTest() {
    fs::create_directory(public_folder());
    know("a.pub", first);
    write(private_file(), first.to_pem());
  }
  [[nodiscard]] std::string public_folder() const { return folder.path() + "/public"; }
  [[nodiscard]] std::string private_file() const { return folder.path() + "/grant.key"; }
  static void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(replace_file(path, text));
  }
  void know(const std::string& name, const SigningKey& key) const {
    write(public_folder() + "/" + name, key.verifying_key().to_pem());
  }
  void forget(const std::string& name) const { fs::remove(public_folder() + "/" + name); }

  std::unique_ptr<GrantKeys> open(bool signs = true) {
    auto opened = GrantKeys::open(
        {.signing = signs ? private_file() : std::string(), .known = public_folder()});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }
  std::string refusal() {
    const auto opened = GrantKeys::open({.signing = private_file(), .known = public_folder()});
    return opened ? "opened" : opened.error().message;
  }
  static std::string id(const SigningKey& key) { return key.verifying_key().id(); }

  testing::TempFolder folder;
  const SigningKey first = SigningKey::generate();
  const SigningKey second = SigningKey::generate();
};

TEST_F(GrantKeysTest, WhatItSignsItKnows) {
  const auto keys = open();
  const std::string text =
      model::encode_signed(grant(), [&](std::string_view t) { return keys->sign(t); });
  EXPECT_EQ(text, signed_by(first));
  const auto verdict = keys->check(text);
  EXPECT_EQ(verdict.key, id(first));
  EXPECT_EQ(verdict.problem, "");
  EXPECT_EQ(keys->check(text).key, id(first)) << "also a second time";
}

TEST_F(GrantKeysTest, AnUnsignedOrForeignGrantIsNamedAsSuch) {
  const auto keys = open();
  const auto bare = keys->check(model::encode(grant()));
  EXPECT_EQ(bare.key, kUnsigned);
  EXPECT_EQ(bare.problem, "is not signed, and here only signed grants count");
  const auto foreign = keys->check(signed_by(second));
  EXPECT_EQ(foreign.key, kUnknownKey);
  EXPECT_EQ(foreign.problem, "is not signed by a key that counts here (" + id(first) + ")");
}

TEST_F(GrantKeysTest, EveryChangedBitIsRefused) {
  const auto keys = open();
  const auto check = signature_check(*keys, true);
  const std::string good = signed_by(first);
  const auto reads = [&](const std::string& text) {
    return model::read_grant(text, grant().pod_uid, grant().node, check).grant.has_value();
  };
  ASSERT_TRUE(reads(good));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = good;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << bit));
      ASSERT_FALSE(reads(changed)) << changed;
    }
    ASSERT_FALSE(reads(good.substr(0, at) + good.substr(at + 1))) << "without byte " << at;
    for (const char added : {' ', '0', '=', '"', '\n'}) {
      ASSERT_FALSE(reads(good.substr(0, at) + added + good.substr(at))) << "one more at " << at;
    }
  }
}

TEST_F(GrantKeysTest, EveryChangedMemberIsRefused) {
  const auto keys = open();
  const auto check = signature_check(*keys, true);
  const std::string signature = model::decode_grant(signed_by(first))->signature;
  std::vector<model::Grant> forged(9, grant());
  forged[0].pod_uid = "another";
  forged[1].node = "another";
  forged[2].issued_at = "2026-11-20T11:59:59Z";
  forged[3].isolation = model::Isolation::kNone;
  forged[4].containers[0].container = "side2";
  forged[5].containers[0].cards[0].uuid = "GPU-other";
  forged[6].containers[0].cards[0].memory = Mebibytes(8191);
  forged[7].containers[0].cards[0].compute_limit = MilliGpu(501);
  forged[8].containers.pop_back();
  for (model::Grant& one : forged) {
    one.signature = signature;
    const auto read = model::read_grant(encode(one), one.pod_uid, one.node, check);
    EXPECT_FALSE(read.grant) << encode(one);
    EXPECT_EQ(read.key, kUnknownKey);
  }
}

TEST_F(GrantKeysTest, AMemberThatANewerProgramSignsIsNoObstacle) {
  const auto keys = open();
  std::string newer = model::encode(grant());
  newer.insert(newer.size() - 1, R"(,"tier":"gold")");
  const std::string text =
      newer.substr(0, newer.size() - 1) + R"(,"sig":")" + base64_encode(first.sign(newer)) + "\"}";
  EXPECT_EQ(keys->check(text).key, id(first));
}

TEST_F(GrantKeysTest, NoOtherSpellingOfASignatureCounts) {
  const auto keys = open();
  const std::string text = signed_by(first);
  const auto parts = model::split_signature(text);
  ASSERT_TRUE(parts);
  ASSERT_TRUE(parts->signature.ends_with("=="));
  const std::string start = text.substr(0, text.size() - parts->signature.size() - 2);
  const auto with = [&](const std::string& signature) {
    return keys->check(start + signature + "\"}").problem.empty();
  };
  std::string loose(parts->signature);
  ++loose[loose.size() - 3];  // of its six bits four stand for nothing, and are zero
  EXPECT_FALSE(with(loose));
  EXPECT_FALSE(with(std::string(parts->signature) + "\n"));
  EXPECT_FALSE(with(""));
  EXPECT_TRUE(with(std::string(parts->signature)));
}

struct Row {
  std::string name;
  bool required;
  std::string grant;  ///< by "first", "second", "none"
  bool counts;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }
class RequiredTest : public GrantKeysTest, public ::testing::WithParamInterface<Row> {};

TEST_P(RequiredTest, DecidesWhatCounts) {
  const auto keys = open();
  const std::string text = GetParam().grant == "none"    ? model::encode(grant())
                           : GetParam().grant == "first" ? signed_by(first)
                                                         : signed_by(second);
  const auto read = model::read_grant(text, grant().pod_uid, grant().node,
                                      signature_check(*keys, GetParam().required));
  EXPECT_EQ(read.grant.has_value(), GetParam().counts) << read.problem;
  EXPECT_EQ(read.problem.empty(), GetParam().counts);
  const auto key = GetParam().grant == "none"    ? std::string(kUnsigned)
                   : GetParam().grant == "first" ? id(first)
                                                 : std::string(kUnknownKey);
  EXPECT_EQ(read.key, key) << "whatever is required";
}

INSTANTIATE_TEST_SUITE_P(Matrix, RequiredTest,
                         ::testing::Values(Row{"RequiredAndRight", true, "first", true},
                                           Row{"RequiredAndForeign", true, "second", false},
                                           Row{"RequiredAndNone", true, "none", false},
                                           Row{"NotRequiredAndRight", false, "first", true},
                                           Row{"NotRequiredAndForeign", false, "second", true},
                                           Row{"NotRequiredAndNone", false, "none", true}),
                         [](const auto& row) { return row.param.name; });

TEST_F(GrantKeysTest, ARotationNeverLeavesAGrantUnknown) {
  const auto extender = open();
  const auto agent = open(false);
  EXPECT_EQ(agent->sign("text"), "");
  const std::string before = signed_by(first);
  know("b.pub", second);  // one: everybody learns the new key
  EXPECT_TRUE(extender->look());
  EXPECT_TRUE(agent->look());
  EXPECT_EQ(agent->check(before).key, id(first));
  write(private_file(), second.to_pem());  // two: the extender signs with it
  EXPECT_FALSE(extender->look()) << "no other keys are known";
  EXPECT_EQ(extender->state().signing, id(second));
  const std::string after =
      model::encode_signed(grant(), [&](std::string_view t) { return extender->sign(t); });
  EXPECT_EQ(after, signed_by(second));
  for (const auto* keys : {extender.get(), agent.get()}) {
    EXPECT_EQ(keys->check(before).key, id(first));
    EXPECT_EQ(keys->check(after).key, id(second));
  }
  forget("a.pub");  // three: the last grant of the old one is gone
  EXPECT_TRUE(agent->look());
  EXPECT_EQ(agent->check(before).key, kUnknownKey) << "although it was found right once";
  EXPECT_EQ(agent->check(after).key, id(second));
}

TEST_F(GrantKeysTest, AKeyThatOthersDoNotKnowIsNotSignedWith) {
  const auto keys = open();
  write(private_file(), second.to_pem());
  EXPECT_FALSE(keys->look());
  EXPECT_EQ(keys->state().signing, id(first));
  EXPECT_TRUE(keys->state().stale);
  EXPECT_NE(refusal().find("add it there first"), std::string::npos) << refusal();
  know("b.pub", second);
  EXPECT_TRUE(keys->look());
  EXPECT_EQ(keys->state().signing, id(second));
  EXPECT_FALSE(keys->state().stale);
}

TEST_F(GrantKeysTest, WhatCannotBeUsedLeavesTheKeysAsTheyWere) {
  const auto keys = open();
  const auto still_the_first = [&] {
    EXPECT_FALSE(keys->look());
    EXPECT_TRUE(keys->state().stale);
    EXPECT_EQ(keys->state().known, std::vector<std::string>{id(first)});
    EXPECT_EQ(keys->check(signed_by(first)).key, id(first));
    EXPECT_EQ(keys->sign("text"), base64_encode(first.sign("text")));
  };
  write(public_folder() + "/b.pub", "nonsense");
  still_the_first();
  write(public_folder() + "/b.pub", second.to_pem());  // the private half, by mistake
  still_the_first();
  forget("b.pub");
  forget("a.pub");
  still_the_first();
  know("a.pub", first);
  write(private_file(), "nonsense");
  still_the_first();
  fs::remove(private_file());
  still_the_first();
  write(private_file(), first.to_pem());
  EXPECT_FALSE(keys->look());
  EXPECT_FALSE(keys->state().stale);
}

TEST_F(GrantKeysTest, AVolumeIsReadAcrossItsSwap) {
  // As kubelet does it: files are links into ..data, which is a link that is replaced.
  const std::string volume = folder.path() + "/volume";
  const auto publish = [&](const std::string& version, const SigningKey& key) {
    fs::create_directories(volume + "/" + version);
    write(volume + "/" + version + "/grant.pub", key.verifying_key().to_pem());
    fs::create_directory_symlink(version, volume + "/..next");
    fs::rename(volume + "/..next", volume + "/..data");
  };
  publish("..1", first);
  fs::create_symlink("..data/grant.pub", volume + "/grant.pub");
  auto keys = GrantKeys::open({.known = volume});
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ((*keys)->state().known, std::vector<std::string>{id(first)});
  publish("..2", second);
  EXPECT_TRUE((*keys)->look());
  EXPECT_EQ((*keys)->state().known, std::vector<std::string>{id(second)});
}

TEST_F(GrantKeysTest, NeitherNoneNorTooManyCanBeKnown) {
  forget("a.pub");
  EXPECT_NE(refusal().find("holds no key; put the public key there"), std::string::npos);
  for (std::size_t i = 0; i <= GrantKeys::kMaxKnown; ++i) {
    know(std::to_string(i), SigningKey::generate());
  }
  EXPECT_NE(refusal().find("holds 9 keys; at most 8"), std::string::npos) << refusal();
  const auto nowhere = GrantKeys::open({.known = folder.path() + "/nowhere"});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Errc::kNotFound);
}

TEST_F(GrantKeysTest, KeysCanComeFromTexts) {
  const auto keys = GrantKeys::of("the map", {{"a.pub", first.verifying_key().to_pem()},
                                              {"b.pub", second.verifying_key().to_pem()}});
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ((*keys)->check(signed_by(second)).key, id(second));
  EXPECT_EQ((*keys)->state().signing, "");
  EXPECT_EQ(GrantKeys::of("the map", {}).error().message.substr(0, 21), "the map: holds no key");
  const auto wrong = GrantKeys::of("the map", {{"a.pub", "no PEM"}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message.substr(0, 7), "a.pub: ") << wrong.error().message;
}

TEST_F(GrantKeysTest, WhoMustStartInAnyCaseWaitsForItsKeys) {
  forget("a.pub");
  const auto keys = GrantKeys::open_when_usable({.known = public_folder()});
  EXPECT_TRUE(keys->state().stale);
  EXPECT_EQ(keys->check(signed_by(first)).problem,
            "is not signed by a key that counts here (none is known)");
  know("a.pub", first);
  EXPECT_TRUE(keys->look());
  EXPECT_EQ(keys->check(signed_by(first)).key, id(first));
}

TEST_F(GrantKeysTest, KeysChangeWhileManyCheck) {
  const auto keys = open();
  know("b.pub", second);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  const std::string text = signed_by(first);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) EXPECT_EQ(keys->check(text).key, id(first));
    });
  }
  for (int turn = 0; turn < 20; ++turn) {
    keys->look();
    if (turn % 2 == 0) {
      forget("b.pub");
    } else {
      know("b.pub", second);
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tangram::kube
