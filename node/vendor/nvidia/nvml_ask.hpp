#pragma once

#include "node/vendor/nvidia/nvml_library.hpp"

#include <string>

namespace tangram::node {

/// Asks the library one thing after the other and remembers what went badly wrong on the way, so
/// that callers need to look once, at the end. Threads: one.
class NvmlAsk {
 public:
  explicit NvmlAsk(const NvmlLibrary& library) : library_(library) {}

  /// @returns whether the function is there and succeeded; else what it was to fill in is void
  template <class Function, class... Arguments>
  bool operator()(Function* function, Arguments... arguments) {
    last_ = function == nullptr ? nvml::Code::kFunctionNotFound : function(arguments...);
    if (ends_session(last_)) broken_ = last_;
    if (last_ == nvml::Code::kGpuIsLost) met_lost_card_ = true;
    return last_ == nvml::Code::kSuccess;
  }

  /// A text that the library writes into a buffer; empty if it could not.
  template <class Function, class... Arguments>
  std::string text(Function* function, Arguments... arguments) {
    char buffer[nvml::kTextSize + 1] = {};  // ends also where the library does not say so
    return (*this)(function, arguments..., buffer, nvml::kTextSize) ? buffer : "";
  }

  [[nodiscard]] const nvml::Functions& call() const { return library_.call(); }
  [[nodiscard]] nvml::Code last() const { return last_; }
  [[nodiscard]] std::string last_text() const { return library_.error_text(last_); }
  /// The driver went away: nothing works until the library was shut down and initialised again.
  [[nodiscard]] bool broken() const { return broken_ != nvml::Code::kSuccess; }
  [[nodiscard]] std::string broken_text() const { return library_.error_text(broken_); }
  [[nodiscard]] bool met_lost_card() const { return met_lost_card_; }

 private:
  static bool ends_session(nvml::Code code) {
    return code == nvml::Code::kUninitialized || code == nvml::Code::kDriverNotLoaded ||
           code == nvml::Code::kVersionMismatch;
  }

  const NvmlLibrary& library_;
  nvml::Code last_ = nvml::Code::kSuccess;
  nvml::Code broken_ = nvml::Code::kSuccess;
  bool met_lost_card_ = false;
};

}  // namespace tangram::node
