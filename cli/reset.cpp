#include "cli/reset.hpp"

#include "base/json.hpp"
#include "base/one_line.hpp"
#include "cli/cordon.hpp"
#include "cli/format.hpp"
#include "cli/found_card.hpp"
#include "cli/pods.hpp"
#include "model/cards.hpp"
#include "node/publish/node_record.hpp"

#include <algorithm>
#include <utility>

namespace tangram::cli {

namespace {

constexpr std::chrono::milliseconds kInterval{2'000};
constexpr const char* kReason = "to be reset";
constexpr std::string_view kLink = "nvlink";

const std::string& physical(const model::Card& card) {
  return card.parent.empty() ? card.id : card.parent;
}

/// The physical card, and those that NVLink connects to it, also by way of others.
std::vector<std::string> connected_cards(const std::string& first,
                                         const std::vector<model::Card>& cards) {
  std::vector<std::string> found{first};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const model::Card& card : cards) {
      if (physical(card) != found[i]) continue;
      for (const model::Link& link : card.links) {
        if (link.type == kLink && std::ranges::find(found, link.peer) == found.end()) {
          found.push_back(link.peer);
        }
      }
    }
  }
  std::sort(found.begin() + 1, found.end());
  return found;
}

/// The annotation with every card of the order that it does not name.
std::string with_cards(std::string annotation, const ResetOrder& order) {
  for (const std::string& card : order.cards) {
    const node::CardNames named = node::parse_card_names(annotation);
    if (!named.all && !named.ids.contains(card)) annotation = with_card(annotation, card, kReason);
  }
  return annotation;
}

/// The cards whose cordon is not of a reset.
std::vector<std::string> cordoned_by_operator(const std::string& annotation,
                                              const ResetOrder& order) {
  const node::CardNames named = node::parse_card_names(annotation);
  std::vector<std::string> found;
  for (const std::string& card : order.cards) {
    const auto reason = named.reasons.find(card);
    const bool own = reason != named.reasons.end() && reason->second == kReason;
    if (named.all || (named.ids.contains(card) && !own)) found.push_back(card);
  }
  return found;
}

bool is_in(const ResetOrder& order, const model::Card& card) {
  return std::ranges::find(order.cards, physical(card)) != order.cards.end();
}

/// Whether the pod has a part of a card that MPS shares.
bool is_mps_client(const model::Allocation& allocation) {
  if (allocation.isolation != model::Isolation::kMps) return false;
  return std::ranges::any_of(allocation.containers, [](const model::ContainerGrant& container) {
    return std::ranges::any_of(container.cards, [](const model::GrantedCard& card) {
      return !card.whole.value_or(false);
    });
  });
}

/// @param others  the node's cards that stay as they are
void sort_in(const GpuPod& gpu, const std::set<std::string>& others, ResetProgress& progress) {
  const ResetPod pod{gpu.pod.ns + "/" + gpu.pod.name, state_of(gpu.pod)};
  const std::vector<std::string> cards = cards_of(gpu.recorded.allocation.containers);
  // A card that is not listed may be an instance of these; a grant that cannot be read, of any.
  const bool there =
      std::ranges::any_of(cards, [&](const auto& id) { return !others.contains(id); });
  if (there || cards.empty()) {
    progress.pods.push_back(pod);
  } else if (is_mps_client(gpu.recorded.allocation)) {
    progress.clients.push_back(pod);
  }
}

std::string lines_of(const std::vector<ResetPod>& pods) {
  std::string text;
  for (const ResetPod& pod : pods) text += "  " + one_line(pod.name) + "  " + pod.state + "\n";
  return text;
}

void write(json::Writer& out, std::string_view name, const std::vector<ResetPod>& pods) {
  out.key(name).begin_array();
  for (const ResetPod& pod : pods) {
    out.begin_object().member("name", pod.name).member("state", pod.state).end_object();
  }
  out.end_array();
}

void write(json::Writer& out, std::string_view name, const std::vector<std::string>& texts) {
  out.key(name).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

std::string what_is_missing(const ResetProgress& progress) {
  std::string text;
  if (!progress.closed) {
    text +=
        "its agent has not published the cordon yet: until then the extender may place pods "
        "there\n";
  }
  if (!progress.pods.empty()) {
    text += counted(progress.pods.size(), "pod") +
            " on it, or with a grant that cannot be read; end them, or wait for their end:\n" +
            lines_of(progress.pods);
  }
  if (!progress.clients.empty()) {
    text += counted(progress.clients.size(), "pod") +
            " under MPS on other cards of the node; the reset stops their daemons, which ends "
            "their work, so end them, too:\n" +
            lines_of(progress.clients);
  }
  return text;
}

}  // namespace

Result<ResetOrder> prepare_reset(kube::KubeApi& api, const std::string& card, LinkedCards linked) {
  ResetOrder order;
  const auto changed = change_cordon(
      api, named_card(card), CardSearch::kListed,
      [&](const FoundCard& found) -> Result<CordonStep> {
        const std::string& id = physical(found.card);
        if (!id.starts_with("GPU-")) {
          return fail(Errc::kInvalidArgument,
                      card_name(found) +
                          " is not a card of NVIDIA's; docs/node.md says how cards "
                          "of others become healthy");
        }
        order = {.node = found.node.name, .cards = connected_cards(id, found.cards)};
        if (linked == LinkedCards::kStay) {
          order.linked.assign(order.cards.begin() + 1, order.cards.end());
          order.cards.resize(1);
        }
        order.kept = cordoned_by_operator(found.node.cordon, order);
        order.has_instances = std::ranges::any_of(found.cards, [&](const model::Card& each) {
          return !each.parent.empty() && is_in(order, each);
        });
        std::string annotation = with_cards(found.node.cordon, order);
        if (annotation == found.node.cordon) return CordonStep{""};
        return CordonStep{"", std::move(annotation)};
      });
  if (!changed) return changed.error();
  return order;
}

Result<ResetProgress> read_reset_progress(const Cluster& cluster, const ResetOrder& order) {
  const auto snapshot = cluster.snapshot();
  const model::NodeState* const node = snapshot->find(order.node);
  if (node == nullptr || !node->present)
    return fail(Errc::kNotFound, "node " + order.node + " is gone");
  ResetProgress progress{.closed = true, .pods = {}, .clients = {}};
  std::set<std::string> others;
  for (const model::Card& card : node->cards()) {
    if (is_in(order, card)) {
      progress.closed = progress.closed && card.cordoned;
    } else {
      others.insert(card.id);
    }
  }
  for (const GpuPod& gpu : cluster.pods()) {
    if (gpu.pod.node == order.node) sort_in(gpu, others, progress);
  }
  return progress;
}

Result<ResetProgress> await_reset(const std::function<Result<ResetProgress>()>& read,
                                  const ResetWait& wait) {
  const TimePoint deadline = wait.clock.now() + wait.timeout;
  for (;;) {
    auto progress = read();
    const bool is_over = wait.clock.now() >= deadline;
    const bool again = progress ? !progress->ready() : progress.error().code == Errc::kUnavailable;
    if (is_over || !again) return progress;
    wait.sleep(kInterval, {});
  }
}

std::vector<std::string> reset_commands(const ResetOrder& order, const ResetPlace& place) {
  const std::string flags = flags_of(place.target);
  const std::string kubectl = "kubectl" + flags + " ";
  const std::string node = shell_word(order.node);
  std::vector<std::string> commands{
      kubectl + "label node " + node + " tangram.dev/agent-",
      kubectl + "--namespace " + shell_word(place.system_namespace) +
          " wait --for=delete pods --field-selector spec.nodeName=" + node +
          " --selector 'app.kubernetes.io/name in (tangram-node, tangram-mps)' --timeout=2m",
      kubectl + "debug nodes/" + node +
          " -it --profile=sysadmin --image=busybox -- chroot /host nvidia-smi --gpu-reset -i " +
          shell_word(joined(order.cards, ",")),
      kubectl + "label node " + node + " tangram.dev/agent=true"};
  for (const std::string& card : order.cards) {
    if (std::ranges::find(order.kept, card) != order.kept.end()) continue;
    // kubectl takes no flags before a plugin's name.
    commands.push_back("kubectl tangram uncordon-card" + flags + " " +
                       shell_word(order.node + "/" + card));
  }
  return commands;
}

std::string draw_reset(const Screen& screen, const ResetOrder& order, const ResetProgress& progress,
                       const ResetPlace& place) {
  std::string text = counted(order.cards.size(), "card") + " of node " + order.node +
                     " cordoned: " + joined(order.cards) + "\n";
  if (!order.linked.empty()) {
    text +=
        in_lines(screen, "NVLink connects it to " + joined(order.linked) +
                             ", which need no reset from Ampere on. If nvidia-smi demands them, "
                             "as for older cards, or for Ampere's on NVSwitch without Fabric "
                             "Manager: --with-linked") +
        "\n";
  }
  if (!progress.ready()) {
    return text + paint(screen.style, kBad, "not ready to be reset") + "\n" +
           what_is_missing(progress);
  }
  text += paint(screen.style, kGood, "ready to be reset") + "; nothing was reset. Run:\n";
  for (const std::string& command : reset_commands(order, place)) {
    text += "  " + command + "\n";
  }
  if (!order.kept.empty()) {
    text += "cordoned before, and still so after these: " + joined(order.kept) + "\n";
  }
  text += "The agent shows the card as healthy 10 minutes after it is back";
  if (order.has_instances) text += "; before that, create its MIG instances again";
  return text + ". Details: docs/runbooks.md, \"Reset a card\"\n";
}

std::string reset_json(const ResetOrder& order, const ResetProgress& progress,
                       const ResetPlace& place) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("node", order.node);
  write(out, "cards", order.cards);
  write(out, "linked", order.linked);
  write(out, "stayCordoned", order.kept);
  out.member("ready", progress.ready()).member("closed", progress.closed);
  write(out, "pods", progress.pods);
  write(out, "mpsClients", progress.clients);
  write(out, "commands",
        progress.ready() ? reset_commands(order, place) : std::vector<std::string>());
  out.end_object();
  return text;
}

}  // namespace tangram::cli
