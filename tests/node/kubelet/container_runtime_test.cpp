#include "node/kubelet/container_runtime.hpp"

#include "tests/node/kubelet/fake_runtime.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using Environment = std::vector<std::string>;

class CriRuntimeTest : public ::testing::Test {
 protected:
  testing::TempFolder folder;
  testing::FakeRuntime fake{folder.path() + "/runtime.sock"};
  CriRuntime runtime{fake.socket()};
};

TEST_F(CriRuntimeTest, ListsTheRunningContainersByKubeletsNames) {
  fake.add({.id = "c1", .pod_uid = "u1", .pod = "a", .container = "main", .created_at = 7});
  fake.add({.id = "c2", .pod_uid = "u2", .running = false});
  const auto running = runtime.list();
  ASSERT_TRUE(running) << running.error().message;
  EXPECT_EQ(*running, (std::vector<RuntimeContainer>{{"c1", "u1", "ml", "a", "main", 7}}));
}

TEST_F(CriRuntimeTest, ReadsTheEnvironmentOfAContainer) {
  fake.add({.id = "c1", .pod_uid = "u1", .env = {"PATH=/bin", "A=\"x\"=y", "A=2"}});
  EXPECT_EQ(runtime.environment("c1").value(), (Environment{"PATH=/bin", "A=\"x\"=y", "A=2"}));
  EXPECT_EQ(runtime.environment("gone").error().code, Errc::kNotFound);
}

TEST_F(CriRuntimeTest, ReadsWhatOnePodCanMakeOfARecordAndSaysThatMoreIsTooLarge) {
  fake.add({.id = "c1", .pod_uid = "u1", .env = {"A=" + std::string(60 << 20, 'x')}});
  fake.add({.id = "c2", .pod_uid = "u1", .env = {"A=" + std::string(65 << 20, 'x')}});
  EXPECT_TRUE(runtime.environment("c1"));
  EXPECT_EQ(runtime.environment("c2").error().code, Errc::kConflict);
}

TEST_F(CriRuntimeTest, WhereTheListIsTooLargeEachPodsIsTold) {
  constexpr std::size_t kHalf = std::size_t{33} << 20U;
  fake.add({.id = "c1", .pod_uid = "u1", .padding = kHalf});
  fake.add({.id = "c2", .pod_uid = "u2", .padding = kHalf});
  fake.add({.id = "c3", .pod_uid = "u3", .padding = 2 * kHalf});
  fake.add({.id = "c4", .pod_uid = "u4"});
  EXPECT_EQ(runtime.list().error().code, Errc::kConflict);
  EXPECT_EQ(runtime.list_of("u1")->size(), 1U);
  EXPECT_EQ(runtime.list_of("u3").error().code, Errc::kConflict);
  const auto of_pod = runtime.list_of("u4");
  ASSERT_TRUE(of_pod) << of_pod.error().message;
  EXPECT_EQ(*of_pod, (std::vector<RuntimeContainer>{{"c4", "u4", "ml", "p", "main"}}));
}

TEST_F(CriRuntimeTest, KillsAContainer) {
  fake.add({.id = "c1", .pod_uid = "u1"});
  EXPECT_TRUE(runtime.end("c1"));
  EXPECT_EQ(fake.ended(), std::vector<std::string>{"c1"});
  EXPECT_TRUE(runtime.end("gone")) << "it has ended";
}

TEST_F(CriRuntimeTest, TellsTheRuntimesConfiguration) {
  EXPECT_EQ(runtime.config().value(), RuntimeConfig{}) << "it tells nothing";
  fake.tell_config("[crio]");
  EXPECT_EQ(runtime.config().value(), RuntimeConfig{}) << "CRI-O's is no JSON";
  fake.tell_config(R"({"enableCDI":false})");
  EXPECT_EQ(runtime.config().value().cdi, false);
}

