#include "tests/extender/admission/json_patch_applier.hpp"

#include "base/rapidjson.hpp"

#include <stdexcept>
#include <vector>

namespace tangram::testing {

namespace {

using rapidjson::Document;
using rapidjson::Value;

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error("JSON patch: " + what);
}

Document parsed(const std::string& text) {
  Document document;
  document.Parse(text.c_str());
  if (document.HasParseError()) refuse("no JSON: " + text);
  return document;
}

/// "~0" and "~1" are how "~" and "/" are written in a step (RFC 6901).
std::string unescaped(const std::string& step) {
  std::string plain;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      plain += step[i];
      continue;
    }
    const char escaped = ++i < step.size() ? step[i] : '?';
    if (escaped != '0' && escaped != '1') refuse("bad escape in " + step);
    plain += escaped == '0' ? '~' : '/';
  }
  return plain;
}

std::vector<std::string> steps_of(const std::string& path) {
  if (path.empty() || path.front() != '/') refuse("bad path " + path);
  std::vector<std::string> steps;
  for (std::size_t start = 1, end = 0; end != std::string::npos; start = end + 1) {
    end = path.find('/', start);
    steps.push_back(unescaped(path.substr(start, end - start)));
  }
  return steps;
}

rapidjson::SizeType index_of(const std::string& step, const Value& list) {
  const auto index = static_cast<rapidjson::SizeType>(std::stoul(step));
  if (std::to_string(index) != step || index >= list.Size()) refuse("no element " + step);
  return index;
}

Value& child(Value& parent, const std::string& step) {
  if (parent.IsArray()) return parent[index_of(step, parent)];
  if (!parent.IsObject() || !parent.HasMember(step.c_str())) refuse("no member " + step);
  return parent[step.c_str()];
}

void add(Value& parent, const std::string& step, const Value& value, Document& document) {
  auto& memory = document.GetAllocator();
  Value copy(value, memory);
  if (parent.IsArray()) {
    if (step != "-") refuse("elements are only appended here");
    parent.PushBack(copy, memory);
  } else if (!parent.IsObject()) {
    refuse("nothing can be added below what is no object: " + step);
  } else if (parent.HasMember(step.c_str())) {
    parent[step.c_str()] = copy;
  } else {
    parent.AddMember(Value(step.c_str(), memory), copy, memory);
  }
}

void apply(Document& document, const Value& operation) {
  auto steps = steps_of(operation["path"].GetString());
  const std::string last = steps.back();
  steps.pop_back();
  Value* parent = &document;
  for (const std::string& step : steps) parent = &child(*parent, step);
  const std::string what = operation["op"].GetString();
  if (what == "add") return add(*parent, last, operation["value"], document);
  if (what != "remove") refuse("unknown operation " + what);
  child(*parent, last);  // must be there
  if (parent->IsArray()) {
    parent->Erase(parent->Begin() + index_of(last, *parent));
  } else {
    parent->RemoveMember(last.c_str());
  }
}

}  // namespace

std::string apply_json_patch(const std::string& text, const std::string& patch) {
  Document document = parsed(text);
  const Document operations = parsed(patch);
  if (!operations.IsArray() || operations.Empty()) refuse("no list of operations: " + patch);
  for (const Value& operation : operations.GetArray()) apply(document, operation);
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer> writer(out);
  document.Accept(writer);
  return out.GetString();
}

}  // namespace tangram::testing
