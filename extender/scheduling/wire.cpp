#include "extender/scheduling/wire.hpp"

#include "base/json_members.hpp"
#include "base/json_scan.hpp"
#include "cluster/allocations.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace tangram::extender {

namespace {

/// Without labels if it has more than kMaxLabels, as PodFeed shows it once it is bound. Whether it
/// binds late has been read of all of them.
kube::Pod read_pod(json::Reader& in) {
  kube::Pod pod = kube::read_pod(in);
  if (pod.labels.size() > cluster::kMaxLabels) pod.labels.clear();
  return pod;
}

void read_node_names(json::Reader& in, FilterArgs& args) {
  in.array([&] { args.node_names.push_back(in.string()); });
}

/// The object of Nodes, if it may have items; else "", and json::Reader reads it.
std::string_view whole_nodes(std::string_view text) {
  const std::size_t begin = json::find_begin(text, {"Nodes"});
  const bool object = begin < text.size() && text[begin] == '{';
  if (!object || text.find("\"items\"", begin) == std::string_view::npos) return {};
  return json::find(text, {"Nodes"});
}

/// The list of NodeNames, which it reads; "" if json::Reader has to. The names are most of a
/// request.
std::string_view plain_names(std::string_view text, FilterArgs& args) {
  constexpr std::size_t kPerName = 16;  // about, with quotes and comma
  const std::size_t begin = json::find_begin(text, {"NodeNames"});
  if (begin >= text.size()) return {};
  args.node_names.reserve((text.size() - begin) / kPerName);
  const std::size_t end = json::read_plain_strings(text, begin, args.node_names);
  if (end != std::string_view::npos) return text.substr(begin, end - begin);
  args.node_names.clear();
  return {};
}

/// The text with null in place of a part of it.
std::string without(std::string_view text, std::string_view part) {
  const auto begin = static_cast<std::size_t>(part.data() - text.data());
  std::string rest(text.substr(0, begin));
  return rest.append("null").append(text.substr(begin + part.size()));
}

/// Nodes are many and large, go back as they came, and say nothing here but their names: so they
/// are cut from the text, and not read.
Result<void> cut_nodes(std::string_view list, FilterArgs& args) {
  args.full_nodes = true;
  std::size_t lists = 0;
  bool whole = true;
  const bool good = json::for_each_member(list, [&](std::string_view key, std::string_view value) {
    if (key != "items") return;
    ++lists;
    whole = whole && json::for_each_element(
                         value, [&](std::string_view node) { args.node_texts.push_back(node); });
  });
  if (!good) return fail(Errc::kInvalidArgument, "Nodes: not valid JSON");
  if (!whole) return fail(Errc::kInvalidArgument, "Nodes.items: expected an array");
  if (lists > 1) return fail(Errc::kInvalidArgument, "Nodes.items stands twice");
  for (const std::string_view node : args.node_texts) {
    const std::string_view name = json::raw_string(json::find(node, {"metadata", "name"}));
    if (name.empty() || name.find('\\') != std::string_view::npos) {
      return fail(Errc::kInvalidArgument,
                  "Nodes.items.metadata.name: expected a string, the name of a node");
    }
    args.node_names.push_back(name);
  }
  return {};
}

/// Without its UID a victim could not be identified, and would silently be spared.
void add_victim(json::Reader& in, Victims& victims, std::string uid) {
  if (uid.empty()) in.fail("a victim has no UID");
  victims.uids.push_back(std::move(uid));
}

std::string read_meta_pod(json::Reader& in) {
  std::string uid;
  in.object([&](std::string_view key) {
    if (key == "UID") {
      uid = in.string();
    } else {
      in.skip();
    }
  });
  return uid;
}

Victims read_meta_victims(json::Reader& in) {
  Victims victims;
  in.object([&](std::string_view key) {
    if (key == "Pods") {
      in.array([&] { add_victim(in, victims, read_meta_pod(in)); });
    } else if (key == "NumPDBViolations") {
      victims.pdb_violations = in.integer();
    } else {
      in.skip();
    }
  });
  return victims;
}

Victims read_victims(json::Reader& in) {
  Victims victims;
  in.object([&](std::string_view key) {
    if (key == "Pods") {
      in.array([&] {
        std::string uid;
        json::read_members(in, "metadata", json::members("uid", uid));
        add_victim(in, victims, std::move(uid));
      });
    } else if (key == "NumPDBViolations") {
      victims.pdb_violations = in.integer();
    } else {
      in.skip();
    }
  });
  return victims;
}

json::Outline preempt_outline() {
  const json::Outline::Member violations{"NumPDBViolations"};
  return {.members = {
              {"Pod", kube::pod_outline()},
              {"NodeNameToMetaVictims", {{json::Outline::kAny, {{"Pods", {{"UID"}}}, violations}}}},
              {"NodeNameToVictims",
               {{json::Outline::kAny, {{"Pods", {{"metadata", {{"uid"}}}}}, violations}}}}}};
}

/// Those that stand one behind the other in the request go out as they came, in one piece.
void write_plain_names(json::Writer& out, std::span<const std::string_view> names,
                       std::span<const std::uint32_t> kept) {
  const auto goes_on = [](std::uint32_t one, std::uint32_t next) { return next == one + 1; };
  while (!kept.empty()) {
    const auto end = std::ranges::adjacent_find(kept, std::not_fn(goes_on));
    const auto run = static_cast<std::size_t>(end - kept.begin()) + (end == kept.end() ? 0 : 1);
    const std::string_view first = names[kept.front()];
    const std::string_view last = names[kept[run - 1]];
    const char* const begin = first.data() - 1;  // with their quotes
    out.raw({begin, static_cast<std::size_t>(last.data() + last.size() + 1 - begin)});
    kept = kept.subspan(run);
  }
}

void write_names(json::Writer& out, const FilterArgs& args, const FilterResult& result) {
  out.key("NodeNames").begin_array();
  if (args.plain_names) {
    write_plain_names(out, args.node_names, result.kept);
  } else {
    for (const std::uint32_t kept : result.kept) out.string(args.node_names[kept]);
  }
  out.end_array();
}

void write_failed(json::Writer& out, std::string_view name, const std::vector<FailedNode>& nodes) {
  out.key(name).begin_object();
  for (const FailedNode& node : nodes) out.member(node.name, node.reason);
  out.end_object();
}

/// Room for the names asked, the failed ones with their reasons, and the brackets.
std::size_t reply_size(const FilterArgs& args, const FilterResult& result) {
  constexpr std::size_t kPerName = 48;
  constexpr std::size_t kPerFailure = 112;
  std::size_t size = 256 + kPerFailure * (result.failed.size() + result.unresolvable.size());
  if (!args.full_nodes) return size + kPerName * result.kept.size();
  for (const std::uint32_t kept : result.kept) size += args.node_texts[kept].size() + 1;
  return size;
}

/// All but what was read before; overwrites the text.
Result<void> read_filter_args(std::string& text, FilterArgs& args) {
  static const json::Outline kOutline{
      .members = {{"Pod", kube::pod_outline()}, {"NodeNames"}, {"Nodes", {{"items"}}}}};
  json::Reader in(text, kOutline);
  bool has_pod = false;
  in.object([&](std::string_view key) {
    if (key == "Pod") {
      has_pod = in.kind() == json::Kind::kObject;
      args.pod = read_pod(in);
    } else if (key == "NodeNames") {
      read_node_names(in, args);
    } else if (key == "Nodes" && in.kind() != json::Kind::kNull) {
      args.full_nodes = true;
      in.object([&](std::string_view member) {
        if (member == "items") in.fail("expected once, in plain letters");
        in.skip();
      });
    } else {
      in.skip();
    }
  });
  if (!in.failed() && !has_pod) in.fail("Pod is missing");
  return in.finish();
}

}  // namespace