TEST_F(CriRuntimeTest, ARuntimeThatHangsIsNotWaitedFor) {
  fake.hang();
  CriRuntime impatient(fake.socket(), std::chrono::milliseconds(50));
  EXPECT_EQ(impatient.list().error().code, Errc::kUnavailable);
  EXPECT_EQ(impatient.environment("c1").error().code, Errc::kUnavailable);
  EXPECT_EQ(impatient.end("c1").error().code, Errc::kUnavailable);
}

TEST_F(CriRuntimeTest, WithoutASocketItIsUnavailable) {
  CriRuntime nowhere(folder.path() + "/nowhere.sock");
  EXPECT_EQ(nowhere.list().error().code, Errc::kUnavailable);
}

// As the runtimes wrote them, but for what is left out.
constexpr const char* kOfContainerd =
    R"({"sandboxID":"5f","pid":4711,"removing":false,"snapshotKey":"c1","config":{"metadata":)"
    R"({"name":"main"},"envs":[{"key":"OTHER","value":"x"}]},"runtimeSpec":{"ociVersion":"1.2.1",)"
    R"("process":{"user":{"uid":0},"args":["/program"],"env":["PATH=/bin","TANGRAM_ALLOCATION=)"
    R"(slot-1.8c0f"],"cwd":"/"},"root":{"path":"rootfs"}}})";
constexpr const char* kOfCrio =
    R"({"sandboxID":"5f","pid":4711,"runtimeSpec":{"ociVersion":"1.0.2-dev","process":{"env":)"
    R"(["TERM=xterm"],"cwd":"/"},"linux":{}},"privileged":false})";

TEST(EnvironmentInTest, ReadsBothRuntimesTexts) {
  EXPECT_EQ(environment_in(kOfContainerd).value(),
            (Environment{"PATH=/bin", "TANGRAM_ALLOCATION=slot-1.8c0f"}));
  EXPECT_EQ(environment_in(kOfCrio).value(), Environment{"TERM=xterm"});
}

TEST(EnvironmentInTest, AMissingEnvironmentIsNotAnEmptyOne) {
  for (const char* text : {"", "{}", R"({"runtimeSpec":null})", R"({"runtimeSpec":{"process":{}}})",
                           R"({"runtimeSpec":{"process":{"env":null}}})",
                           R"({"runtimeSpec":{"process":{"env":[7]}}})", "[]"}) {
    EXPECT_FALSE(environment_in(text)) << text;
  }
  EXPECT_TRUE(environment_in(R"({"runtimeSpec":{"process":{"env":[]}}})")->empty());
}

// As containerd 1.7 and 2.1 tell it; shortened.
constexpr const char* kConfig =
    R"({"containerd":{"defaultRuntimeName":"nvidia","runtimes":{"nvidia":{"options":{"BinaryName":)"
    R"("/usr/bin/nvidia-container-runtime"},"runtimeType":"io.containerd.runc.v2"},"runc":)"
    R"({"options":null}},"snapshotter":"overlayfs"},"cni":{},"enableCDI":false,"rootDir":"/x"})";

TEST(RuntimeConfigInTest, ReadsWhetherCdiIsOnAndTheDefaultRuntime) {
  const auto config = runtime_config_in(kConfig);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->cdi, false);
  EXPECT_EQ(config->default_program, "/usr/bin/nvidia-container-runtime");
  const auto plain = runtime_config_in(
      R"({"containerd":{"defaultRuntimeName":"runc","runtimes":{"runc":{}}},"enableCDI":true})");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(*plain, (RuntimeConfig{.cdi = true, .default_program = "runc"}));
}

TEST(RuntimeConfigInTest, WhatItDoesNotTellIsUnknown) {
  EXPECT_EQ(runtime_config_in("{}").value(), RuntimeConfig{});
  EXPECT_EQ(runtime_config_in(R"({"containerd":{"defaultRuntimeName":"kata"}})").value(),
            RuntimeConfig{});
  for (const char* text : {"", "[]", R"({"enableCDI":"yes"})", R"({"containerd":7})"}) {
    EXPECT_FALSE(runtime_config_in(text)) << text;
  }
}

}  // namespace
}  // namespace tangram::node
