#pragma once

#include "kube/reflector.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tangram::testing {

/// Sends a whole list to a sink, as a reflector does.
inline void send_list(kube::ObjectSink& sink, std::vector<std::string> objects) {
  sink.begin_list();
  for (std::string& object : objects) sink.listed(std::move(object));
  sink.end_list();
}

}  // namespace tangram::testing
