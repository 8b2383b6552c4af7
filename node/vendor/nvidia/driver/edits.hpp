#pragma once

#include "base/result.hpp"
#include "node/container/cdi_spec.hpp"
#include "node/vendor/nvidia/driver/device_nodes.hpp"
#include "node/vendor/nvidia/driver/installed.hpp"

#include <vector>

namespace tangram::node::nvidia {

/// The edits that give a container these cards, made of the driver's own files: as
/// `nvidia-ctk cdi generate` would, for nodes without NVIDIA's specs, and without a hook. So the
/// container needs no RuntimeClass, and no program of the toolkit's.
///
///     device nodes   device_nodes()
///     mounts         InstalledDriver::libraries, read-only, under each name by which programs load
///                    them, in /usr/lib64 and in /usr/lib/ARCHITECTURE-linux-gnu; nvidia-smi
///
/// The dynamic loaders of Fedora's and of Debian's families look into these two folders by
/// themselves, after their cache. NVIDIA's specs have a hook that writes the cache instead.
///
/// @param host  the host's file system, for its /dev and /proc
/// @returns as device_nodes()
[[nodiscard]] Result<CdiEdits> edits_from_driver(const InstalledDriver& driver, const Root& host,
                                                 const std::vector<CardPlace>& cards);

}  // namespace tangram::node::nvidia
