#pragma once

#include "shim/cuda/abi.hpp"

#include <cstddef>
#include <cstdint>

/// What this process has accounted, and for what: so that a free gives back what was accounted.
/// Threads: safe. A child after fork() begins with none.
namespace tangram::shim::cuda {

enum class Kind : std::uint8_t {
  kFree,     ///< of the table: no entry
  kRemoved,  ///< of the table: was one
  kPointer,
  kArray,
  kMipmap,
  kHandle,   ///< of cuMemCreate()
  kMapping,  ///< of a kHandle's memory at an address
  kTile,     ///< a piece of an array to which a kHandle's memory is mapped
  kGraph,
  kGraphExec,
  kLimit,  ///< of a context: its number is the context's, plus the limit's
};

/// A thing of the driver that keeps memory alive.
struct Thing {
  Kind kind = Kind::kFree;
  std::uint64_t number = 0;  ///< its handle or address
  friend bool operator==(const Thing&, const Thing&) = default;
};

/// Memory that was accounted. It ends with the last thing that keeps it alive.
struct Charge {
  std::size_t card = 0;
  std::uint64_t bytes = 0;
  CUcontext context = nullptr;  ///< it ends with this context, too; null = with none
};

using GiveBack = void (*)(const Charge&);

/// Records a thing with a charge of its own. If it is known already it has ended without being
/// seen: its earlier charge is given back.
/// @returns false if there is no memory for the record; then nothing is recorded
[[nodiscard]] bool record(Thing thing, const Charge& charge, GiveBack give_back);
/// A further thing, or a further reference to one, that keeps the charge of a thing alive.
/// @param of  the size of a kMapping, the handle of a kTile's array
/// @returns false as above, or if the first is not known
bool share(Thing known, Thing further, std::uint64_t of = 0);

/// Keeps the charge of a thing for as long as the process lives, whatever becomes of the thing.
/// @returns for let_go(); 0 = the thing is not known
[[nodiscard]] std::size_t keep(Thing thing);
/// … not, after all.
void let_go(std::size_t kept, GiveBack give_back);

struct Removal {
  bool known = false;
  bool last = false;  ///< nothing keeps the charge alive any more: it is no longer recorded
  Charge charge;
  std::uint64_t size = 0;  ///< of a kMapping
};
/// Removes one reference to a thing.
Removal remove(Thing thing);
/// Removes what ends with a context, with the tiles of its arrays, and gives each charge to a
/// function.
void remove_of(CUcontext context, GiveBack give_back);
/// What ends with one context ends with another from now on.
void move_charges(CUcontext from, CUcontext to);

/// Removes the mappings at addresses in a range, as above.
void remove_mappings(std::uint64_t address, std::uint64_t size, GiveBack give_back);
/// Removes what is mapped to an array, as above.
void remove_tiles(std::uint64_t array, GiveBack give_back);
[[nodiscard]] bool has_tiles();
/// The mapping that an address is in; kFree = none.
[[nodiscard]] Thing mapping_at(std::uint64_t address);

/// Adds to the charge of a thing.
/// @returns false if it is not known
bool grow(Thing thing, std::uint64_t bytes);

/// In a child after fork().
void forget_records();

}  // namespace tangram::shim::cuda