Result<FilterArgs> decode_filter_args(Body& body) {
  FilterArgs args;
  const std::string_view text = body.text();
  if (const auto nodes = whole_nodes(text); !nodes.empty()) {
    std::string rest = without(text, nodes);
    if (auto read = read_filter_args(rest, args); !read) return read.error();
    if (auto cut = cut_nodes(nodes, args); !cut) return cut.error();
  } else if (const auto names = plain_names(text, args); !names.empty()) {
    args.plain_names = true;
    std::string rest = without(text, names);
    if (auto read = read_filter_args(rest, args); !read) return read.error();
  } else {
    if (auto read = read_filter_args(body.text(), args); !read) return read.error();
  }
  if (args.full_nodes && args.node_texts.size() != args.node_names.size()) {
    return fail(Errc::kInvalidArgument, "both Nodes and NodeNames are set; send one of them");
  }
  return args;
}

std::string encode(const FilterArgs& args, const FilterResult& result) {
  std::string text;
  text.reserve(reply_size(args, result));
  json::Writer out(text);
  out.begin_object();
  if (args.full_nodes) {
    out.key("NodeNames").null();
    out.key("Nodes").begin_object().member("kind", "NodeList").member("apiVersion", "v1");
    out.key("metadata").begin_object().end_object().key("items").begin_array();
    for (const std::uint32_t kept : result.kept) out.raw(args.node_texts[kept]);
    out.end_array().end_object();
  } else {
    out.key("Nodes").null();
    write_names(out, args, result);
  }
  write_failed(out, "FailedNodes", result.failed);
  write_failed(out, "FailedAndUnresolvableNodes", result.unresolvable);
  out.member("Error", "").end_object();
  return text;
}

