#include "cli/document.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

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

/// Certainly a string to every reader of YAML 1.1 or 1.2.
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

std::string yaml_string(std::string_view text) {
  // A JSON string is a YAML string in double quotes.
  return is_plain(text) ? std::string(text) : json_string(text);
}

class YamlWriter {
 public:
  explicit YamlWriter(json::Reader& in) : in_(in) {}

  std::string document() {
    const std::string text = value(0);
    return text.starts_with('\n') ? text.substr(1) : text.substr(1) + "\n";
  }

 private:
  /// What stands behind "key:" or "-": a blank and a scalar, or lines of their own.
  std::string value(std::size_t depth) {
    if (in_.kind() == Kind::kString) return " " + yaml_string(in_.string());
    if (!is_nested(in_.kind())) return " " + json_scalar(in_);
    const bool object = in_.kind() == Kind::kObject;
    std::string lines;
    const auto begin_line = [&] {
      if (lines.empty()) lines = "\n";
      lines += std::string(depth, ' ');
    };
    if (object) {
      in_.object([&](std::string_view key) {
        begin_line();
        add(lines, yaml_string(key) + ":", value(depth + kStep));
      });
      return lines.empty() ? " {}" : lines;
    }
    in_.array([&] {
      begin_line();
      add_item(lines, value(depth + kStep), depth);
    });
    return lines.empty() ? " []" : lines;
  }

  static void add(std::string& lines, const std::string& name, const std::string& of) {
    lines += name + of;
    if (!of.starts_with('\n')) lines += "\n";
  }
  /// The first line of what is nested stands behind the dash.
  static void add_item(std::string& lines, const std::string& of, std::size_t depth) {
    if (!of.starts_with('\n')) return add(lines, "-", of);
    lines += "- " + of.substr(1 + depth + kStep);
  }

  static constexpr std::size_t kStep = 2;
  json::Reader& in_;
};

}  // namespace

Result<std::string> indented(std::string json) {
  json::Reader in(json);
  std::string text = Indenter(in).value(0);
  if (auto done = in.finish(); !done) return done.error();
  return text + "\n";
}

Result<std::string> to_yaml(std::string json) {
  json::Reader in(json);
  std::string text = YamlWriter(in).document();
  if (auto done = in.finish(); !done) return done.error();
  return text;
}

}  // namespace tangram::cli
