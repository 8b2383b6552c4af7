#pragma once

#include "node/vendor/nvidia/nvml_library.hpp"

#include <string>

namespace tangram::node::nvidia {

/// Makes a series of calls to the library and remembers grave errors, so that callers check once,
/// at the end. Threads: one.
class NvmlAsk {
 public:
  explicit NvmlAsk(const NvmlLibrary& library) : library_(library) {}

  /// @returns whether the function exists and succeeded; otherwise its output is undefined
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
  /// The driver has gone: the library must be shut down and initialised again.
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

}  // namespace tangram::node::nvidia
