#pragma once

#include <string>
#include <vector>

namespace tangram::gpu_check {

/// What was checked, line by line.
class Report {
 public:
  void passed(const std::string& what, const std::string& seen) { add(what, "ok", seen); }
  void failed(const std::string& what, const std::string& seen) { add(what, "FAILED", seen); }
  void expect(bool good, const std::string& what, const std::string& seen) {
    good ? passed(what, seen) : failed(what, seen);
  }
  void not_checked(const std::string& what, const std::string& why) {
    add(what, "not checked", why);
  }

  [[nodiscard]] bool any_failed() const;

 private:
  /// Prints it at once: whoever waits sees how far it is.
  void add(const std::string& what, const std::string& verdict, const std::string& seen);

  std::vector<std::string> verdicts_;
};

/// "0.25"
std::string decimal(double value);

}  // namespace tangram::gpu_check
