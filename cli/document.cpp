#include "cli/document.hpp"

#include "base/json.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

using json::Kind;

std::string json_string(std::string_view value) {
  std::string text;
  json::Writer(text).string(value);
  return text;
}

std::string json_scalar(json::Reader& in) {
  switch (in.kind()) {
    case Kind::kString:
      return json_string(in.string());
    case Kind::kNumber:
      return in.scalar_text();
    case Kind::kBool:
      return in.boolean() ? "true" : "false";
    case Kind::kNull:
    case Kind::kNone:
    case Kind::kObject:
    case Kind::kArray:
      in.skip();
      return "null";
  }
  return "null";
}

bool is_nested(Kind kind) { return kind == Kind::kObject || kind == Kind::kArray; }

class Indenter {
 public:
  explicit Indenter(json::Reader& in) : in_(in) {}

  std::string value(std::size_t depth) {
    if (!is_nested(in_.kind())) return json_scalar(in_);
    const bool object = in_.kind() == Kind::kObject;
    std::string inside;
    const auto begin_line = [&] {
      inside += (inside.empty() ? "\n" : ",\n") + std::string(kStep * (depth + 1), ' ');
    };
    if (object) {
      in_.object([&](std::string_view key) {
        begin_line();
        inside += json_string(key) + ": " + value(depth + 1);
      });
    } else {
      in_.array([&] {
        begin_line();
        inside += value(depth + 1);
      });
    }
    if (!inside.empty()) inside += "\n" + std::string(kStep * depth, ' ');
    return (object ? "{" : "[") + inside + (object ? "}" : "]");
  }

 private:
  static constexpr std::size_t kStep = 4;  // kubectl's
  json::Reader& in_;
};

/// A string to every reader of YAML 1.1 and 1.2, without quotes.
bool is_plain(std::string_view text) {
  constexpr std::array<std::string_view, 11> kWords{"true", "false", "yes", "no",  "on", "off",
                                                    "null", "y",     "n",   "nan", "inf"};
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
  const bool safe = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
           c == '/';
  });
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return safe && std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

void emit_string(YAML::Emitter& out, std::string_view text) {
  // The emitter itself leaves words of YAML 1.1 such as "No" unquoted, which kubectl reads as
  // false.
  if (!is_plain(text)) out << YAML::DoubleQuoted;
  out << std::string(text);
}

void emit(YAML::Emitter& out, json::Reader& in) {
  const Kind kind = in.kind();
  if (kind == Kind::kString) return emit_string(out, in.string());
  bool empty = true;
  const auto begin = [&](YAML::EMITTER_MANIP what) {
    if (std::exchange(empty, false)) out << what;
  };
  const auto begin_empty = [&](YAML::EMITTER_MANIP what) {
    if (empty) out << YAML::Flow << what;  // "{}" behind the key, as kubectl writes it
  };
  if (kind == Kind::kObject) {
    in.object([&](std::string_view key) {
      begin(YAML::BeginMap);
      out << YAML::Key;
      emit_string(out, key);
      out << YAML::Value;
      emit(out, in);
    });
    begin_empty(YAML::BeginMap);
    out << YAML::EndMap;
  } else if (kind == Kind::kArray) {
    in.array([&] {
      begin(YAML::BeginSeq);
      emit(out, in);
    });
    begin_empty(YAML::BeginSeq);
    out << YAML::EndSeq;
  } else if (kind == Kind::kNumber || kind == Kind::kBool) {
    out << json_scalar(in);  // written alike in JSON and YAML
  } else {
    in.skip();
    out << YAML::Null;
  }
}

}  // namespace

Result<std::string> indented(std::string json) {
  json::Reader in(json);
  std::string text = Indenter(in).value(0);
  if (auto done = in.finish(); !done) return done.error();
  return text + "\n";
}

Result<std::string> to_yaml(std::string json) {
  json::Reader in(json);
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  emit(out, in);
  if (auto done = in.finish(); !done) return done.error();
  return std::string(out.c_str()) + "\n";
}

}  // namespace tangram::cli
