#include "node/vendor/nvidia/sm_partitions.hpp"

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/one_line.hpp"
#include "model/compute_chunks.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace tangram::node::nvidia {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlanks = " \t\r\n";

std::string folder_in(const std::string& daemon_folder) { return daemon_folder + "/partitions"; }

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

/// "-" counts as 0.
std::int64_t number(std::string_view text) { return parse_number<std::int64_t>(text).value_or(0); }

std::string text_in(const std::string& file) {
  auto text = read_file(file);
  return text ? std::move(*text) : "";
}

/// "CARD/ID" without the card. The id itself may have slashes.
std::string_view id_in(std::string_view partition) {
  const auto slash = partition.find('/');
  return slash == std::string_view::npos ? std::string_view() : partition.substr(slash + 1);
}

}  // namespace

std::optional<SmPartitionTable> parse_partition_table(std::string_view answer,
                                                      std::string_view card) {
  // GPU (shortened), partition, chunks free and used, SMs free and used, clients.
  constexpr std::size_t kColumns = 7;
  SmPartitionTable table;
  std::istringstream lines{std::string(answer)};
  for (std::string line; std::getline(lines, line);) {
    const auto words = words_of(line);
    if (words.size() != kColumns || !words[0].starts_with("GPU-")) continue;
    if (!card.starts_with(words[0])) continue;
    const std::int64_t used = number(words[3]);
    if (words[1] == "-") {
      table.chunks = number(words[2]) + used;
    } else {
      table.partitions.emplace(words[1], used);
    }
  }
  return table.chunks > 0 ? std::optional(std::move(table)) : std::nullopt;
}

std::optional<std::string> parse_new_partition(std::string_view answer, std::string_view card) {
  const std::string start = std::string(card) + "/";
  const auto at = answer.find(start);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = answer.substr(at);
  const std::string_view partition = rest.substr(0, rest.find_first_of(kBlanks));
  return partition.size() > start.size() ? std::optional<std::string>(partition) : std::nullopt;
}

SmPartitions::SmPartitions(const std::string& daemon_folder, std::string card, Control control)
    : folder_(folder_in(daemon_folder)), card_(std::move(card)), control_(std::move(control)) {}

Result<void> SmPartitions::mark(const std::string& daemon_folder) {
  std::error_code error;
  fs::create_directories(folder_in(daemon_folder), error);
  if (!error) return {};
  return fail(Errc::kUnavailable, folder_in(daemon_folder) + " cannot be made: " + error.message());
}

bool SmPartitions::marked(const std::string& daemon_folder) {
  std::error_code ignored;
  return fs::exists(folder_in(daemon_folder), ignored);
}

std::string SmPartitions::id_of(const std::string& daemon_folder, std::string_view allocation) {
  return text_in(fmt::format("{}/{}", folder_in(daemon_folder), allocation));
}

Result<SmPartitionTable> SmPartitions::table() const {
  const auto answer = control_("lspart");
  if (!answer) return answer.error();
  auto table = parse_partition_table(*answer, card_);
  if (table) return std::move(*table);
  return fail(Errc::kUnavailable,
              "the MPS daemon of card " + card_ + " lists no SM partitions: " + one_line(*answer));
}

std::map<std::string, std::string, std::less<>> SmPartitions::owners() const {
  std::map<std::string, std::string, std::less<>> owners;
  std::error_code missing;
  for (const auto& file : fs::directory_iterator(folder_, missing)) {
    owners.emplace(file.path().filename(), id_in(text_in(file.path())));
  }
  return owners;
}

Result<void> SmPartitions::reserve(const std::string& allocation, const Shares& shares) {
  const auto now = table();
  if (!now) return now.error();
  const auto share = shares.find(allocation);
  const MilliGpu compute = share != shares.end() ? share->second : MilliGpu();
  // A share that was granted before the card gave chunks may be less than one.
  const auto chunks =
      std::max<std::int64_t>(model::booked_chunks(compute, static_cast<int>(now->chunks)), 1);
  const std::string file = folder_ + "/" + allocation;
  const std::string former = text_in(file);
  if (const auto found = now->partitions.find(id_in(former)); found != now->partitions.end()) {
    if (found->second == chunks) return {};
    remove(found->first);
  }
  auto answer = add(chunks);
  auto partition = answer ? parse_new_partition(*answer, card_) : std::nullopt;
  if (answer && !partition) {
    keep(shares);
    answer = add(chunks);
    partition = answer ? parse_new_partition(*answer, card_) : std::nullopt;
  }
  if (!answer) return answer.error();
  if (partition) return replace_file(file, *partition);
  return fail(Errc::kUnavailable,
              fmt::format("card {} has no {} free chunks of multiprocessors now: {}", card_, chunks,
                          one_line(*answer)));
}

Result<std::string> SmPartitions::add(std::int64_t chunks) const {
  return control_(fmt::format("sm_partition add {} {}", card_, chunks));
}

/// Whether it did shows in the next table: the text and the exit status differ by version.
/// @returns false if the daemon does not answer
bool SmPartitions::remove(std::string_view id) const {
  return control_(fmt::format("sm_partition rm {} {}", card_, id)).has_value();
}

bool SmPartitions::has_others(const Shares& shares) const {
  for (const auto& [allocation, id] : owners()) {
    if (!shares.contains(allocation)) return true;
  }
  return false;
}

bool SmPartitions::keep(const Shares& shares) {
  const auto before = table();
  if (!before) {
    spdlog::warn("{}", before.error().message);
    return false;
  }
  std::set<std::string, std::less<>> kept;
  for (const auto& [allocation, id] : owners()) {
    if (shares.contains(allocation)) kept.insert(id);
  }
  for (const auto& [id, chunks] : before->partitions) {
    // A daemon that is slow once would be slow for each, and a start waits meanwhile.
    if (!kept.contains(id) && !remove(id)) return false;
  }
  const auto after = table();
  if (!after) return false;
  std::error_code ignored;
  for (const auto& [allocation, id] : owners()) {
    if (shares.contains(allocation) || after->partitions.contains(id)) continue;
    fs::remove(folder_ + "/" + allocation, ignored);
  }
  return std::ranges::all_of(after->partitions,
                             [&](const auto& each) { return kept.contains(each.first); });
}

}  // namespace tangram::node::nvidia
