#include "kube/json_doc.hpp"

#include "base/json.hpp"
#include "base/rapidjson.hpp"

#include <utility>

namespace tangram::kube {

namespace {

using Value = rapidjson::Value;
using Allocator = rapidjson::Document::AllocatorType;
using Path = JsonDoc::Path;

Value string_value(std::string_view text, Allocator& memory) {
  return {text.data(), static_cast<rapidjson::SizeType>(text.size()), memory};
}

Value::StringRefType reference(std::string_view text) {
  return {text.data(), static_cast<rapidjson::SizeType>(text.size())};
}

/// @returns null if there is no such member
const Value* find(const Value& object, std::string_view name) {
  if (!object.IsObject()) return nullptr;
  const Value key(reference(name));
  const auto member = object.FindMember(key);
  return member == object.MemberEnd() ? nullptr : &member->value;
}

Value* find(Value& object, std::string_view name) {
  return const_cast<Value*>(find(std::as_const(object), name));
}

const Value* find(const Value& root, Path path) {
  const Value* at = &root;
  for (const std::string_view part : path) {
    at = find(*at, part);
    if (at == nullptr) return nullptr;
  }
  return at;
}

/// The member of that name, made as null if need be.
Value& member_of(Value& object, std::string_view name, Allocator& memory) {
  if (!object.IsObject()) object.SetObject();
  if (Value* there = find(object, name)) return *there;
  object.AddMember(string_value(name, memory), Value(), memory);
  return (object.MemberEnd() - 1)->value;
}

Value& make(Value& root, Path path, Allocator& memory) {
  Value* at = &root;
  for (const std::string_view part : path) at = &member_of(*at, part, memory);
  return *at;
}

void erase_member(Value& object, std::string_view name) {
  if (find(std::as_const(object), name) == nullptr) return;
  const Value key(reference(name));
  object.EraseMember(object.FindMember(key));
}

std::string_view view(const Value& text) { return {text.GetString(), text.GetStringLength()}; }

/// As deep as the patch, which json::Reader::kMaxDepth bounds.
void merge_into(Value& target, const Value& patch, Allocator& memory) {
  if (!patch.IsObject()) {
    target.CopyFrom(patch, memory);
    return;
  }
  if (!target.IsObject()) target.SetObject();
  for (const auto& member : patch.GetObject()) {
    const std::string_view name = view(member.name);
    if (member.value.IsNull()) {
      erase_member(target, name);
    } else {
      merge_into(member_of(target, name, memory), member.value, memory);
    }
  }
}

std::string text_of(const Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

bool same_text(const Value* a, const Value* b) {
  return a != nullptr && b != nullptr && a->IsString() && b->IsString() && view(*a) == view(*b);
}

/// The tree is built without recursion, but is freed and written with it, and takes any UTF-8 and
/// any key twice. The reader refuses what does not belong into an API object.
Result<void> check(std::string_view text) {
  std::string copy(text);
  json::Reader in(copy);
  in.object([&](std::string_view /*key*/) { in.skip(); });
  return in.finish();
}

}  // namespace

struct JsonDoc::Impl {
  rapidjson::Document root;
  [[nodiscard]] Allocator& memory() { return root.GetAllocator(); }
};

JsonDoc::JsonDoc(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonDoc::JsonDoc(JsonDoc&&) noexcept = default;
JsonDoc& JsonDoc::operator=(JsonDoc&&) noexcept = default;
JsonDoc::~JsonDoc() = default;

Result<JsonDoc> JsonDoc::parse(std::string_view text) {
  if (auto checked = check(text); !checked) return checked.error();
  auto impl = std::make_unique<Impl>();
  impl->root.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (impl->root.HasParseError() || !impl->root.IsObject()) {
    return fail(Errc::kInvalidArgument, "expected an object");
  }
  return JsonDoc(std::move(impl));
}

void JsonDoc::set_string(Path path, std::string_view value) {
  make(impl_->root, path, impl_->memory()) = string_value(value, impl_->memory());
}

void JsonDoc::set_integer(Path path, std::int64_t value) {
  make(impl_->root, path, impl_->memory()).SetInt64(value);
}

void JsonDoc::erase(Path path) {
  Value* at = &impl_->root;
  const std::string_view* part = path.begin();
  for (; part + 1 != path.end() && at != nullptr; ++part) at = find(*at, *part);
  if (at != nullptr) erase_member(*at, *part);
}

void JsonDoc::copy_from(const JsonDoc& other, Path path) {
  const Value* from = find(other.impl_->root, path);
  if (from == nullptr) return erase(path);
  make(impl_->root, path, impl_->memory()).CopyFrom(*from, impl_->memory());
}

void JsonDoc::merge(const JsonDoc& patch) {
  merge_into(impl_->root, patch.impl_->root, impl_->memory());
}

void JsonDoc::upsert(Path path, std::string_view key, const JsonDoc& element) {
  Value& array = make(impl_->root, path, impl_->memory());
  if (!array.IsArray()) array.SetArray();
  const Value* wanted = find(element.impl_->root, key);
  for (Value& there : array.GetArray()) {
    if (same_text(find(std::as_const(there), key), wanted)) {
      there.CopyFrom(element.impl_->root, impl_->memory());
      return;
    }
  }
  array.PushBack(Value(element.impl_->root, impl_->memory()), impl_->memory());
}

void JsonDoc::set_string_in_each(Path array, Path path, std::string_view value) {
  Value& all = make(impl_->root, array, impl_->memory());
  if (!all.IsArray()) return;
  for (Value& each : all.GetArray()) {
    make(each, path, impl_->memory()) = string_value(value, impl_->memory());
  }
}

bool JsonDoc::same_at(const JsonDoc& other, Path path) const {
  const Value* ours = find(impl_->root, path);
  const Value* theirs = find(other.impl_->root, path);
  if (ours == nullptr || theirs == nullptr) return ours == theirs;
  return *ours == *theirs;
}

std::string JsonDoc::text() const { return text_of(impl_->root); }

std::optional<std::string> JsonDoc::text_at(Path path) const {
  const Value* value = find(impl_->root, path);
  if (value == nullptr) return std::nullopt;
  return text_of(*value);
}

}  // namespace tangram::kube
