#pragma once

#include "base/result.hpp"
#include "model/grant.hpp"
#include "node/container/memory_limiter.hpp"
#include "node/pages/allocation_pages.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

/// The pages of each allocation that its stand-in libraries read and write (shim/pages.hpp), in
/// FOLDER/ALLOCATION/limits and …/usage. They lie in memory and end with the machine, as the
/// containers do; they outlive the agent. The only owner of their files.
/// Threads: safe.
class SharePages {
 public:
  /// Opens the pages that an earlier agent has left: their turns are free.
  /// @param folder  the same path on the host and in the agent's container
  explicit SharePages(std::string folder);

  struct Paths {
    std::string limits;
    std::string usage;
  };
  /// Makes an allocation's pages, or changes its limits: running processes go by them at once.
  /// @param cards  in the order in which the container sees them
  /// @param allocation  a plain name: it becomes that of a folder
  /// @returns kInvalidArgument  another name, a card without a UUID, or more cards than a page has
  ///          kUnavailable      the folder cannot be written
  Result<Paths> put(std::string_view allocation, const std::vector<model::GrantedCard>& cards);

  /// Changes limits on an allocation's pages: running processes go by them at once. Never makes
  /// pages: a running container would keep the former ones.
  /// @returns kNotFound if there are no pages, or they do not list one of the cards: nothing
  /// changed
  Result<void> change(std::string_view allocation, const std::vector<model::GrantedCard>& cards);

  /// Removes the pages of all but these allocations.
  void keep(const std::set<std::string, std::less<>>& allocations);

  /// Takes off an allocation's limits what it uses beyond what its processes account, as seen at
  /// this call and the one before: what was freed between the driver's count and ours would look
  /// like it at one of them. Cards that are not named keep their overhead. A usage page that the
  /// container has made longer is cut to its size again.
  /// @returns false if there are no pages
  bool settle(std::string_view allocation, const MemoryByCard& used);

  /// What the living processes of an allocation account on a card.
  /// @returns nothing if there are no pages, or the card is not on them
  [[nodiscard]] std::optional<std::uint64_t> accounted(std::string_view allocation,
                                                       std::string_view card);

  /// The same, with the overhead that the last settle() took off the limit: what the libraries
  /// compare with it.
  [[nodiscard]] std::optional<std::uint64_t> in_use(std::string_view allocation,
                                                    std::string_view card);

  /// The pages of an allocation. Other ones if put() had to make them anew.
  /// @returns null if there are none, or they cannot be opened now
  [[nodiscard]] std::shared_ptr<AllocationPages> find(std::string_view allocation);

 private:
  struct Open {
    std::shared_ptr<AllocationPages> pages;
    std::array<std::uint64_t, shim::kMaxCards> last_overhead{};  ///< of the last settle()
  };
  [[nodiscard]] std::string path(std::string_view allocation) const;
  Result<void> make(const std::string& folder, const std::vector<model::GrantedCard>& cards) const;
  Open* open(std::string_view allocation);

  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, Open, std::less<>> open_;  ///< under mutex_
};

}  // namespace tangram::node::nvidia
