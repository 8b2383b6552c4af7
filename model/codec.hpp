#pragma once

#include "base/json.hpp"

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

/// What the annotation codecs of this folder share: reads with limits. All of them leave the
/// reader failed on bad input, as the reader's own calls do.
namespace tangram::model::codec {

/// No name, UID or UUID of Kubernetes or a vendor is longer: a DNS subdomain's limit.
inline constexpr std::size_t kMaxName = 253;
/// 2^40 MiB is a million times the largest card, and 1000 times it still fits 64 bits.
inline constexpr std::int64_t kMaxMebibytes = std::int64_t{1} << 40U;
inline constexpr std::int64_t kMilliPerCard = 1000;

/// A text of at most `most` characters; may be empty.
[[nodiscard]] std::string text(json::Reader& in, std::size_t most = kMaxName);
/// A text of 1..kMaxName characters.
[[nodiscard]] std::string name(json::Reader& in);
/// A whole number of that range.
[[nodiscard]] std::int64_t number(json::Reader& in, std::int64_t least, std::int64_t most);
/// Reads "version" and fails unless it is the one version that is known.
void version(json::Reader& in, std::int64_t known);

/// The members that an object had.
class Members {
 public:
  void add(std::string_view key) { seen_.push_back(key); }
  /// Fails, naming it, on the first member that the object should have had.
  void require(json::Reader& in, std::initializer_list<std::string_view> keys) const;

 private:
  boost::container::small_vector<std::string_view, 16> seen_;
};

}  // namespace tangram::model::codec
