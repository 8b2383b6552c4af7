#include "bench/replay/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace tangram::bench {

namespace {

constexpr double kWidth = 720;
constexpr double kLeft = 56;
constexpr double kRight = 16;
constexpr double kHeight = 150;  // of a panel
constexpr double kGap = 44;      // above each panel, with its heading
constexpr double kHourMs = 3'600'000;

/// As in the study's other pictures.
constexpr std::array<std::string_view, kPodClasses> kColours{"#3a5fcd", "#0b6e4f", "#c1440e",
                                                             "#8a6d00", "#7a3e9d"};
constexpr std::string_view kDark = "#444444";

/// A coordinate system with an upper and a lower end.
struct Panel {
  double top = 0;
  double low = 0;
  double high = 1;
  std::size_t points = 1;

  [[nodiscard]] double x(std::size_t point) const {
    return kLeft + (kWidth - kLeft - kRight) * (static_cast<double>(point) + 0.5) /
                       static_cast<double>(points);
  }
  [[nodiscard]] double y(double value) const {
    return top + kHeight * (1 - (std::clamp(value, low, high) - low) / (high - low));
  }
};

std::string text_at(double x, double y, std::string_view anchor, std::string_view colour,
                    std::string_view text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}">{}</text>)"
                     "\n",
                     x, y, anchor, colour, text);
}

/// The frame's lines with their numbers.
std::string axis(const Panel& panel, std::string_view heading, int decimals) {
  constexpr int kLines = 4;
  std::string svg = text_at(kLeft, panel.top - 10, "start", kDark, heading);
  for (int i = 0; i <= kLines; ++i) {
    const double value = panel.low + (panel.high - panel.low) * i / kLines;
    svg += fmt::format(R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="#ddd"/>)"
                       "\n",
                       kLeft, panel.y(value), kWidth - kRight);
    svg += text_at(kLeft - 6, panel.y(value) + 4, "end", kDark,
                   fmt::format("{:.{}f}", value, decimals));
  }
  return svg;
}

template <class ValueOf>
std::string line(const Panel& panel, const std::vector<Levels<double>>& series,
                 std::string_view colour, const ValueOf& value_of) {
  std::string path;
  for (std::size_t i = 0; i < series.size(); ++i) {
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", panel.x(i),
                        panel.y(value_of(series[i])));
  }
  return fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="1.5"/>)"
                     "\n",
                     path, colour);
}

std::string allocation_panel(const SimulationOutcome& outcome, double top) {
  const auto percent = [&](const Levels<double>& levels) {
    return 100 * levels.allocated_milli /
           static_cast<double>(std::max<std::int64_t>(1, outcome.capacity_milli));
  };
  // The cluster fills from nothing; what comes afterwards is of interest.
  double least = 100;
  for (std::size_t i = outcome.series.size() / 4; i < outcome.series.size(); ++i) {
    least = std::min(least, percent(outcome.series[i]));
  }
  const Panel panel{.top = top,
                    .low = std::max(0.0, 10 * std::floor(least / 10)),
                    .high = std::max(100.0, least),
                    .points = std::max<std::size_t>(1, outcome.series.size())};
  return axis(panel, "allocated, % of the cards", 1) +
         line(panel, outcome.series, kColours[1], percent);
}

std::string waiting_panel(const SimulationOutcome& outcome, double top) {
  double most = 1;
  for (const Levels<double>& levels : outcome.series) {
    most = std::max(most, *std::max_element(levels.waiting.begin(), levels.waiting.end()));
  }
  const Panel panel{.top = top,
                    .low = 0,
                    .high = 4 * std::ceil(most / 4),
                    .points = std::max<std::size_t>(1, outcome.series.size())};
  std::string svg = axis(panel, "waiting pods", 0);
  double at = kLeft + 120;
  for (std::size_t i = 0; i < kPodClasses; ++i) {
    if (outcome.classes[i].wait.pods == 0) continue;
    svg += line(panel, outcome.series, kColours[i],
                [i](const Levels<double>& levels) { return levels.waiting[i]; });
    svg += text_at(at, top - 10, "start", kColours[i], kPodClassNames[i]);
    at += 100;
  }
  return svg;
}

}  // namespace

std::string picture_of(const SimulationRun& run) {
  const double height = 2 * (kGap + kHeight) + 30;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0f} {:.0f}" font-family="sans-serif" font-size="13">)"
      "\n"
      R"(<rect width="{:.0f}" height="{:.0f}" fill="white"/>)"
      "\n",
      kWidth, height, kWidth, height);
  svg += text_at(kWidth - kRight, kGap - 10, "end", kDark, run.policy);
  svg += allocation_panel(run.outcome, kGap);
  svg += waiting_panel(run.outcome, 2 * kGap + kHeight);
  svg += text_at(kLeft, height - 8, "start", kDark, "0 h");
  svg += text_at(kWidth - kRight, height - 8, "end", kDark,
                 fmt::format("{:.1f} h", static_cast<double>(run.outcome.ends) / kHourMs));
  return svg + "</svg>\n";
}

}  // namespace tangram::bench
