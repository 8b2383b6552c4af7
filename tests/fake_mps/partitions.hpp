#pragma once

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace tangram::fake_mps {

/// The SM partitions of a daemon's one card, of 132 multiprocessors in 16 chunks of 8, and the
/// commands for them, with the answers that NVIDIA documents.
class Partitions {
 public:
  static constexpr int kChunks = 16;

  /// Is it a command for partitions?
  static bool takes(std::string_view line) {
    return line.starts_with("lspart") || line.starts_with("sm_partition ");
  }

  /// @returns the answer to "lspart", "sm_partition add CARD CHUNKS" or "sm_partition rm CARD ID";
  ///          "" for rm that did it, and for any other line
  std::string answer(std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string command;
    std::string verb;
    std::string card;
    std::string last;
    words >> command >> verb >> card >> last;
    if (command == "lspart") return list();
    if (command != "sm_partition") return "";
    if (verb == "add") return add(card, std::stoi(last));
    if (verb == "rm" && in_use.count(last) == 0) return sizes_.erase(last) > 0 ? "" : "not found\n";
    return "error: SM partition is in use\n";
  }
  /// @param partition  "CARD/ID"
  [[nodiscard]] bool has(std::string_view partition) const {
    return sizes_.count(std::string(partition.substr(partition.find('/') + 1))) > 0;
  }
  [[nodiscard]] int used() const {
    int sum = 0;
    for (const auto& [id, chunks] : sizes_) sum += chunks;
    return sum;
  }
  [[nodiscard]] const std::map<std::string, int>& sizes() const { return sizes_; }

  std::set<std::string> in_use;  ///< ids of partitions that clients have
  /// As newer daemons do: "Partition CARD/ID created".
  bool in_a_sentence = false;

 private:
  std::string list() {
    card_ = card_.empty() ? "GPU-" : card_;
    const std::string shortened = card_.substr(0, card_.find('-', sizeof "GPU-"));
    std::ostringstream out;
    out << "GPU           Partition     free    used    free   used   clients\n"
           "                            chunk   chunk   SM     SM\n";
    out << shortened << " - " << kChunks - used() << ' ' << used() << ' ' << 132 - 8 * used() << ' '
        << 8 * used() << " -\n";
    for (const auto& [id, chunks] : sizes_) {
      out << shortened << ' ' << id << " - " << chunks << " - " << 8 * chunks
          << (in_use.count(id) > 0 ? " Yes\n" : " No\n");
    }
    return out.str();
  }
  std::string add(const std::string& card, int chunks) {
    card_ = card;
    if (chunks < 1 || used() + chunks > kChunks) {
      return "Failed to fulfill the requested SM partition of " + std::to_string(chunks) +
             " chunks, error CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION\n";
    }
    const std::string id = "Dx" + std::to_string(++last_) + "/AAAA";
    sizes_[id] = chunks;
    const std::string partition = card + "/" + id;
    return in_a_sentence ? "Partition " + partition + " created\n" : partition + "\n";
  }

  std::map<std::string, int> sizes_;  ///< by id
  std::string card_;
  int last_ = 0;
};

}  // namespace tangram::fake_mps