std::string encode_filter_error(std::string_view message) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("Nodes").null().key("NodeNames").null();
  out.key("FailedNodes").null().key("FailedAndUnresolvableNodes").null();
  out.member("Error", message).end_object();
  return text;
}

std::string encode(const std::vector<HostScore>& scores) {
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const HostScore& score : scores) {
    out.begin_object().member("Host", score.host).member("Score", score.score).end_object();
  }
  out.end_array();
  return text;
}

namespace {

/// What Kubernetes takes for a name, a little more loosely. Such a text can stand in a path and in
/// a log as it is.
bool is_name(std::string_view text) {
  constexpr std::size_t kLongest = 253;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= kLongest && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), allowed);
}

}  // namespace

Result<BindArgs> decode_bind_args(Body& body) {
  static const json::Outline kOutline{
      .members = {{"PodName"}, {"PodNamespace"}, {"PodUID"}, {"Node"}}};
  BindArgs args;
  json::Reader in(body.text(), kOutline);
  in.object([&](std::string_view key) {
    if (key == "PodName") {
      args.name = in.string();
    } else if (key == "PodNamespace") {
      args.ns = in.string();
    } else if (key == "PodUID") {
      args.uid = in.string();
    } else if (key == "Node") {
      args.node = in.string();
    } else {
      in.skip();
    }
  });
  if (!in.failed() &&
      (args.name.empty() || args.ns.empty() || args.uid.empty() || args.node.empty())) {
    in.fail("PodName, PodNamespace, PodUID and Node must all be set");
  }
  if (!in.failed() && !(is_name(args.name) && is_name(args.ns) && is_name(args.node))) {
    in.fail("PodName, PodNamespace and Node must be names that Kubernetes allows");
  }
  if (auto done = in.finish(); !done) return done.error();
  return args;
}

std::string encode_bind_result(std::string_view message) {
  std::string text;
  json::Writer(text).begin_object().member("Error", message).end_object();
  return text;
}

Result<PreemptArgs> decode_preempt_args(Body& body) {
  static const json::Outline kOutline = preempt_outline();
  PreemptArgs args;
  bool has_pod = false;
  json::Reader in(body.text(), kOutline);
  in.object([&](std::string_view key) {
    if (key == "Pod") {
      has_pod = in.kind() == json::Kind::kObject;
      args.pod = read_pod(in);
    } else if (key == "NodeNameToMetaVictims") {
      in.object([&](std::string_view node) { args.nodes.emplace(node, read_meta_victims(in)); });
    } else if (key == "NodeNameToVictims") {
      in.object([&](std::string_view node) { args.nodes.emplace(node, read_victims(in)); });
    } else {
      in.skip();
    }
  });
  if (!in.failed() && !has_pod) in.fail("Pod is missing");
  if (auto done = in.finish(); !done) return done.error();
  return args;
}

std::string encode_preempt_result(const std::map<std::string, Victims, std::less<>>& nodes) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("NodeNameToMetaVictims").begin_object();
  for (const auto& [node, victims] : nodes) {
    out.key(node).begin_object().key("Pods").begin_array();
    for (const std::string& uid : victims.uids) out.begin_object().member("UID", uid).end_object();
    out.end_array().member("NumPDBViolations", victims.pdb_violations).end_object();
  }
  out.end_object().end_object();
  return text;
}

}  // namespace tangram::extender
