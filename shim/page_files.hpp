#pragma once

#include "shim/pages.hpp"

/// The files of the pages: mapping them, and the locks of slots. Threads: safe.
namespace tangram::shim {

/// @returns null if there is no such file, or it is not a page of this version
[[nodiscard]] const LimitsPage* map_limits(const char* path);
/// The same for the agent, which changes limits under running processes.
[[nodiscard]] LimitsPage* map_limits_to_write(const char* path);
void unmap_limits(const LimitsPage* page);

/// An open usage page.
struct UsageFile {
  int fd = -1;
  UsagePage* page = nullptr;  ///< null = not open
};
/// @returns not open as above. Two of one file, in one process too, exclude each other's slots.
[[nodiscard]] UsageFile open_usage(const char* path);
/// To be looked at: nothing in it can be changed and no slot can be locked, so it need not be
/// writable.
[[nodiscard]] UsageFile open_usage_read_only(const char* path);
/// The slots that were locked by it become free once no process has the file open or mapped.
void close_usage(UsageFile& file);

/// @returns whether it was free. If not, errno says why: EAGAIN or EACCES if a process has it;
///          anything else if it cannot be locked at all
[[nodiscard]] bool lock_slot(const UsageFile& file, std::size_t slot);
void unlock_slot(const UsageFile& file, std::size_t slot);
/// Takes the memory of a slot, which the file has only once it is written: then a full file system
/// is an error here, and not a signal at the first access.
/// @returns 0, or an errno
[[nodiscard]] int take_memory(const UsageFile& file, std::size_t slot);
/// Has a process locked it, by another open of the file than this one? Takes no lock.
[[nodiscard]] bool is_locked(const UsageFile& file, std::size_t slot);

/// Gives back what dead processes have accounted.
/// @param file  another open of it than those that have slots
/// @returns the number of processes
std::size_t recover_dead(const UsageFile& file);

}  // namespace tangram::shim
