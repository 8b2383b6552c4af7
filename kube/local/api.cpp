#include "kube/local/api.hpp"

#include "base/json.hpp"
#include "kube/local/query.hpp"
#include "kube/local/rules.hpp"
#include "kube/local/store.hpp"
#include "kube/local/watch.hpp"
#include "kube/local/yaml_to_json.hpp"

#include <fmt/format.h>

#include <atomic>
#include <iterator>
#include <optional>
#include <utility>

namespace tangram::kube {

namespace {

constexpr std::size_t kMaxBody = 3'145'728;  // a real server's limit

Response object_response(int code, ResourceKind kind, const StoredObject& object) {
  return {.status = code, .body = object_text(kind, object)};
}

/// Where a list goes on: "<version>.<last key>".
struct Continue {
  std::uint64_t at = 0;
  std::string after;
};

ApiResult<Continue> parse_continue(const std::string& token, std::uint64_t current) {
  const std::size_t dot = token.find('.');
  const auto at = parse_version(token.substr(0, dot), current);
  if (dot == std::string::npos || !at) return bad_request("continue key is not valid: " + token);
  return Continue{*at, token.substr(dot + 1)};
}

std::string list_text(ResourceKind kind, const LocalStore::Page& page, std::uint64_t at) {
  std::string text;
  std::size_t size = 256;
  for (const ObjectPtr& object : page.objects) size += object->content.tail.size() + 64;
  text.reserve(size);
  fmt::format_to(std::back_inserter(text),
                 R"({{"kind":"{}List","apiVersion":"{}","metadata":{{"resourceVersion":"{}")",
                 info(kind).kind, info(kind).api_version, at);
  if (page.more) {
    json::Writer(text.append(R"(,"continue":)")).string(std::to_string(at) + "." + page.last_key);
  }
  text.append(R"(},"items":[)");
  for (const ObjectPtr& object : page.objects) {
    if (text.back() != '[') text += ',';
    append_item(text, *object, object->version);
  }
  return text.append("]}");
}

/// A deleted pod comes back as it was; other kinds are answered with a Status.
Response removed_response(ResourceKind kind, const StoredObject& before) {
  return kind == ResourceKind::kPods ? object_response(200, kind, before) : success(200);
}

/// An object with a UID was there once: a real server reports its deletion as a conflict.
Refusal nothing_to_replace(const Route& route, const std::string& text) {
  const auto body = read_body(route, text);
  if (!body) return body.error();
  if (body->head.uid.empty()) return not_found(route.kind, route.name);
  return conflict(
      info(route.kind).qualified, route.name,
      "Precondition failed: UID in precondition: " + body->head.uid + ", UID in object meta: ");
}

}  // namespace

struct LocalApi::State {
  State(const Clock& time, Options options) : clock(time), store(options.history) {}

  Response call(const Request& request);
  Response read(const Route& route, const Request& request) const;
  Response list(const Route& route, const Request& request) const;
  Response post(const Route& route, const Request& request);
  Response create(const Route& route, const Request& request);
  Response bind(const Route& route, const Request& request);
  Response put(const Route& route, const Request& request);
  Response patch(const Route& route, const Request& request);
  Response evict(const Route& route, const Request& request);
  Response erase(const Route& route, const Request& request);
  template <class Check>
  Response remove(const Route& route, const DeleteOptions& options, const Check& check);
  Stamp next_stamp();
  Result<LocalStore::Creation> loaded(const YamlObject& object);

  /// Writes what `change` makes of the object, deciding again whenever another writer was faster.
  template <class Change, class Reply>
  Response update(const Route& route, const Change& change, const Reply& reply) {
    for (;;) {
      const ObjectPtr before = store.get(route.kind, object_key(route.ns, route.name));
      if (before == nullptr) return response(not_found(route.kind, route.name));
      ApiResult<Content> after = change(*before);
      if (!after) return response(after.error());
      // As a real server: a write that changes nothing makes no version and no event.
      if (after->tail == before->content.tail) return reply(*before);
      if (const ObjectPtr stored = store.replace(route.kind, before, std::move(*after))) {
        return reply(*stored);
      }
    }
  }

