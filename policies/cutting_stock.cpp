#include "policies/cutting_stock.hpp"

#include "policies/fill.hpp"

#include <algorithm>
#include <cmath>

namespace tangram::policies {

namespace {

constexpr std::size_t kCard = 1000;
/// Column generation ends long before (some hundred patterns for 64 sizes); a bound for bad luck.
constexpr int kMostPatterns = 2'000;
/// Smaller gains are rounding.
constexpr double kTiny = 1e-9;
constexpr auto kNone = static_cast<std::size_t>(-1);

using Row = std::vector<double>;

/// The linear program: as many rows as sizes, one pattern of the basis each.
class PatternProgram {
 public:
  explicit PatternProgram(const std::vector<CutDemand>& demand) : demand_(demand) {
    // To begin with, every size is cut from cards of its own.
    for (std::size_t i = 0; i < demand.size(); ++i) {
      const std::size_t whole_pieces = kCard / demand[i].size;
      const auto pieces = static_cast<double>(whole_pieces);
      inverse_.emplace_back(demand.size(), 0.0);
      inverse_[i][i] = 1 / pieces;
      cards_.push_back(static_cast<double>(demand[i].count) / pieces);
    }
  }

  /// The value of every rest under the prices of the best patterns; a card's is 1.
  std::vector<double> solve() {
    for (int i = 0; i < kMostPatterns; ++i) {
      price_rests();
      if (value_[kCard] <= 1 + kTiny || !bring_in(dearest_pattern())) break;
    }
    return value_;
  }

 private:
  /// Knapsack: the dearest set of pieces for every rest.
  void price_rests() {
    Row price(demand_.size(), 0.0);
    for (const Row& row : inverse_) {
      for (std::size_t j = 0; j < row.size(); ++j) price[j] += row[j];
    }
    value_.assign(kCard + 1, 0.0);
    last_piece_.assign(kCard + 1, kNone);
    for (std::size_t rest = 1; rest <= kCard; ++rest) {
      value_[rest] = value_[rest - 1];
      for (std::size_t i = 0; i < demand_.size(); ++i) {
        if (demand_[i].size > rest) continue;
        const double value = value_[rest - demand_[i].size] + price[i];
        if (value <= value_[rest] + kTiny) continue;
        value_[rest] = value;
        last_piece_[rest] = i;
      }
    }
  }

  [[nodiscard]] Row dearest_pattern() const {
    Row pattern(demand_.size(), 0.0);
    for (std::size_t rest = kCard; rest > 0;) {
      const std::size_t piece = last_piece_[rest];
      if (piece != kNone) pattern[piece] += 1;
      rest -= piece != kNone ? demand_[piece].size : 1;
    }
    return pattern;
  }

  /// @returns the number of rows if no pattern of the basis runs out
  [[nodiscard]] std::size_t runs_out_first(const Row& column) const {
    const std::size_t n = column.size();
    std::size_t first = n;
    for (std::size_t i = 0; i < n; ++i) {
      if (column[i] <= kTiny) continue;
      if (first == n || cards_[i] * column[first] < cards_[first] * column[i]) first = i;
    }
    return first;
  }

  /// Replaces the pattern of the basis that runs out first. @returns whether there is one
  bool bring_in(const Row& pattern) {
    const std::size_t n = demand_.size();
    Row column(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) column[i] += inverse_[i][j] * pattern[j];
    }
    const std::size_t leaving = runs_out_first(column);
    if (leaving == n) return false;
    for (double& cell : inverse_[leaving]) cell /= column[leaving];
    cards_[leaving] /= column[leaving];
    for (std::size_t i = 0; i < n; ++i) {
      if (i == leaving || column[i] == 0) continue;
      for (std::size_t j = 0; j < n; ++j) inverse_[i][j] -= column[i] * inverse_[leaving][j];
      cards_[i] = std::max(0.0, cards_[i] - column[i] * cards_[leaving]);
    }
    return true;
  }

  const std::vector<CutDemand>& demand_;
  std::vector<Row> inverse_;  ///< of the basis
  Row cards_;                 ///< cut by each pattern of the basis
  std::vector<double> value_;
  std::vector<std::size_t> last_piece_;  ///< of the dearest set; kNone = none ends here
};

RestValues proportional() {
  RestValues values;
  for (std::int64_t rest = 0; rest <= 1000; ++rest) values.push_back(kFull / 1000 * rest);
  return values;
}

}  // namespace

RestValues rest_values(std::vector<CutDemand> demand) {
  if (demand.empty()) return proportional();
  const auto by_size = [](const CutDemand& a, const CutDemand& b) { return a.size < b.size; };
  std::sort(demand.begin(), demand.end(), by_size);
  if (demand.size() > kMostSizes) {
    std::stable_sort(demand.begin(), demand.end(),
                     [](const CutDemand& a, const CutDemand& b) { return a.count > b.count; });
    demand.resize(kMostSizes);
    std::sort(demand.begin(), demand.end(), by_size);
  }
  RestValues values;
  for (const double value : PatternProgram(demand).solve()) {
    const auto rounded =
        static_cast<std::int64_t>(std::llround(value * static_cast<double>(kFull)));
    values.push_back(std::min(kFull, rounded));
  }
  values[kCard] = kFull;
  return values;
}

}  // namespace tangram::policies
