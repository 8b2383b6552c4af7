#include "cluster/weight.hpp"

#include "cluster/pod_table.hpp"
#include "kube/disruption_budget.hpp"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace tangram::cluster {

namespace {

// glibc: the header of a block, and what is lost by rounding up.
constexpr std::size_t kBlock = 16;
// A node of a tree has a colour and three pointers, too.
constexpr std::size_t kTreeNode = kBlock + 4 * sizeof(void*);
// So long a text needs no block of its own.
constexpr std::size_t kShortText = 15;

/// What things own on the heap.
struct Heap {
  static std::size_t of(const std::string& text) {
    return text.size() <= kShortText ? 0 : kBlock + text.size();
  }
  template <class Item>
  static std::size_t of(const std::map<std::string, Item, std::less<>>& items) {
    std::size_t sum = 0;
    for (const auto& entry : items) {
      sum += kTreeNode + sizeof(entry) + of(entry.first) + of(entry.second);
    }
    return sum;
  }
  static std::size_t of(const std::set<std::string, std::less<>>& texts) {
    std::size_t sum = 0;
    for (const std::string& text : texts) sum += kTreeNode + sizeof(std::string) + of(text);
    return sum;
  }
  template <class Item>
  static std::size_t of(const std::vector<Item>& items) {
    if (items.empty()) return 0;
    std::size_t sum = kBlock + items.size() * sizeof(Item);
    for (const Item& item : items) sum += of(item);
    return sum;
  }
  template <class Item>
  static std::size_t of(const std::shared_ptr<const Item>& item) {
    return item ? 2 * kBlock + sizeof(Item) + of(*item) : 0;  // with the counts
  }

  static std::size_t of(const kube::Waiting& waiting) {
    return of(waiting.reason) + of(waiting.message);
  }
  static std::size_t of(const model::ContainerInfo& container) { return of(container.name); }
  static std::size_t of(const model::GrantedCard& card) { return of(card.uuid); }
  static std::size_t of(const model::ContainerGrant& grant) {
    return of(grant.container) + of(grant.cards);
  }
  static std::size_t of(const model::Allocation& allocation) {
    return of(allocation.pod_uid) + of(allocation.pod_namespace) + of(allocation.pod_name) +
           of(allocation.node) + of(allocation.containers) + of(allocation.labels.get());
  }
  static std::size_t of(const model::Link& link) { return of(link.peer) + of(link.type); }
  static std::size_t of(const model::Card& card) {
    return of(card.id) + of(card.model) + of(card.unavailable_reason) + of(card.pci_bus) +
           of(card.parent) + of(card.links);
  }
  static std::size_t of(const model::CardAmounts& /*amounts*/) { return 0; }
  static std::size_t of(const model::ResizeAnswer& answer) { return of(answer.held); }
  static std::size_t of(const model::NodeInventory& node) {
    return of(node.name) + of(node.cards) + of(node.resizes) + of(node.draining);
  }
  static std::size_t of(const kube::Controller& controller) {
    return of(controller.kind) + of(controller.name);
  }
  static std::size_t of(const kube::Pod& pod) {
    return of(pod.uid) + of(pod.ns) + of(pod.name) + of(pod.resource_version) + of(pod.scheduler) +
           of(pod.annotations) + of(pod.labels) + of(pod.containers) + of(pod.node) +
           of(pod.nominated_node) + of(pod.controller) + of(pod.ran) + of(pod.waiting);
  }
  static std::size_t of(const kube::LabelSelector::Term& term) {
    return of(term.key) + of(term.values);
  }
  static std::size_t of(const kube::DisruptionBudget& budget) {
    return of(budget.uid) + of(budget.ns) + of(budget.name) + of(budget.selector.terms) +
           of(budget.disrupted);
  }
  static std::size_t of(const PodName& pod) { return of(pod.uid) + of(pod.ns) + of(pod.name); }
  static std::size_t of(const Note& note) { return of(note.sentence); }
  static std::size_t of(const NotedPod& noted) { return of(noted.pod) + of(noted.notes); }
  static std::size_t of(const model::ContainerRequest& request) { return of(request.container); }
  static std::size_t of(const model::GpuRequest& request) {
    return of(request.containers) + of(request.models) + of(request.card_ids) + of(request.policy);
  }
  static std::size_t of(const ResizablePod& pod) {
    return of(pod.pod) + of(pod.node) + (pod.request ? of(*pod.request) : 0);
  }
  static std::size_t of(const UnstartedPod& pod) {
    return of(pod.pod) + of(pod.node) + of(pod.controller) + of(pod.issued_at) + of(pod.refusal);
  }
};

}  // namespace

std::size_t weight_of(const std::string& text) { return sizeof(std::string) + Heap::of(text); }
std::size_t weight_of(const model::AllocationPtr& allocation) {
  return sizeof(allocation) + Heap::of(allocation);
}
std::size_t weight_of(const model::NodeInventory& node) { return sizeof(node) + Heap::of(node); }
std::size_t weight_of(const PodRecord& record) {
  return sizeof(record) + Heap::of(record.pending) + Heap::of(record.noted) +
         Heap::of(record.unstarted) + Heap::of(record.resizable) + Heap::of(record.grant_key) +
         Heap::of(record.group);
}
std::size_t weight_of(const kube::DisruptionBudget& budget) {
  return sizeof(budget) + Heap::of(budget);
}

}  // namespace tangram::cluster
