#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The page /api/v1/explain, decoded.
namespace tangram::cli {

struct ExplainedFinding {
  std::string finding;
  std::string message;
};

/// What a container of a pending pod requests of each card, or what a bound pod's container has.
struct ExplainedContainer {
  std::string name;
  std::int64_t count = 1;
  std::string share;     ///< "whole", "fraction", "memory", "replica"
  std::string resource;  ///< of a replica
  std::int64_t mem_mib = 0;
  std::int64_t milli = -1;  ///< -1 = not given
  struct Granted {
    std::string uuid;
    std::int64_t mem_mib = 0;
    std::int64_t milli = 0;
    std::int64_t mem_limit_mib = 0;
    std::int64_t milli_limit = 0;
    bool whole = false;
    std::string memory_limits;  ///< by what they are enforced; empty = an older extender
  };
  std::vector<Granted> cards;  ///< of a bound pod
};

/// One card, and whether it alone could take each container's share.
struct ExplainedCard {
  std::string uuid;
  std::string model;
  std::int64_t mem_mib = 0;
  std::int64_t free_mem_mib = 0;
  std::int64_t free_milli = 0;
  std::int64_t sharers = 0;
  std::int64_t max_sharers = 0;
  std::string mode;                 ///< empty = idle
  std::vector<std::string> offers;  ///< isolation modes; empty = an older extender
  std::string memory_limits;        ///< its means of them; empty = an older extender
  std::string reason;               ///< why it takes no pods; empty = it does
  struct Verdict {
    std::string container;
    std::int64_t need_mem_mib = 0;
    std::int64_t need_milli = 0;
    std::string why;  ///< empty = fits
  };
  std::vector<Verdict> verdicts;
};

struct ExplainedNode {
  std::string name;
  bool fits = false;    ///< by its cards
  std::string blocked;  ///< if it fits: what else kube-scheduler lacks there
  std::int64_t score = 0;
  std::vector<std::string> would_get;
  std::string why;
  bool fragmented = false;
  std::vector<ExplainedCard> cards;
};

/// A pod that would be evicted.
struct ExplainedVictim {
  std::string ns;
  std::string name;
  std::int64_t priority = 0;
};

struct ExplainView {
  std::string ns;
  std::string name;
  std::string state;          ///< "bound" or "pending"
  std::string node;           ///< bound
  std::string isolation;      ///< bound: the grant's; pending: the request's
  std::string memory_limits;  ///< pending: the weakest means that it accepts; empty = any
  std::string policy;         ///< pending
  std::string grant_key;      ///< bound: model::SignatureVerdict::key; empty = an older extender
  std::vector<std::string> models;
  std::vector<ExplainedContainer> containers;
  std::vector<ExplainedFinding> findings;
  std::vector<ExplainedNode> nodes;  ///< pending
  std::string summary;               ///< bound: why it has not started; empty = nothing is known
  std::string preemption_node;  ///< pending: where pods would be evicted for it; empty = nowhere
  std::vector<ExplainedVictim> victims;
  std::string room_by;         ///< pending: "moves", ...: who makes room for it; empty = nobody
  std::string room_node;       ///< where
  std::int64_t room_pods = 0;  ///< that leave for it
  std::int64_t room_left = 0;  ///< of them, those that have left
  std::string group;  ///< pending: what its group lacks, as a sentence; empty = it has none
  std::string note;
  std::string resize_state;   ///< bound: "Deferred", ...; empty = the pod has what it requests
  std::string resize_reason;  ///< a sentence; may be empty

  [[nodiscard]] bool bound() const { return state == "bound"; }
};

/// Each text of the view is one_line().
/// @returns kInvalidArgument, with the path of what is not as expected
Result<ExplainView> read_explain_view(std::string json);

}  // namespace tangram::cli
