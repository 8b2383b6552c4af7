#include "node/hook/settings.hpp"

#include "base/number.hpp"
#include "base/quote.hpp"

#include <CLI/CLI.hpp>
#include <tangram_version.hpp>

#include <limits>
#include <set>

namespace tangram::node::hook {
namespace {

constexpr int kBadUsage = 2;
constexpr std::string_view kUnit = MebibytesTag::kSuffix;
constexpr std::int64_t kMostMebibytes = std::numeric_limits<std::int64_t>::max() >> 20U;

constexpr const char* kPurpose =
    "Limits how much memory of its cards a container can take, by the GPU driver and the "
    "kernel.\n\n"
    "A container runtime starts it as a createRuntime hook: on the host, as root, before the\n"
    "container's first instruction, with the container's state on standard input. It sets each\n"
    "limit on the container's own cgroup and reads it back. If one cannot be set, it prints the\n"
    "reason and fails, and the runtime does not start the container.\n\n"
    "  tangram-memory-hook --limit GPU-8f5c…=16255MiB --limit GPU-02d1…=8000MiB <state.json\n";

constexpr const char* kRequirements =
    "It needs cgroup v2, and for --limit NVIDIA's driver r615 or newer without MIG; for --dmem\n"
    "Linux 6.14 or newer. It waits for the driver as long as the driver takes: give the hook a\n"
    "timeout in the CDI spec.\n";

/// A check for CLI11: "" if all is well.
std::string fault_in(const std::string& text) {
  const auto limit = parse_limit(text);
  return limit ? "" : limit.error().message;
}

void add_limits(CLI::App& cli, std::vector<std::string>& limits, std::vector<std::string>& dmem) {
  cli.add_option("--limit", limits,
                 "What the container may take of one of NVIDIA's cards; repeat it for each card. "
                 "MIG instances have their own memory and take no limit")
      ->type_name("UUID=NUMBERMiB")
      ->check(fault_in);
  cli.add_option("--dmem", dmem,
                 "The same for a card whose driver accounts in the kernel (amdgpu, xe), by its "
                 "region in dmem.capacity of the root cgroup: drm/0000:03:00.0/vram0=8000MiB")
      ->type_name("REGION=NUMBERMiB")
      ->check(fault_in);
}

void add_places(CLI::App& cli, Settings& settings) {
  cli.add_option("--nvml", settings.nvml,
                 "The driver's libnvidia-ml.so.1 on the host: a path, or a name that the dynamic "
                 "linker finds")
      ->type_name("FILE");
  cli.add_option("--cgroup-root", settings.folders.cgroup, "Where cgroup v2 is mounted")
      ->type_name("FOLDER");
  cli.add_option("--proc", settings.folders.proc, "Where proc is mounted")->type_name("FOLDER");
}

std::vector<MemoryLimit> limits_in(const std::vector<std::string>& texts, const char* option) {
  std::vector<MemoryLimit> limits;
  std::set<std::string> cards;
  for (const std::string& text : texts) {
    limits.push_back(*parse_limit(text));
    if (!cards.insert(limits.back().card).second) {
      throw CLI::ValidationError(option, limits.back().card + " is limited twice; write it once");
    }
  }
  return limits;
}

}  // namespace

Result<MemoryLimit> parse_limit(std::string_view text) {
  const auto wrong = [text] {
    return fail(Errc::kInvalidArgument,
                quote(text) +
                    " is no limit; write a card and a whole number above 0 of MiB, such "
                    "as GPU-8f5c…=16255MiB");
  };
  const auto equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0 || !text.ends_with(kUnit)) return wrong();
  std::string_view amount = text.substr(equals + 1);
  amount.remove_suffix(kUnit.size());
  const auto count = parse_number<std::int64_t>(amount);
  if (!count || *count <= 0 || *count > kMostMebibytes) return wrong();
  return MemoryLimit{.card = std::string(text.substr(0, equals)), .amount = Mebibytes(*count)};
}

ParsedSettings parse_settings(int argc, const char* const* argv) {
  ParsedSettings parsed;
  Settings& settings = parsed.settings;
  std::vector<std::string> limits;
  std::vector<std::string> dmem;
  CLI::App cli(kPurpose);
  cli.footer(kRequirements);
  cli.set_version_flag("--version", std::string("tangram-memory-hook ") + kVersion);
  add_limits(cli, limits, dmem);
  cli.option_defaults()->always_capture_default();
  add_places(cli, settings);
  try {
    cli.parse(argc, argv);
    settings.limits = limits_in(limits, "--limit");
    settings.dmem = limits_in(dmem, "--dmem");
    if (limits.empty() && dmem.empty()) {
      throw CLI::RequiredError("no limit is given: --limit or --dmem");
    }
  } catch (const CLI::ParseError& error) {
    parsed.exit = cli.exit(error) == 0 ? 0 : kBadUsage;
  }
  return parsed;
}

}  // namespace tangram::node::hook
