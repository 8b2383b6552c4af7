#pragma once

#include <string>
#include <vector>

namespace tangram::gpu_check {

/// What was checked, what was seen, and whether it is as promised. Threads: one.
class Report {
 public:
  void passed(const std::string& what, const std::string& seen) { add(what, seen, "", "reached"); }
  void failed(const std::string& what, const std::string& seen) {
    add(what, seen, "", "NOT REACHED");
  }
  /// @param mark  what the figure must be; empty if `what` says it
  void expect(bool good, const std::string& what, const std::string& seen,
              const std::string& mark = {}) {
    add(what, seen, mark, good ? "reached" : "NOT REACHED");
  }
  /// A figure that must not be above the mark.
  void expect_at_most(double figure, double mark, const std::string& unit, const std::string& what);
  /// The driver, the card or the system does not have what is to be checked.
  void not_offered(const std::string& what, const std::string& because) {
    add(what, because, "", "not offered");
  }
  /// It could not be looked at here.
  void not_checked(const std::string& what, const std::string& why) {
    add(what, why, "", "not checked");
  }

  [[nodiscard]] bool any_failed() const;
  /// All lines as a table, and how many of each result there are.
  void print_table() const;

 private:
  struct Line {
    std::string what;
    std::string seen;
    std::string mark;
    std::string result;
  };
  /// Prints it at once: whoever waits sees how far it is.
  void add(const std::string& what, const std::string& seen, const std::string& mark,
           const std::string& result);
  [[nodiscard]] long count(const std::string& result) const;

  std::vector<Line> lines_;
};

/// "0.25"
std::string decimal(double value);
/// Of bytes: "16255 MiB", or "1.50 MiB".
std::string in_mebibytes(double bytes);

}  // namespace tangram::gpu_check
