#pragma once

#include "base/result.hpp"

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::kube {

/// A JSON object that can be changed: the working copy of the in-memory API server.
///
/// Members keep their order; new ones come last. Threads: one at a time.
class JsonDoc {
 public:
  using Path = std::initializer_list<std::string_view>;  ///< {"metadata", "name"}; not empty

  /// @returns kInvalidArgument if the text is not JSON (see json::Reader for its limits) or not
  ///          an object
  static Result<JsonDoc> parse(std::string_view text);
  JsonDoc(JsonDoc&&) noexcept;
  JsonDoc& operator=(JsonDoc&&) noexcept;
  ~JsonDoc();

  /// Sets a value; objects on the way are made, whatever else stands there is replaced.
  void set_string(Path path, std::string_view value);
  void set_integer(Path path, std::int64_t value);
  void erase(Path path);
  /// Makes a value what it is in `other`, also by erasing it.
  void copy_from(const JsonDoc& other, Path path);
  /// RFC 7386: members of `patch` replace ours, null erases, objects merge.
  void merge(const JsonDoc& patch);
  /// Puts `element` where the array at `path` has an object with the same string in `key`;
  /// at the end if there is none.
  void upsert(Path path, std::string_view key, const JsonDoc& element);
  /// Sets a value in every object of the array at `array`, as set_string() does.
  void set_string_in_each(Path array, Path path, std::string_view value);

  /// The same but for the order of members.
  [[nodiscard]] bool same_at(const JsonDoc& other, Path path) const;
  [[nodiscard]] std::string text() const;
  /// The text of one member. @returns nothing if it is not there
  [[nodiscard]] std::optional<std::string> text_at(Path path) const;

 private:
  struct Impl;
  explicit JsonDoc(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::kube
