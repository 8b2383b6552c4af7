#include "node/container/cdi_spec.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node {
namespace {

TEST(CdiSpecTest, HoldsOneDeviceOfTheName) {
  EXPECT_EQ(
      encode_cdi_spec(
          "slot-3.ab",
          {.env = {"A=1"}, .mounts = {{"/run/x", "/x"}, {"/run/y", "/y", Access::kReadWrite}}}, {}),
      R"({"cdiVersion":"0.6.0","kind":"tangram.dev/slot","devices":[{"name":"slot-3.ab",)"
      R"("containerEdits":{"env":["A=1"],"mounts":[{"hostPath":"/run/x","containerPath":"/x",)"
      R"("options":["ro","nosuid","nodev","noexec","bind"]},)"
      R"({"hostPath":"/run/y","containerPath":"/y",)"
      R"("options":["rw","nosuid","nodev","noexec","bind"]}]}}]})");
}

TEST(CdiSpecTest, WhatIsDrawnComesBeforeOursAndMayNeedANewerVersion) {
  const CdiEdits drawn{.cdi_version = "0.10.0",
                       .lists = {{"env", {R"("A=0")"}},
                                 {"deviceNodes", {R"({"path":"/dev/nvidia0"})"}},
                                 {"hooks", {R"({"hookName":"createContainer"})"}}}};
  EXPECT_EQ(
      encode_cdi_spec("n", {.env = {"A=1"}, .mounts = {}}, drawn),
      R"({"cdiVersion":"0.10.0","kind":"tangram.dev/slot","devices":[{"name":"n",)"
      R"("containerEdits":{"env":["A=0","A=1"],"mounts":[],)"
      R"("deviceNodes":[{"path":"/dev/nvidia0"}],"hooks":[{"hookName":"createContainer"}]}}]})");
}

TEST(CdiSpecTest, VersionsCompareByNumber) {
  EXPECT_TRUE(older_version("0.6.0", "0.10.0"));
  EXPECT_TRUE(older_version("", "0.3"));
  EXPECT_TRUE(older_version("0.6.0", "1.0"));
  EXPECT_FALSE(older_version("0.6.0", "0.6"));
  EXPECT_FALSE(older_version("1.0.0", "0.9.9"));
}

TEST(CdiSpecTest, VersionsThatAreNoneAreComparedAllTheSame) {
  EXPECT_TRUE(older_version("0.6.0", "99999999999999999999"));
  EXPECT_FALSE(older_version("99999999999999999999", "0.6.0"));
  EXPECT_TRUE(older_version("1.2rc1", "1.3"));
  EXPECT_FALSE(older_version("x\xff", "x\xff"));
}

class CdiFolderTest : public ::testing::Test {
 protected:
  testing::TempFolder folder;
  CdiFolder cdi{folder.path() + "/cdi"};
};

TEST_F(CdiFolderTest, PutsListsAndRemoves) {
  EXPECT_TRUE(cdi.names().empty());
  EXPECT_TRUE(*cdi.put("slot-1.a", "x"));
  EXPECT_TRUE(*cdi.put("slot-2.b", "y"));
  EXPECT_EQ(cdi.names(), (std::set<std::string>{"slot-1.a", "slot-2.b"}));
  EXPECT_TRUE(cdi.remove("slot-1.a"));
  EXPECT_FALSE(cdi.remove("slot-1.a"));
  EXPECT_EQ(cdi.names(), (std::set<std::string>{"slot-2.b"}));
}

TEST_F(CdiFolderTest, WritesOnlyWhatIsDifferent) {
  EXPECT_TRUE(*cdi.put("n", "x"));
  EXPECT_FALSE(*cdi.put("n", "x"));
  EXPECT_TRUE(*cdi.put("n", "y"));
  EXPECT_EQ(*read_file(folder.path() + "/cdi/tangram.dev-slot-n.json"), "y");
}

TEST_F(CdiFolderTest, LeavesOthersFilesAlone) {
  std::filesystem::create_directories(folder.path() + "/cdi");
  ASSERT_TRUE(replace_file(folder.path() + "/cdi/nvidia.yaml", "kind: nvidia.com/gpu"));
  ASSERT_TRUE(replace_file(folder.path() + "/cdi/tangram.dev-slot-n.json.part", "torn"));
  EXPECT_TRUE(cdi.names().empty());
}

TEST_F(CdiFolderTest, SaysWhyItCannotWrite) {
  ASSERT_TRUE(replace_file(folder.path() + "/cdi", "a file in the folder's place"));
  const auto put = cdi.put("n", "x");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram::node
