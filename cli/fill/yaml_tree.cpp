#include "cli/fill/yaml_tree.hpp"

#include "base/rapidjson.hpp"
#include "cli/document.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::cli {

namespace {

// ---- Reading.

constexpr int kMaxDepth = 64;  // as kube::yaml_to_json()
constexpr const char* kPlain = "?";
constexpr const char* kQuoted = "!";
constexpr const char* kMergeKey = "<<";

/// Thrown and caught in this file: yaml-cpp throws anyway.
struct Mistake {
  int line;  ///< of the document, from 0
  std::string message;
};

Error mistake_at(const kube::YamlDocument& document, int line, const std::string& what) {
  return fail(Errc::kInvalidArgument,
              "line " + std::to_string(document.first_line + line) + ": " + what);
}

[[noreturn]] void refuse(const YAML::Node& at, const std::string& what) {
  throw Mistake{at.Mark().line, what};
}

// Bytes of room that a node takes beside its text: one in memory is far larger than "~" or "[]".
// A text without aliases has hardly more nodes than bytes, so it stays below the room.
constexpr std::size_t kNodeCost = 16;

/// Copies a tree in which nodes can be shared.
class Copier {
 public:
  explicit Copier(std::size_t room) : room_(room) {}

  YAML::Node copy(const YAML::Node& from, int depth) {
    if (from.IsMap()) return map(from, depth);
    check_depth(from, depth);
    if (from.IsSequence()) {
      take_room(from, kNodeCost);
      YAML::Node list(YAML::NodeType::Sequence);
      for (const auto& element : from) list.push_back(copy(element, depth + 1));
      return list;
    }
    return scalar(from);
  }

 private:
  static void check_depth(const YAML::Node& from, int depth) {
    if (depth <= kMaxDepth) return;
    refuse(from, "nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }

  void take_room(const YAML::Node& from, std::size_t bytes) {
    if (bytes > room_) refuse(from, "the text is too large with its aliases");
    room_ -= bytes;
  }

  YAML::Node scalar(const YAML::Node& from) {
    take_room(from, kNodeCost + (from.IsScalar() ? from.Scalar().size() : 0));
    if (!from.IsScalar()) return YAML::Node(YAML::NodeType::Null);
    YAML::Node to(from.Scalar());
    to.SetTag(from.Tag());
    return to;
  }

  YAML::Node map(const YAML::Node& from, int depth) {
    check_depth(from, depth);
    take_room(from, kNodeCost);
    YAML::Node to(YAML::NodeType::Map);
    std::set<std::string> keys;
    std::vector<YAML::Node> merged;
    for (const auto& entry : from) {
      if (!entry.first.IsScalar()) refuse(entry.first, "a key must be a word");
      const std::string& key = entry.first.Scalar();
      if (!keys.insert(key).second) refuse(entry.first, "key \"" + key + "\" stands twice");
      if (key == kMergeKey && entry.first.Tag() == kPlain) {
        add_merged(entry.second, merged);
      } else {
        to.force_insert(scalar(entry.first), copy(entry.second, depth + 1));
      }
    }
    for (const YAML::Node& more : merged) merge(more, depth, keys, to);
    return to;
  }

  static void add_merged(const YAML::Node& value, std::vector<YAML::Node>& merged) {
    if (value.IsMap()) return merged.push_back(value);
    if (!value.IsSequence()) refuse(value, "<< needs a map, or a list of maps");
    for (const auto& element : value) {
      if (!element.IsMap()) refuse(element, "<< needs a map, or a list of maps");
      merged.push_back(element);
    }
  }

  /// What the map lacks.
  void merge(const YAML::Node& more, int depth, std::set<std::string>& keys, YAML::Node& to) {
    for (const auto& entry : map(more, depth + 1)) {
      if (keys.insert(entry.first.Scalar()).second) to.force_insert(entry.first, entry.second);
    }
  }

  std::size_t room_;
};

// ---- Writing.

/// Whether a block of lines is read as the same text: one line's end at the end, and nothing in it
/// that YAML folds, cuts or escapes.
bool is_block(std::string_view text) {
  if (text.size() < 2 || text.front() == ' ' || text.front() == '\n') return false;
  if (text.find('\n') + 1 == text.size() || !text.ends_with('\n')) return false;
  if (text.substr(0, text.size() - 1).ends_with('\n')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || (c >= ' ' && c != '\x7f' && static_cast<unsigned char>(c) < 0x80);
  });
}

void emit_scalar(YAML::Emitter& out, const YAML::Node& node, bool is_key) {
  const std::string& tag = node.Tag();
  const std::string& text = node.Scalar();
  if (tag == kPlain) {
    out << text;
  } else if (tag.empty()) {
    emit_string(out, text);
  } else {
    if (tag != kQuoted) out << YAML::VerbatimTag(tag);
    out << (!is_key && is_block(text) ? YAML::Literal : YAML::DoubleQuoted) << text;
  }
}

void emit(YAML::Emitter& out, const YAML::Node& node) {
  if (node.IsScalar()) return emit_scalar(out, node, false);
  if (node.IsNull()) {
    out << YAML::Null;
    return;
  }
  if (node.size() == 0) out << YAML::Flow;  // "{}"
  out << (node.IsMap() ? YAML::BeginMap : YAML::BeginSeq);
  for (const auto& entry : node) {
    if (node.IsMap()) {
      out << YAML::Key;
      emit_scalar(out, entry.first, true);
      out << YAML::Value;
      emit(out, entry.second);
    } else {
      emit(out, entry);
    }
  }
  out << (node.IsMap() ? YAML::EndMap : YAML::EndSeq);
}

// ---- Patching.

YAML::Node tree_of(const rapidjson::Value& value) {
  if (value.IsString()) {
    YAML::Node text(std::string(value.GetString(), value.GetStringLength()));
    return text;
  }
  if (value.IsArray()) {
    YAML::Node list(YAML::NodeType::Sequence);
    for (const auto& element : value.GetArray()) list.push_back(tree_of(element));
    return list;
  }
  if (!value.IsObject()) throw std::logic_error("a patch holds texts, maps and lists only");
  YAML::Node map(YAML::NodeType::Map);
  for (const auto& member : value.GetObject()) {
    map[std::string(member.name.GetString(), member.name.GetStringLength())] =
        tree_of(member.value);
  }
  return map;
}

/// "/metadata/annotations/tangram.dev~1gpu-container".
std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/') {
      steps.emplace_back();
    } else if (path[i] == '~') {
      steps.back() += path[++i] == '1' ? '/' : '~';
    } else {
      steps.back() += path[i];
    }
  }
  return steps;
}

