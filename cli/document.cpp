#include "cli/document.hpp"

#include "base/json.hpp"
#include "base/rapidjson.hpp"

#include <boost/algorithm/string/case_conv.hpp>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

using json::Kind;

/// Reads the value with all that is in it, so that the reader sees keys that stand twice and
/// numbers that are too large.
void read_all(json::Reader& in) {
  if (in.kind() == Kind::kObject) return in.object([&](std::string_view) { read_all(in); });
  if (in.kind() == Kind::kArray) return in.array([&] { read_all(in); });
  if (in.kind() != Kind::kNumber) return in.skip();
  (void)in.scalar_text();
}

/// Four spaces, as kubectl. Numbers pass through as they are written.
struct Indenter : rapidjson::PrettyWriter<rapidjson::StringBuffer> {
  using PrettyWriter::PrettyWriter;
  bool RawNumber(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    return RawValue(text, length, rapidjson::kNumberType);
  }
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
  const std::string lower = boost::to_lower_copy(std::string(text));
  return safe && std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
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
  } else if (kind == Kind::kNumber) {
    out << in.scalar_text();
  } else if (kind == Kind::kBool) {
    out << in.boolean();
  } else {
    in.skip();
    out << YAML::Null;
  }
}

}  // namespace

void emit_string(YAML::Emitter& out, std::string_view text) {
  // The emitter itself leaves words of YAML 1.1 such as "No" unquoted, which kubectl reads as
  // false.
  if (!is_plain(text)) out << YAML::DoubleQuoted;
  out << std::string(text);
}

Result<std::string> indented(const std::string& json) {
  std::string copy = json;  // the reader changes it
  json::Reader check(copy);
  read_all(check);
  if (auto done = check.finish(); !done) return done.error();
  rapidjson::StringStream in(json.c_str());
  rapidjson::StringBuffer out;
  Indenter writer(out);
  rapidjson::Reader().Parse<rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag>(
      in, writer);
  return std::string(out.GetString(), out.GetSize()) + "\n";
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
