#pragma once

namespace tangram::shim::cuda {

/// In a child after fork().
void forget_mappings();

}  // namespace tangram::shim::cuda