  const Clock& clock;
  LocalStore store;
  std::atomic<std::uint64_t> uids{0};
};

Stamp LocalApi::State::next_stamp() {
  const std::uint64_t count = ++uids;
  constexpr std::string_view kLetters =
      "bcdfghjklmnpqrstvwxz2456789";  // as a real server: no words
  std::string suffix(5, 'b');
  std::uint64_t rest = count;
  for (char& c : suffix) {
    c = kLetters[rest % kLetters.size()];
    rest /= kLetters.size();
  }
  return {fmt::format("00000000-0000-4000-8000-{:012x}", count), rfc3339(clock.wall()),
          std::move(suffix)};
}

Response LocalApi::State::call(const Request& request) {
  const auto route = parse_route(request.path);
  if (!route) return response(no_such_path());
  if (request.body.size() > kMaxBody) return response(too_large_body(kMaxBody));
  if (auto good = check_query(request); !good) return response(good.error());
  switch (request.method) {
    case Method::kGet:
      return read(*route, request);
    case Method::kPost:
      return post(*route, request);
    case Method::kPut:
      return put(*route, request);
    case Method::kPatch:
      return patch(*route, request);
    case Method::kDelete:
      return erase(*route, request);
  }
  return response(method_not_allowed());
}

Response LocalApi::State::read(const Route& route, const Request& request) const {
  if (!route.subresource.empty()) return response(method_not_allowed());
  if (query_value(request, "watch") != nullptr) {
    return response(bad_request("a watch is not a call: use watch()"));
  }
  if (route.is_collection()) return list(route, request);
  const ObjectPtr object = store.get(route.kind, object_key(route.ns, route.name));
  if (object == nullptr) return response(not_found(route.kind, route.name));
  return object_response(200, route.kind, *object);
}

Response LocalApi::State::list(const Route& route, const Request& request) const {
  auto selector = query_selector(request, route.kind);
  if (!selector) return response(selector.error());
  const auto limit = query_count(request, "limit", 0);
  if (!limit) return response(limit.error());
  const std::string* version = query_value(request, "resourceVersion");
  const std::string* token = query_value(request, "continue");
  const std::uint64_t current = store.version();
  Continue from{current, ""};
  if (token != nullptr) {
    auto place = parse_continue(*token, current);
    if (!place) return response(place.error());
    from = std::move(*place);
  } else if (version != nullptr) {
    // "Not older than": the newest always is.
    if (const auto at = parse_version(*version, current); !at) return response(at.error());
  }
  const LocalStore::Range range{route.kind, key_prefix(route), from.at, std::move(*selector)};
  const auto page = store.page(range, std::move(from.after), *limit);
  if (!page) {
    return response(
        expired("The provided continue parameter is too old to display a consistent "
                "list result; start a new list without the continue parameter"));
  }
  return {.status = 200, .body = list_text(route.kind, *page, from.at)};
}

Response LocalApi::State::post(const Route& route, const Request& request) {
  if (route.subresource == "binding") return bind(route, request);
  if (route.subresource == "eviction") return evict(route, request);
  const bool has_place = !info(route.kind).namespaced || !route.ns.empty();
  if (!route.is_collection() || !has_place) return response(method_not_allowed());
  return create(route, request);
}

Response LocalApi::State::create(const Route& route, const Request& request) {
  auto body = read_body(route, request.body);
  if (!body) return response(body.error());
  if (!body->head.resource_version.empty()) {
    return response(
        {500, "", "resourceVersion should not be set on objects to be created", "", ""});
  }
  auto content = created_object(route, std::move(*body), next_stamp(), false);
  if (!content) return response(content.error());
  const std::string name = content->fields.name;
  const auto created = store.create({{route.kind, std::move(*content)}});
  if (created.exists) return response(already_exists(route.kind, name));
  return object_response(201, route.kind, *created.objects.front());
}

Response LocalApi::State::bind(const Route& route, const Request& request) {
  const auto order = read_binding(route, request.body);
  if (!order) return response(order.error());
  const std::string now = rfc3339(clock.wall());
  return update(
      route, [&](const StoredObject& before) { return bound_pod(before, *order, now); },
      [](const StoredObject&) { return success(201); });
}

Response LocalApi::State::put(const Route& route, const Request& request) {
  if (route.is_collection() || !route.subresource.empty()) return response(method_not_allowed());
  if (store.get(route.kind, object_key(route.ns, route.name)) == nullptr) {
    return response(nothing_to_replace(route, request.body));
  }
  return update(
      route,
      [&](const StoredObject& before) -> ApiResult<Content> {
        auto body = read_body(route, request.body);
        if (!body) return body.error();
        return replaced_object(route, before, std::move(*body));
      },
      [&](const StoredObject& object) { return object_response(200, route.kind, object); });
}

Response LocalApi::State::patch(const Route& route, const Request& request) {
  const bool patchable = route.subresource.empty() || route.subresource == "status";
  if (route.is_collection() || !patchable) return response(method_not_allowed());
  if (request.content_type != "application/merge-patch+json") {
    return response(
        unsupported_media_type("accepted media types include: application/merge-patch+json"));
  }
  const auto doc = JsonDoc::parse(request.body);
  if (!doc) return response(bad_request(doc.error().message));
  return update(
      route, [&](const StoredObject& before) { return patched_object(route, before, *doc); },
      [&](const StoredObject& object) { return object_response(200, route.kind, object); });
}

/// Deletes, at once or with grace.
template <class Check>
Response LocalApi::State::remove(const Route& route, const DeleteOptions& options,
                                 const Check& check) {
  for (;;) {
    const ObjectPtr before = store.get(route.kind, object_key(route.ns, route.name));
    if (before == nullptr) return response(not_found(route.kind, route.name));
    if (auto good = check(*before); !good) return response(good.error());
    const auto grace = grace_of(route.kind, *before, options);
    if (!grace) return response(grace.error());
    if (!options.dry_run.empty()) return removed_response(route.kind, *before);
    if (*grace == 0) {
      if (store.remove(route.kind, before) == 0) continue;
      return removed_response(route.kind, *before);
    }
    const std::string when = rfc3339(clock.wall() + std::chrono::seconds(*grace));
    return update(
        route, [&](const StoredObject& pod) { return deleting_pod(pod, when, *grace); },
        [&](const StoredObject& pod) { return object_response(200, route.kind, pod); });
  }
}

Response LocalApi::State::evict(const Route& route, const Request& request) {
  const auto options = read_eviction(route, request.body);
  if (!options) return response(options.error());
  Response removed = remove(route, *options, check_eviction);
  return removed.status == 200 ? success(201) : removed;
}

Response LocalApi::State::erase(const Route& route, const Request& request) {
  const bool erasable = route.kind != ResourceKind::kNamespaces && route.subresource.empty();
  if (route.is_collection() || !erasable) return response(method_not_allowed());
  const auto options =
      read_delete_options(request.body, query_value(request, "gracePeriodSeconds"));
  if (!options) return response(options.error());
  return remove(route, *options, [](const StoredObject&) { return ApiResult<void>(); });
}

/// The creation of one loaded object; the error names its line.
Result<LocalStore::Creation> LocalApi::State::loaded(const YamlObject& object) {
  const auto wrong = [&](const std::string& why) {
    return tangram::fail(Errc::kInvalidArgument,
                         "line " + std::to_string(object.line) + ": " + why);
  };
  const auto head = read_head(object.json);
  if (!head) return wrong(head.error().message);
  for (const ResourceKind kind :
       {ResourceKind::kNodes, ResourceKind::kPods, ResourceKind::kLeases, ResourceKind::kBudgets}) {
    if (head->kind != info(kind).kind) continue;
    Route route;
    route.kind = kind;
    if (info(kind).namespaced) route.ns = head->fields.ns.empty() ? "default" : head->fields.ns;
    auto body = read_body(route, object.json);
    if (!body) return wrong(body.error().message);
    auto content = created_object(route, std::move(*body), next_stamp(), true);
    if (!content) return wrong(content.error().message);
    return LocalStore::Creation{kind, std::move(*content)};
  }
  return wrong("kind \"" + head->kind +
               "\" cannot be loaded; write Node, Pod, Lease, PodDisruptionBudget or List");
}

LocalApi::LocalApi(const Clock& clock, Options options)
    : state_(std::make_unique<State>(clock, options)) {}
LocalApi::~LocalApi() = default;

Result<Response> LocalApi::call(const Request& request) { return state_->call(request); }

Result<Response> LocalApi::watch(const Request& request, const WatchFrame& frame,
                                 std::stop_token stop) {
  const auto route = parse_route(request.path);
  if (!route) return response(no_such_path());
  if (request.method != Method::kGet || !route->is_collection()) {
    return response(method_not_allowed());
  }
  const auto order = read_watch(*route, request, state_->store.version());
  if (!order) return response(order.error());
  run_watch(state_->store, *order, frame, stop);
  return Response{.status = 200};
}

Result<std::size_t> LocalApi::load_yaml(const std::string& text) {
  const auto objects = yaml_to_json(text);
  if (!objects) return objects.error();
  std::vector<LocalStore::Creation> creations;
  for (const YamlObject& object : *objects) {
    auto creation = state_->loaded(object);
    if (!creation) return creation.error();
    creations.push_back(std::move(*creation));
  }
  const auto created = state_->store.create(std::move(creations));
  if (created.exists) {
    return fail(Errc::kInvalidArgument, "line " +
                                            std::to_string(objects->at(*created.exists).line) +
                                            ": an object of this kind and name is there already");
  }
  return created.objects.size();
}

void LocalApi::compact() { state_->store.compact(); }

}  // namespace tangram::kube
