#pragma once

namespace tangram::shim::cuda {

/// In a child after fork().
void forget_contexts();

}  // namespace tangram::shim::cuda
