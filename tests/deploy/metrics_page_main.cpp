#include "tests/deploy/metrics_page.hpp"

#include <iostream>

/// Prints docs/metrics.md: for scripts/update-reference.
int main() { std::cout << tangram::testing::metrics_page(); }
