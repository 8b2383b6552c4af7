#include "kube/local/yaml_to_json.hpp"

#include "base/json.hpp"
#include "base/number.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace tangram::kube {

namespace {

// Aliases let a short text stand for a huge one. Written out, JSON is some three times its YAML;
// the rest is room for pods that share one aliased spec.
constexpr std::size_t kMaxGrowth = 64;
constexpr std::size_t kSmallText = std::size_t{1} << 20;  // never too large
// Less than json::Reader::kMaxDepth, which reads the outcome.
constexpr int kMaxDepth = 64;

// Words of YAML 1.2 in the forms that kubectl also reads.
constexpr std::array<std::string_view, 5> kNulls{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kTrue{"true", "True", "TRUE"};
constexpr std::array<std::string_view, 3> kFalse{"false", "False", "FALSE"};

constexpr std::array<std::string_view, 7> kStringMaps{
    "annotations", "labels", "requests", "limits", "capacity", "allocatable", "overhead"};

bool holds_strings(std::string_view key) {
  return std::find(kStringMaps.begin(), kStringMaps.end(), key) != kStringMaps.end();
}

/// Thrown and caught in this file: yaml-cpp throws anyway.
struct Mistake {
  int line;  ///< of the document, from 0
  std::string message;
};

[[noreturn]] void refuse(const YAML::Mark& at, const std::string& what) {
  throw Mistake{at.line, what};
}

/// from_chars also takes "inf" and "nan", which JSON has no form for.
bool looks_like_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
}

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// "0644", "0o644", "1000"; a leading zero stands for octal in YAML 1.1, as in most files' modes.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool octal = text.size() > 1 && text.front() == '0';
  if (octal) {
    const std::string_view digits = text.substr(text[1] == 'o' ? 2 : 1);
    if (!digits.empty() && digits.find_first_not_of("01234567") == std::string_view::npos) {
      return parse_number<std::int64_t>(digits, 8);
    }
  }
  return parse_number<std::int64_t>(text);
}

class Converter {
 public:
  Converter(std::string& out, std::size_t limit, YamlMaps maps)
      : out_(out), limit_(limit), maps_(maps), writer_(out) {}

  void value(const YAML::Node& node, bool strings, int depth) {
    if (depth > kMaxDepth) {
      refuse(node.Mark(), "nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    if (out_.size() > limit_) refuse(node.Mark(), "the text is too large with its aliases");
    if (node.IsMap()) return map(node, strings, depth);
    if (node.IsSequence()) return sequence(node, strings, depth);
    if (node.IsScalar() && (strings || node.Tag() != "?")) {
      writer_.string(node.Scalar());
    } else if (node.IsScalar()) {
      plain(node.Scalar());
    } else {
      writer_.null();
    }
  }

 private:
  void map(const YAML::Node& node, bool strings, int depth) {
    std::set<std::string_view> keys;
    writer_.begin_object();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) refuse(entry.first.Mark(), "a key must be a word");
      const std::string& key = entry.first.Scalar();
      if (!keys.insert(key).second) refuse(entry.first.Mark(), "key \"" + key + "\" stands twice");
      writer_.key(key);
      value(entry.second, strings || (maps_ == YamlMaps::kTexts && holds_strings(key)), depth + 1);
    }
    writer_.end_object();
  }

  void sequence(const YAML::Node& node, bool strings, int depth) {
    writer_.begin_array();
    for (const auto& element : node) value(element, strings, depth + 1);
    writer_.end_array();
  }

  void plain(const std::string& text) {
    const bool yes = is_one_of(kTrue, text);
    if (yes || is_one_of(kFalse, text)) {
      writer_.boolean(yes);
    } else if (is_one_of(kNulls, text)) {
      writer_.null();
    } else if (const auto integer = parse_integer(text)) {
      writer_.integer(*integer);
    } else if (const auto real = parse_number<double>(text); real && looks_like_number(text)) {
      writer_.number(*real);
    } else {
      writer_.string(text);
    }
  }

