#include "base/json.hpp"
#include "base/rapidjson.hpp"

#include <cmath>

namespace tangram::json {

namespace {

/// The output stream that RapidJSON's writer asks for, over a caller's string.
struct StringSink {
  using Ch = char;
  std::string* out;
  // NOLINTBEGIN(readability-identifier-naming): the names that RapidJSON calls
  void Put(char c) const { out->push_back(c); }
  void Flush() const {}
  // NOLINTEND(readability-identifier-naming)
};

}  // namespace

struct Writer::Impl {
  explicit Impl(std::string& text) : out(&text), sink{&text}, writer(sink) {}

  std::string* out;
  StringSink sink;
  rapidjson::Writer<StringSink> writer;
};

namespace {

rapidjson::SizeType length(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

/// RapidJSON asserts on a null pointer, which an empty view may hold.
const char* pointer(std::string_view text) { return text.data() != nullptr ? text.data() : ""; }

}  // namespace

Writer::Writer(std::string& out) : impl_(std::make_unique<Impl>(out)) {}
Writer::~Writer() = default;

Writer& Writer::begin_object() {
  impl_->writer.StartObject();
  return *this;
}
Writer& Writer::end_object() {
  impl_->writer.EndObject();
  return *this;
}
Writer& Writer::begin_array() {
  impl_->writer.StartArray();
  return *this;
}
Writer& Writer::end_array() {
  impl_->writer.EndArray();
  return *this;
}
Writer& Writer::key(std::string_view name) {
  impl_->writer.Key(pointer(name), length(name));
  return *this;
}
Writer& Writer::string(std::string_view value) {
  impl_->writer.String(pointer(value), length(value));
  return *this;
}
Writer& Writer::integer(std::int64_t value) {
  impl_->writer.Int64(value);
  return *this;
}
Writer& Writer::number(double value) {
  if (!std::isfinite(value)) return null();  // JSON has no other way to say "no number"
  impl_->writer.Double(value);
  return *this;
}
Writer& Writer::boolean(bool value) {
  impl_->writer.Bool(value);
  return *this;
}
Writer& Writer::null() {
  impl_->writer.Null();
  return *this;
}
Writer& Writer::raw(std::string_view json) {
  impl_->writer.RawValue(json.data(), json.size(), rapidjson::kObjectType);
  return *this;
}

}  // namespace tangram::json
