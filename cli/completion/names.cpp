#include "cli/api_reading.hpp"
#include "cli/completion/completion.hpp"
#include "cli/json_path.hpp"
#include "kube/url.hpp"
#include "model/annotations.hpp"
#include "model/cards.hpp"

#include <string_view>

namespace tangram::cli {

namespace {

constexpr const char* kMostObjects = "500";
constexpr std::string_view kCards = model::kCardsAnnotation;

std::string path_of(Names names, const std::string& ns) {
  if (names == Names::kPods) return "/api/v1/namespaces/" + kube::percent_encode(ns) + "/pods";
  return names == Names::kNamespaces ? "/api/v1/namespaces" : "/api/v1/nodes";
}

/// None of a node whose list cannot be read.
void add_cards(std::string_view node, std::vector<std::string>& names) {
  const auto cards = model::decode_cards(unescaped_at(node, {"metadata", "annotations", kCards}));
  if (!cards) return;
  for (const model::Card& card : *cards) names.push_back(card.id);
}

bool is_of_interest(Names names, std::string_view object) {
  if (names == Names::kNamespaces) return true;
  if (names == Names::kNodes) return !value_at(object, {"metadata", "annotations", kCards}).empty();
  return value_at(object, {"metadata", "annotations"}).find("\"tangram.dev/gpu-") !=
         std::string_view::npos;
}

}  // namespace

std::vector<std::string> names_in_cluster(const NamesQuery& query, kube::KubeApi& api,
                                          const std::string& ns) {
  std::vector<std::string> names;
  const Reading read = try_get(api, path_of(query.names, ns), {{"limit", kMostObjects}});
  for_each_at(read.text, {"items"}, [&](std::string_view object) {
    if (query.names == Names::kCards) return add_cards(object, names);
    if (!is_of_interest(query.names, object)) return;
    names.push_back((query.with_namespace ? ns + "/" : "") + text_at(object, {"metadata", "name"}));
  });
  return names;
}

std::vector<std::string> names_in_cluster(const NamesQuery& query, const Environment& environment,
                                          const Clock& clock) {
  const auto connection = connect(query.target, environment, clock);
  if (!connection) return {};
  return names_in_cluster(query, *connection->api, query.ns.empty() ? connection->ns : query.ns);
}

}  // namespace tangram::cli
