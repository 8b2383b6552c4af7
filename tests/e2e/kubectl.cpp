#include "tests/e2e/kubectl.hpp"

#include "tests/e2e/environment.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace tangram::e2e {

namespace {

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

KubectlAnswer run(const std::string& command) {
  FILE* output = ::popen(command.c_str(), "r");
  if (output == nullptr) throw std::runtime_error("kubectl cannot be started");
  KubectlAnswer answer;
  std::array<char, 4096> buffer{};
  while (const auto size = std::fread(buffer.data(), 1, buffer.size(), output)) {
    answer.text.append(buffer.data(), size);
  }
  const int status = ::pclose(output);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

}  // namespace

KubectlAnswer kubectl(const std::vector<std::string>& arguments, const std::string& input,
                      const std::string& user) {
  const auto file = environment().state / "kubectl.in";
  std::ofstream(file) << input;
  std::string command =
      quoted(environment().kubectl) + " --kubeconfig " + quoted(environment().admin_kubeconfig);
  if (!user.empty()) command += " --as " + quoted(user) + " --as-group system:authenticated";
  for (const auto& argument : arguments) command += " " + quoted(argument);
  return run(command + " 2>&1 <" + quoted(file.string()));
}

KubectlAnswer run_command(const std::vector<std::string>& words) {
  std::string command;
  for (const auto& word : words) command += quoted(word) + " ";
  return run(command + "2>&1");
}

}  // namespace tangram::e2e
