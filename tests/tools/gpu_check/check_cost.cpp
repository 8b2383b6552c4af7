// Runs tangram-stand-in-cost, over its own driver and over this machine's, and reads its figures.
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/number.hpp"
#include "tests/tools/gpu_check/checks.hpp"

#include <chrono>
#include <map>

namespace tangram::gpu_check {

namespace {

using namespace std::chrono_literals;

using Figures = std::map<std::string, double, std::less<>>;

/// By "NAME, UNIT"; what is no object, a single number, is left out.
Result<std::map<std::string, Figures>> read_summary(std::string text) {
  std::map<std::string, Figures> all;
  json::Reader in(text);
  in.object([&](std::string_view name) {
    if (in.kind() != json::Kind::kObject) return in.skip();
    Figures& figures = all[std::string(name)];
    in.object([&](std::string_view figure) {
      figures[std::string(figure)] = parse_number<double>(in.scalar_text()).value_or(0);
    });
  });
  if (auto done = in.finish(); !done) return done.error();
  return all;
}

/// @param name  "cuLaunchKernel, exported, ns"
void judge(const std::string& driver, const std::string& name, Figures figures, Report& report) {
  const std::size_t comma = name.rfind(", ");
  const std::string unit = name.substr(comma + 2);
  const std::string what = "cost over " + driver + ": " + name.substr(0, comma) + ", added";
  const std::string seen = decimal(figures["added"]) + " ± " + decimal(figures["noise"]) + " " +
                           unit + ", bare " + decimal(figures["bare"]) + " " + unit;
  const double target = figures["target"];
  const std::string mark = "at most " + decimal(target) + " " + unit;
  if (figures["added"] > target && figures["added"] - 2 * figures["noise"] <= target) {
    return report.not_checked(what, seen + ": too much noise for the mark, " + mark);
  }
  report.expect(figures["added"] <= target, what, seen, mark);
}

void measure(const Setting& in, const std::string& driver,
             const std::vector<std::string>& options) {
  const std::string summary = in.work_dir + "/figures.json";
  node::Command command{{in.build + "/bin/tangram-stand-in-cost", "--summary", summary},
                        {"CUDA_VISIBLE_DEVICES=" + in.card.card.id},
                        {}};
  command.arguments.insert(command.arguments.end(), options.begin(), options.end());
  const auto run = node::run_to_success(in.programs, command, 300s, "the cost is not measured");
  if (!run) return in.report.failed("cost over " + driver, run.error().message);
  auto text = read_file(summary);
  if (!text) return in.report.failed("cost over " + driver, text.error().message);
  const auto all = read_summary(std::move(*text));
  if (!all) return in.report.failed("cost over " + driver, all.error().message);
  for (const auto& [name, figures] : *all) judge(driver, name, figures, in.report);
}

}  // namespace

void check_cost(const Setting& in) {
  measure(in, "a driver that does nothing", {});
  measure(in, "driver " + in.driver, {"--driver", "libcuda.so.1", "--card", in.card.card.id});
}

}  // namespace tangram::gpu_check
