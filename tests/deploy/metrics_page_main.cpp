#include "tests/deploy/metrics_page.hpp"

#include <iostream>

/// Prints docs/metrics.md: for scripts/generate/reference.
int main() { std::cout << tangram::testing::metrics_page(); }
