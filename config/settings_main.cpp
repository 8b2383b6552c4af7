#include "config/reference.hpp"

#include <iostream>
#include <string_view>

/// Prints the table of settings: for scripts/generate/reference, and for a terminal.
int main(int argc, char** argv) {
  const std::string_view form = argc == 2 ? argv[1] : "";
  if (form == "yaml") {
    std::cout << tangram::config::reference_yaml();
  } else if (form == "markdown") {
    std::cout << tangram::config::reference_markdown();
  } else if (form == "help") {
    std::cout << tangram::config::settings_help();
  } else {
    std::cerr << "usage: tangram-settings yaml|markdown|help\n";
    return 2;
  }
  return 0;
}