  std::string& out_;
  const std::size_t limit_;
  const YamlMaps maps_;
  json::Writer writer_;
};

/// The objects of a text, and what all of them together may grow to.
struct Objects {
  std::vector<YamlObject> list;
  std::size_t room = 0;
  YamlMaps maps = YamlMaps::kTexts;
};

void append_object(Objects& objects, const YAML::Node& node) {
  if (!node.IsMap()) refuse(node.Mark(), "expected an object with apiVersion, kind and metadata");
  YamlObject object;
  object.line = node.Mark().line;  // of the document, from 0; read_document() makes it the file's
  Converter(object.json, objects.room, objects.maps).value(node, false, 0);
  objects.room -= std::min(objects.room, object.json.size());
  objects.list.push_back(std::move(object));
}

void append_document(Objects& objects, const YAML::Node& document) {
  const YAML::Node kind = document.IsMap() ? document["kind"] : YAML::Node();
  if (!kind.IsDefined() || !kind.IsScalar() || kind.Scalar() != "List") {
    return append_object(objects, document);
  }
  const YAML::Node items = document["items"];
  if (!items.IsDefined() || !items.IsSequence()) {
    refuse(document.Mark(), "a List needs items: a sequence of objects");
  }
  for (const auto& item : items) append_object(objects, item);
}

/// Nothing but empty lines and comments.
bool is_empty(std::string_view document) {
  bool comment = false;
  return std::all_of(document.begin(), document.end(), [&](char c) {
    comment = c != '\n' && (comment || c == '#');
    return comment || c == ' ' || c == '\t' || c == '\r' || c == '\n';
  });
}

constexpr std::size_t kMarkerLength = 3;

/// Whether a document ends before this line, by "---" or "...".
bool is_marker(std::string_view line) {
  const std::string_view mark = line.substr(0, kMarkerLength);
  if (mark != "---" && mark != "...") return false;
  return line.size() == kMarkerLength || line.find_first_of(" \t\r") == kMarkerLength;
}

Error mistake_at(int line, const std::string& what) {
  return fail(Errc::kInvalidArgument, "line " + std::to_string(line) + ": " + what);
}

/// Appends the document's objects. @returns what is wrong with it, at its line of the file
Result<void> read_document(const YamlDocument& document, Objects& objects) {
  const std::size_t before = objects.list.size();
  try {
    append_document(objects, YAML::Load(document.text));
  } catch (const Mistake& mistake) {
    return mistake_at(document.first_line + mistake.line, mistake.message);
  } catch (const YAML::Exception& e) {
    return mistake_at(document.first_line + e.mark.line, "not valid YAML: " + e.msg);
  }
  for (std::size_t i = before; i < objects.list.size(); ++i) {
    objects.list[i].line += document.first_line;
  }
  return {};
}

}  // namespace

std::size_t most_written_out(std::string_view text) {
  return kSmallText + kMaxGrowth * text.size();
}

// Not YAML::LoadAll: on a stray comma it never ends.
std::vector<YamlDocument> split_yaml(std::string_view text) {
  std::vector<YamlDocument> documents(1);
  int line_number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line_number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    const bool begins = is_marker(line);
    // The document can begin on the marker's line: "--- {kind: Pod, ...}".
    if (begins) line.remove_prefix(kMarkerLength);
    const bool bare = begins && is_empty(line);
    if (begins) documents.push_back({.text = {}, .first_line = line_number + (bare ? 1 : 0)});
    if (!bare) documents.back().text.append(line).push_back('\n');
    begin = end + 1;
  }
  return documents;
}

Result<std::vector<YamlObject>> yaml_to_json(const std::string& text, YamlMaps maps) {
  Objects objects{{}, most_written_out(text), maps};
  for (const YamlDocument& document : split_yaml(text)) {
    if (is_empty(document.text)) continue;
    if (auto read = read_document(document, objects); !read) return read.error();
  }
  return std::move(objects.list);
}

}  // namespace tangram::kube
