#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tangram::bench {

/// What an added cost is divided by, so that it does not depend on the machine and its load.
enum class Floor {
  kMutex,  ///< locking a mutex that is free and unlocking it, in the same run
  kBare,   ///< the same figure over the bare driver
};

/// What the stand-in may add.
struct Allowance {
  double target;  ///< in the figure's unit; times depend on the machine, so nothing fails by it
  Floor floor;
  double most_floors;  ///< several times what was measured: more is a defect
};

/// One figure over the bare driver and behind the stand-in, taken in turns, so that noise of the
/// machine affects both. Smaller is better.
class Comparison {
 public:
  Comparison(std::string name, std::string unit, const Allowance& allowance)
      : name_(std::move(name)), unit_(std::move(unit)), allowance_(allowance) {}

  void add(double bare, double behind) {
    bare_.push_back(bare);
    behind_.push_back(behind);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& unit() const { return unit_; }
  [[nodiscard]] const Allowance& allowance() const { return allowance_; }
  [[nodiscard]] double bare() const;
  [[nodiscard]] double behind() const;
  /// The median of the rounds' differences.
  [[nodiscard]] double added() const;
  /// How far added() may be off by chance: its standard error.
  [[nodiscard]] double noise() const;
  [[nodiscard]] double added_floors(double mutex_ns) const;

 private:
  [[nodiscard]] std::vector<double> differences() const;

  std::string name_;
  std::string unit_;
  Allowance allowance_;
  std::vector<double> bare_;
  std::vector<double> behind_;
};

}  // namespace tangram::bench
