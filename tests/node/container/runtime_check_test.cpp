#include "node/container/runtime_check.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

constexpr VendorRuntime kAcme{
    .variable = "ACME_DEVICES", .no_card = "none", .setup = "set it up", .program = "acme-runtime"};

/// "" = the container gets its card.
std::string refusal(const RuntimeConfig& config, NamePath path, bool names_class = false) {
  const auto checked = check_runtime(config, path, names_class, kAcme);
  if (checked) return "";
  EXPECT_EQ(checked.error().code, Errc::kUnavailable) << "the runtime may be configured anew";
  return checked.error().message;
}

TEST(RuntimeCheckTest, NoCdiDevicePassesWhereCdiIsOff) {
  const RuntimeConfig off{.cdi = false, .default_program = "/opt/acme-runtime"};
  for (const NamePath path : {NamePath::kCdiDevices, NamePath::kCdiAnnotation}) {
    for (const bool names_class : {false, true}) {
      EXPECT_NE(refusal(off, path, names_class).find("enable_cdi = true"), std::string::npos);
    }
    EXPECT_EQ(refusal({.cdi = true, .default_program = "runc"}, path), "");
  }
}

TEST(RuntimeCheckTest, TheVariablePassesOnlyUnderTheVendorsRuntime) {
  const auto by_default = [](const char* program, bool names_class = false) {
    return refusal({.cdi = false, .default_program = program}, NamePath::kEnvironment, names_class);
  };
  EXPECT_EQ(by_default("/opt/bin/acme-runtime"), "");
  EXPECT_NE(by_default("runc").find("the pod names no RuntimeClass"), std::string::npos);
  EXPECT_EQ(by_default("runc", true), "") << "the class may be the vendor's";
}

TEST(RuntimeCheckTest, WhatTheRuntimeDoesNotTellRefusesNothing) {
  for (const NamePath path :
       {NamePath::kCdiDevices, NamePath::kCdiAnnotation, NamePath::kEnvironment}) {
    EXPECT_EQ(refusal({}, path), "");
  }
}

}  // namespace
}  // namespace tangram::node
