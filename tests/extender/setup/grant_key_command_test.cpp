#include "extender/setup/grant_key_command.hpp"

#include "base/ed25519.hpp"
#include "base/file.hpp"
#include "kube/grant_keys.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::extender {
namespace {

namespace fs = std::filesystem;

class GrantKeyCommandTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string in(const std::string& name) const {
    return folder_.path() + "/made/" + name;
  }
  testing::TempFolder folder_;
};

TEST_F(GrantKeyCommandTest, MakesAPairThatExtenderAndAgentsCanUse) {
  const auto printed = make_grant_key(folder_.path() + "/made");
  ASSERT_TRUE(printed) << printed.error().message;
  EXPECT_EQ(fs::status(in("grant.key")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  const auto keys = kube::GrantKeys::open({.signing = in("grant.key"), .known = in("grant.pub")});
  ASSERT_TRUE(keys) << keys.error().message;
  const std::string id = (*keys)->state().signing;
  EXPECT_EQ(printed->find("key " + id + ":"), 0U) << *printed;
}

TEST_F(GrantKeyCommandTest, SaysWhatToDoAndShowsNoSecret) {
  const auto printed = make_grant_key(folder_.path() + "/made");
  ASSERT_TRUE(printed);
  const auto pair = VerifyingKey::from_pem(*read_file(in("grant.pub")));
  const std::string id = pair->front().id();
  const std::string pem = pair->front().to_pem();
  const std::string body = pem.substr(27, 60);
  for (const std::string& words :
       {std::string("create secret generic tangram-grant-key --from-file=") + in("grant.key"),
        "create configmap tangram-grant-keys --from-file=" + id + ".pub=" + in("grant.pub"),
        "--type merge --patch '{\"data\":{\"" + id + ".pub\":\"-----BEGIN PUBLIC KEY-----\\n" +
            body + "\\n-----END PUBLIC KEY-----\\n\"}}'",
        "tangram_node_grant_key_known{key=\"" + id + "\"} 1",
        std::string(R"([{"op":"remove","path":"/data/FORMER.pub"}])")}) {
    EXPECT_NE(printed->find(words), std::string::npos) << words << "\nin\n" << *printed;
  }
  const std::string secret = *read_file(in("grant.key"));
  EXPECT_EQ(printed->find(secret.substr(28, 30)), std::string::npos);
}

TEST_F(GrantKeyCommandTest, OverwritesNothing) {
  ASSERT_TRUE(make_grant_key(folder_.path() + "/made"));
  const std::string key = *read_file(in("grant.key"));
  const auto refused = [&] {
    const auto again = make_grant_key(folder_.path() + "/made");
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Errc::kConflict);
    EXPECT_NE(again.error().message.find("is not overwritten"), std::string::npos);
    EXPECT_EQ(*read_file(in("grant.key")), key);
  };
  const std::string half = *read_file(in("grant.pub"));
  refused();
  EXPECT_EQ(*read_file(in("grant.pub")), half);
  fs::remove(in("grant.pub"));
  refused();  // the other one is in the way
  EXPECT_FALSE(fs::exists(in("grant.pub")));
}

TEST_F(GrantKeyCommandTest, AFolderThatCannotBeMadeIsNamed) {
  ASSERT_TRUE(replace_file(folder_.path() + "/made", "a file"));
  const auto printed = make_grant_key(folder_.path() + "/made");
  ASSERT_FALSE(printed);
  EXPECT_NE(printed.error().message.find("/made"), std::string::npos);
}

}  // namespace
}  // namespace tangram::extender
