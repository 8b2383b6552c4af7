#pragma once

#include "base/result.hpp"
#include "kube/objects.hpp"
#include "model/fit.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// kube-scheduler's extender protocol: the only place that knows its JSON.
/// Source of the types: k8s.io/kube-scheduler/extender/v1/types.go (no JSON tags, so keys are Go's
/// field names; nil is null).
namespace tangram::extender {

/// One decoded request text. Owns it, because names and pods are views into it.
class Body {
 public:
  explicit Body(std::string text) : text_(std::move(text)) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  Body(Body&&) = delete;
  Body& operator=(Body&&) = delete;
  [[nodiscard]] std::string& text() { return text_; }

 private:
  std::string text_;
};

/// POST /filter and /prioritize. Views live as long as the Body.
struct FilterArgs {
  kube::Pod pod;                             ///< without labels if it has more than kMaxLabels
  std::vector<std::string_view> node_names;  ///< of NodeNames, or of Nodes, in the order asked
  /// The names are views into the Body's list, each between its quotes, as it was sent.
  bool plain_names = false;
  bool full_nodes = false;                   ///< Nodes was sent (nodeCacheCapable: false)
  std::vector<std::string_view> node_texts;  ///< of Nodes, as they came; unread but for their names
};

/// @returns kInvalidArgument, with the path of what is wrong
Result<FilterArgs> decode_filter_args(Body& body);

/// A node that is answered with a reason.
struct FailedNode {
  std::string_view name;
  std::string_view reason;
};

struct FilterResult {
  std::vector<std::uint32_t> kept;  ///< indices into FilterArgs::node_names, the best one first
  std::vector<FailedNode> failed;
  std::vector<FailedNode> unresolvable;  ///< evicting pods would not help
  bool more_fit = false;                 ///< than those kept. Not sent.
  /// Of the nodes that do not fit, the misfit that is looked for last: the nearest to a fit. Not
  /// sent.
  std::optional<model::Misfit> nearest = std::nullopt;
  std::size_t untried = 0;  ///< nodes not searched within the budget: kNotTried. Not sent.
};

[[nodiscard]] std::string encode(const FilterArgs& args, const FilterResult& result);
[[nodiscard]] std::string encode_filter_error(std::string_view message);

struct HostScore {
  std::string_view host;
  std::int64_t score = 0;  ///< 0..10
};
[[nodiscard]] std::string encode(const std::vector<HostScore>& scores);

struct BindArgs {
  std::string ns;
  std::string name;
  std::string uid;
  std::string node;
};
Result<BindArgs> decode_bind_args(Body& body);
/// @param message  empty = bound
[[nodiscard]] std::string encode_bind_result(std::string_view message);

/// The pods kube-scheduler would evict from one node.
struct Victims {
  std::vector<std::string> uids;
  std::int64_t pdb_violations = 0;
};
struct PreemptArgs {
  kube::Pod pod;  ///< without labels if it has more than kMaxLabels
  std::map<std::string, Victims, std::less<>> nodes;
};
/// Takes both forms: NodeNameToMetaVictims (UIDs) and NodeNameToVictims (whole pods).
Result<PreemptArgs> decode_preempt_args(Body& body);
/// Always the meta form, which is what kube-scheduler reads.
[[nodiscard]] std::string encode_preempt_result(
    const std::map<std::string, Victims, std::less<>>& nodes);

}  // namespace tangram::extender
