#pragma once

#include <spdlog/formatter.h>

#include <memory>

namespace tangram::cli {

inline constexpr const char* kProgram = "kubectl-tangram";

/// "kubectl-tangram: warning: MESSAGE". The message is one_line(): what the ledger warns of has
/// texts of others, and standard error is a terminal, too.
[[nodiscard]] std::unique_ptr<spdlog::formatter> log_formatter();

}  // namespace tangram::cli
