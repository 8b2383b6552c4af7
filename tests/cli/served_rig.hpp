#pragma once

#include "base/file.hpp"
#include "tests/cli/rig.hpp"
#include "tests/testing/api_server.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace tangram::cli {

/// The filled Rig behind an API server over HTTP, and a folder with a kubeconfig for it: what
/// kubectl-tangram needs to run as people run it. A base of fixtures.
class ServedRig {
 protected:
  ServedRig() {
    rig_.fill();
    auto started = testing::ApiServer::start(rig_.api);
    if (!started) throw std::runtime_error(started.error().message);
    server_ = std::move(*started);
    write("kubeconfig",
          "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: "
          "{cluster: c, namespace: ml}}], clusters: [{name: c, cluster: {server: \"" +
              server_->url() + "\"}}]}\n");
  }

  [[nodiscard]] std::string file(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(replace_file(file(name), text));
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    const auto text = read_file(file(name));
    return text ? *text : "";
  }

  testing::TempFolder folder_;
  Rig rig_;
  std::unique_ptr<testing::ApiServer> server_;
};

}  // namespace tangram::cli
