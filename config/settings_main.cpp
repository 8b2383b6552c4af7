#include "config/reference.hpp"

#include <iostream>
#include <map>
#include <string_view>

/// Prints the table of settings: for scripts/generate/reference, and for a terminal.
int main(int argc, char** argv) {
  using namespace tangram::config;
  const std::map<std::string_view, std::string (*)()> forms{
      {"yaml", reference_yaml}, {"markdown", reference_markdown}, {"help", settings_help}};
  const auto form = forms.find(argc == 2 ? argv[1] : "");
  if (form == forms.end()) {
    std::cerr << "usage: tangram-settings yaml|markdown|help\n";
    return 2;
  }
  std::cout << form->second();
  return 0;
}
