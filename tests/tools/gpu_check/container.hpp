#pragma once

#include "base/result.hpp"
#include "node/cards/card_source.hpp"
#include "node/vendor/nvidia/stand_in/library_limiter.hpp"
#include "tests/shim/client.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tangram::gpu_check {

/// The first argument of this program that makes it call enter() with the rest.
inline constexpr const char* kEnter = "enter";

/// The exit code of enter() if the command is not installed, as shells have it.
inline constexpr int kNotInstalled = 127;

/// Becomes a command, in a mount namespace of its own, as a container runtime would start it:
///
///     --root FOLDER                          the container's root; first, or none: the host's
///     --read-only HOST-PATH:CONTAINER-PATH   a file that stands in the place of another one
///     --writable HOST-PATH:CONTAINER-PATH
///     --cgroup FOLDER                        the control group to be in
///     -- COMMAND...
///
/// Needs root. @returns only if it fails, the exit code; stderr says why
int enter(const std::vector<std::string>& arguments);

/// HOST-PATH:CONTAINER-PATH of a mount of a CDI spec.
Result<std::string> as_bind(std::string mount);

/// A share of the card as a container has it by the means `library`: made by the agent's own code,
/// and entered without a container runtime.
class Container {
 public:
  Container(std::string allocation, std::string card, std::vector<std::string> enter)
      : allocation_(std::move(allocation)), card_(std::move(card)), enter_(std::move(enter)) {}

  [[nodiscard]] const std::string& allocation() const { return allocation_; }
  /// The command line that runs a program inside.
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> program) const;
  /// All of a program's environment: nothing of Tangram's, and only this card.
  [[nodiscard]] std::vector<std::string> environment() const;

 private:
  std::string allocation_;
  std::string card_;
  std::vector<std::string> enter_;
};

/// Makes containers, and is the agent to them. Threads: one, but for limiter().
class Containers {
 public:
  /// @param build     the build tree with the stand-in libraries
  /// @param work_dir  a folder of this check's own
  /// @returns kUnavailable with what is missing
  static Result<Containers> create(const std::string& build, const std::string& work_dir);

  /// @param part  of the card; its memory_limit is enforced
  Result<Container> make(const std::string& allocation, const model::GrantedCard& part);
  [[nodiscard]] node::nvidia::LibraryLimiter& limiter() { return *limiter_; }

 private:
  Containers() = default;
  std::unique_ptr<node::nvidia::LibraryLimiter> limiter_;
  std::string cuda_;  ///< the driver's files, by their last names
  std::string nvml_;
};

/// A cuda_client in a container.
/// @param how  as cuda_client is told to load the driver
shim::ClientStart client_in(const Container& container, const std::string& build,
                            const std::string& work_dir, const std::string& how = "plain");
/// A cuda_client that is in none, under this card's driver alone.
shim::ClientStart client_outside(const std::string& card, const std::string& build,
                                 const std::string& work_dir);

/// Opens the card. @returns CUDA's error
int open_card(shim::CudaClient& program);

/// This program, as a command. A started program has another /proc/self.
std::string own_path();

/// What a container with that part of the card is granted.
model::GrantedCard share_of(const node::InstalledCard& card, std::int64_t milli);

}  // namespace tangram::gpu_check
