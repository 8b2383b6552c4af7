#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram {

/// About what BoundedItems take for an item, in bytes, beside the item and its key: the nodes of a
/// map and of a set, and a shared pointer's block.
inline constexpr std::size_t kPlaceOfItem = 256;

/// Items by key, in a bounded amount of memory: for objects that any user may create.
///
/// If they take more, the heaviest are left out, of equal ones the first by key: items that their
/// authors made large go before others. Of such an item an outline stays, so that it does not look
/// gone; an outline that is itself the heaviest goes, too. Which items are left out of those that
/// were put in does not depend on their order.
/// Threads: one at a time.
template <class Item>
class BoundedItems {
 public:
  using ItemPtr = std::shared_ptr<const Item>;  ///< never null in here
  using Items = std::map<std::string, ItemPtr, std::less<>>;
  struct Rules {
    std::size_t most = 0;  ///< of weight()
    /// In bytes, with its key and kPlaceOfItem; equal items weigh the same.
    std::size_t (*weight)(const Item&) = nullptr;
    /// Of an outline: itself.
    Item (*outline)(const Item&) = nullptr;
  };

  explicit BoundedItems(const Rules& rules) : rules_(rules) {}
  BoundedItems(BoundedItems&&) noexcept = default;
  BoundedItems& operator=(BoundedItems&&) noexcept = default;
  BoundedItems(const BoundedItems&) = delete;
  BoundedItems& operator=(const BoundedItems&) = delete;
  ~BoundedItems() = default;

  /// Instead of the one of this key, if there is one.
  /// @returns the items that are left out for it, as they were; `item` itself may be among them
  [[nodiscard]] std::vector<ItemPtr> put(std::string_view key, ItemPtr item) {
    insert(key, std::move(item));
    std::vector<ItemPtr> left_out;
    while (weight_ > rules_.most && !items_.empty()) left_out.push_back(leave_out());
    return left_out;
  }

  void erase(std::string_view key) {
    const auto found = items_.find(key);
    if (found == items_.end()) return;
    const std::size_t weight = rules_.weight(*found->second);
    weight_ -= weight;
    heaviest_first_.erase({weight, found->first});
    items_.erase(found);
  }

  void clear() { *this = BoundedItems(rules_); }

  /// @returns null if there is none of that key
  [[nodiscard]] ItemPtr find(std::string_view key) const {
    const auto found = items_.find(key);
    return found == items_.end() ? nullptr : found->second;
  }
  [[nodiscard]] const Items& all() const { return items_; }
  /// Of all together.
  [[nodiscard]] std::size_t weight() const { return weight_; }
  /// None was left out since clear().
  [[nodiscard]] bool complete() const { return complete_; }
  /// Of each there has been an outline at least, since clear().
  [[nodiscard]] bool has_outlines() const { return has_outlines_; }
  /// Some were left out, and there is room by now: those who list them again will keep more. Not
  /// so right after they have filled the memory, so that lists do not follow each other for ever.
  [[nodiscard]] bool has_room_again() const {
    const std::size_t enough = has_outlines_ ? rules_.most / 2 : rules_.most / 8 * 7;
    return !complete_ && weight_ < enough;
  }

 private:
  struct Ranked {
    std::size_t weight = 0;
    std::string_view key;  ///< of items_
    bool operator<(const Ranked& other) const {
      return weight != other.weight ? weight > other.weight : key < other.key;
    }
  };

  void insert(std::string_view key, ItemPtr item) {
    erase(key);
    const std::size_t weight = rules_.weight(*item);
    weight_ += weight;
    const auto placed = items_.emplace(key, std::move(item)).first;
    heaviest_first_.insert({weight, placed->first});
  }

  /// The heaviest. @returns it, as it was
  ItemPtr leave_out() {
    const std::size_t weight = heaviest_first_.begin()->weight;
    const std::string key(heaviest_first_.begin()->key);
    ItemPtr item = find(key);
    erase(key);
    auto outline = std::make_shared<const Item>(rules_.outline(*item));
    if (rules_.weight(*outline) < weight) {
      insert(key, std::move(outline));
    } else {
      has_outlines_ = false;
    }
    complete_ = false;
    return item;
  }

  Rules rules_;
  Items items_;
  std::set<Ranked> heaviest_first_;
  std::size_t weight_ = 0;
  bool complete_ = true;
  bool has_outlines_ = true;
};

}  // namespace tangram
