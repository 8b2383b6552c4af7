#include "shim/cuda/records.hpp"

#include "shim/mutex.hpp"

#include <cstdlib>
#include <initializer_list>

namespace tangram::shim::cuda {
namespace {

/// A growing array of zeros; std::vector would need the C++ runtime library.
template <class T>
struct Array {
  T* items = nullptr;
  std::size_t size = 0;

  [[nodiscard]] bool grow_to(std::size_t more) {
    T* const grown = static_cast<T*>(calloc(more, sizeof(T)));
    if (grown == nullptr) return false;
    for (std::size_t i = 0; i < size; ++i) grown[i] = items[i];
    free(items);
    items = grown;
    size = more;
    return true;
  }
};

struct Entry {
  Thing thing;
  std::size_t charge = 0;  ///< its place in `charges`
  std::uint64_t of = 0;    ///< as share() gets it
  std::uint32_t references = 0;
};

struct Shared {
  Charge charge;
  std::uint64_t things = 0;   ///< entries with it, and times it is kept; 0 = a free place
  std::size_t next_free = 0;  ///< of a free place: the next one, plus one
};

/// Entries by thing, in a table with open addressing, and the charges that they share.
struct Records {
  Mutex mutex;
  Array<Entry> entries;    ///< a power of two
  std::size_t filled = 0;  ///< with kRemoved
  std::size_t removed = 0;
  std::size_t tiles = 0;
  Array<Shared> charges;
  std::size_t charges_begun = 0;
  std::size_t free_charge = 0;  ///< plus one; 0 = none
};
constinit Records records;

std::size_t place_of(Thing thing, std::size_t size) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;  // addresses differ in their middle bits
  const std::uint64_t mixed = (thing.number + static_cast<std::uint64_t>(thing.kind)) * kGolden;
  return static_cast<std::size_t>(mixed >> 32U) & (size - 1);
}

Entry* find(Thing thing) {
  if (records.entries.size == 0) return nullptr;
  for (std::size_t at = place_of(thing, records.entries.size);; ++at) {
    Entry& entry = records.entries.items[at & (records.entries.size - 1)];
    if (entry.thing == thing) return &entry;
    if (entry.thing.kind == Kind::kFree) return nullptr;
  }
}

void insert(const Entry& entry) {
  for (std::size_t at = place_of(entry.thing, records.entries.size);; ++at) {
    Entry& place = records.entries.items[at & (records.entries.size - 1)];
    if (place.thing.kind != Kind::kFree) continue;
    place = entry;
    ++records.filled;
    return;
  }
}

/// Room for one more, with a quarter free: a new table without what was removed.
bool make_room() {
  const Array<Entry> old = records.entries;
  if (records.filled + 1 <= old.size / 4 * 3) return true;
  Array<Entry> larger;
  const std::size_t kept = records.filled - records.removed;
  std::size_t size = 256;
  while (kept + 1 > size / 2) size *= 2;
  if (!larger.grow_to(size)) return false;
  records.entries = larger;
  records.filled = records.removed = 0;
  for (std::size_t i = 0; i < old.size; ++i) {
    const Kind kind = old.items[i].thing.kind;
    if (kind != Kind::kFree && kind != Kind::kRemoved) insert(old.items[i]);
  }
  free(old.items);
  return true;
}

/// @returns its place, plus one; 0 = there is no memory
std::size_t new_charge() {
  if (records.free_charge != 0) {
    const std::size_t place = records.free_charge;
    records.free_charge = records.charges.items[place - 1].next_free;
    return place;
  }
  const std::size_t size = records.charges.size;
  if (records.charges_begun == size && !records.charges.grow_to(size == 0 ? 128 : size * 2)) {
    return 0;
  }
  return ++records.charges_begun;
}

/// One thing less keeps a charge alive.
/// @returns whether it was the last
bool lose_thing(std::size_t charge) {
  Shared& shared = records.charges.items[charge];
  if (--shared.things > 0) return false;
  shared.next_free = records.free_charge;
  records.free_charge = charge + 1;
  return true;
}

Removal remove_entry(Entry& entry) {
  const Charge& charge = records.charges.items[entry.charge].charge;
  Removal removal{.known = true, .last = false, .charge = charge, .size = entry.of};
  if (--entry.references > 0) return removal;
  if (entry.thing.kind == Kind::kTile) --records.tiles;
  entry.thing.kind = Kind::kRemoved;
  ++records.removed;
  removal.last = lose_thing(entry.charge);
  return removal;
}

/// Whatever references to it there are.
void remove_wholly(Entry& entry, GiveBack give_back) {
  entry.references = 1;
  if (const Removal removal = remove_entry(entry); removal.last) give_back(removal.charge);
}

template <class Predicate>
void remove_where(const Predicate& applies, GiveBack give_back) {
  const Lock lock(records.mutex);
  for (std::size_t i = 0; i < records.entries.size; ++i) {
    Entry& entry = records.entries.items[i];
    if (entry.thing.kind == Kind::kFree || entry.thing.kind == Kind::kRemoved) continue;
    if (applies(entry)) remove_wholly(entry, give_back);
  }
}

/// Is it mapped to an array that ends with a context?
bool is_tile_of(const Entry& entry, CUcontext context) {
  if (entry.thing.kind != Kind::kTile) return false;
  for (const Kind kind : {Kind::kArray, Kind::kMipmap}) {
    const Entry* const array = find({kind, entry.of});
    if (array != nullptr && records.charges.items[array->charge].charge.context == context) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool record(Thing thing, const Charge& charge, GiveBack give_back) {
  const Lock lock(records.mutex);
  if (!make_room()) return false;
  const std::size_t place = new_charge();
  if (place == 0) return false;
  if (Entry* const ended = find(thing); ended != nullptr) remove_wholly(*ended, give_back);
  records.charges.items[place - 1] = {.charge = charge, .things = 1};
  insert({.thing = thing, .charge = place - 1, .of = 0, .references = 1});
  return true;
}

bool share(Thing known, Thing further, std::uint64_t of) {
  const Lock lock(records.mutex);
  if (Entry* const there = find(further); there != nullptr) {
    ++there->references;
    return true;
  }
  if (!make_room()) return false;
  const Entry* const first = find(known);
  if (first == nullptr) return false;
  ++records.charges.items[first->charge].things;
  insert({.thing = further, .charge = first->charge, .of = of, .references = 1});
  if (further.kind == Kind::kTile) ++records.tiles;
  return true;
}

std::size_t keep(Thing thing) {
  const Lock lock(records.mutex);
  const Entry* const entry = thing.kind == Kind::kFree ? nullptr : find(thing);
  if (entry == nullptr) return 0;
  ++records.charges.items[entry->charge].things;
  return entry->charge + 1;
}

void let_go(std::size_t kept, GiveBack give_back) {
  if (kept == 0) return;
  const Lock lock(records.mutex);
  const Charge charge = records.charges.items[kept - 1].charge;
  if (lose_thing(kept - 1)) give_back(charge);
}

Removal remove(Thing thing) {
  const Lock lock(records.mutex);
  Entry* const entry = find(thing);
  return entry == nullptr ? Removal{} : remove_entry(*entry);
}

void remove_of(CUcontext context, GiveBack give_back) {
  remove_where([&](const Entry& entry) { return is_tile_of(entry, context); }, give_back);
  remove_where(
      [&](const Entry& entry) {
        return records.charges.items[entry.charge].charge.context == context;
      },
      give_back);
}

void move_charges(CUcontext from, CUcontext to) {
  const Lock lock(records.mutex);
  for (std::size_t i = 0; i < records.charges_begun; ++i) {
    Charge& charge = records.charges.items[i].charge;
    if (charge.context == from) charge.context = to;
  }
}

void remove_mappings(std::uint64_t address, std::uint64_t size, GiveBack give_back) {
  remove_where(
      [&](const Entry& entry) {
        return entry.thing.kind == Kind::kMapping && entry.thing.number - address < size;
      },
      give_back);
}

void remove_tiles(std::uint64_t array, GiveBack give_back) {
  remove_where(
      [&](const Entry& entry) { return entry.thing.kind == Kind::kTile && entry.of == array; },
      give_back);
}

bool has_tiles() {
  const Lock lock(records.mutex);
  return records.tiles > 0;
}

Thing mapping_at(std::uint64_t address) {
  const Lock lock(records.mutex);
  for (std::size_t i = 0; i < records.entries.size; ++i) {
    const Entry& entry = records.entries.items[i];
    if (entry.thing.kind == Kind::kMapping && address - entry.thing.number < entry.of) {
      return entry.thing;
    }
  }
  return {};
}

bool grow(Thing thing, std::uint64_t bytes) {
  const Lock lock(records.mutex);
  const Entry* const entry = find(thing);
  if (entry != nullptr) records.charges.items[entry->charge].charge.bytes += bytes;
  return entry != nullptr;
}

/// The memory stays allocated: another thread of the parent may have been changing it.
void forget_records() {
  records.mutex.reset();
  records.entries = {};
  records.charges = {};
  records.filled = records.removed = records.tiles = records.charges_begun = records.free_charge =
      0;
}

}  // namespace tangram::shim::cuda
