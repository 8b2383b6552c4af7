#pragma once

#include "base/result.hpp"
#include "node/container/cdi_spec.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

/// Paths on the host of the libraries that stand in for the driver's (shim/).
struct StandInPaths {
  std::string cuda;
  std::string nvml;
};

/// The stand-ins in a folder of the agent's image, for install_on_host(), and where that has put
/// them.
[[nodiscard]] std::vector<std::string> stand_in_files(const std::string& image_folder);
[[nodiscard]] StandInPaths stand_ins_in(const std::string& host_folder);

/// NVIDIA's edits with the stand-ins in place of the driver's libcuda and libnvidia-ml: they are
/// mounted under the same names, so that links, the loader's cache and every program find them, and
/// the driver's own where the stand-ins look for them (shim/pages.hpp). Both mounts are in one spec
/// on purpose: of two specs that mount over the same path, it is not defined which one wins.
///
/// The hook `enable-cuda-compat` is left out: it puts an image's own libcuda before the mounted
/// one. So are libraries for 32-bit programs, which CUDA no longer supports: nothing stands in for
/// them.
///
/// @returns kUnavailable if the edits do not mount both libraries, one file of each under one name
///          or several, with what to do
Result<CdiEdits> with_stand_ins(const CdiEdits& vendor, const StandInPaths& stand_ins);

/// The path on the host of a library of the driver, as NVIDIA's edits mount it.
/// @param library  without its version: "libnvidia-ml.so"
/// @returns kUnavailable if they do not
Result<std::string> host_path_of(const CdiEdits& vendor, std::string_view library);

}  // namespace tangram::node::nvidia