/// Nodes are handles, and assigning to one changes what it refers to.
YAML::Node parent_at(const YAML::Node& node, std::span<const std::string> steps) {
  if (steps.size() == 1) return node;
  YAML::Node from = node;
  if (from.IsSequence()) return parent_at(from[std::stoul(steps.front())], steps.subspan(1));
  YAML::Node member = from[steps.front()];
  if (!member.IsDefined() || member.IsNull()) member = YAML::Node(YAML::NodeType::Map);
  return parent_at(member, steps.subspan(1));
}

void apply(const YAML::Node& tree, const rapidjson::Value& operation) {
  const std::vector<std::string> steps = steps_of(operation["path"].GetString());
  YAML::Node parent = parent_at(tree, steps);
  const bool removes = std::string_view(operation["op"].GetString()) == "remove";
  if (parent.IsSequence() && removes) {
    parent.remove(std::stoul(steps.back()));
  } else if (parent.IsSequence()) {
    parent.push_back(tree_of(operation["value"]));  // to "-", the only place that is used
  } else if (removes) {
    parent.remove(steps.back());
  } else {
    parent[steps.back()] = tree_of(operation["value"]);
  }
}

}  // namespace

Result<YamlTree> read_raw(const kube::YamlDocument& document) {
  try {
    return YamlTree{YAML::Load(document.text)};
  } catch (const YAML::Exception& e) {
    return mistake_at(document, e.mark.line, "not valid YAML: " + e.msg);
  }
}

Result<YamlTree> read_tree(const kube::YamlDocument& document) {
  const auto raw = read_raw(document);
  if (!raw) return raw.error();
  try {
    return YamlTree{Copier(kube::most_written_out(document.text)).copy(raw->root, 0)};
  } catch (const Mistake& mistake) {
    return mistake_at(document, mistake.line, mistake.message);
  } catch (const YAML::Exception& e) {
    return mistake_at(document, e.mark.line, "not valid YAML: " + e.msg);
  }
}

std::string write_tree(const YAML::Node& tree) {
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  emit(out, tree);
  return std::string(out.c_str()) + "\n";
}

void apply_patch(const YAML::Node& tree, const std::string& patch) {
  rapidjson::Document operations;
  operations.Parse(patch.c_str());
  for (const auto& operation : operations.GetArray()) apply(tree, operation);
}

}  // namespace tangram::cli
