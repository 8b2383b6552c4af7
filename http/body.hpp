#pragma once

#include "http/types.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace tangram::http {

/// Compresses a text piece by piece into one gzip stream.
/// Fast before small: a metrics page shrinks some ten times either way, and an io
/// thread does the work. Throws std::bad_alloc; there is no other error.
class GzipEncoder {
 public:
  GzipEncoder();
  ~GzipEncoder();
  GzipEncoder(GzipEncoder&&) noexcept;
  GzipEncoder& operator=(GzipEncoder&&) noexcept;

  /// Appends what is ready to `out`; may be nothing yet.
  void add(std::string_view text, std::string& out);
  /// Appends the rest. Nothing may be added after it.
  void finish(std::string& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The whole of `text`, compressed.
[[nodiscard]] std::string gzip(std::string_view text);

/// The pieces of a produced body in the form in which they go out.
class BodyPieces {
 public:
  BodyPieces(BodyProducer producer, bool compressed);

  /// Puts the next piece, never empty, into `piece`. @returns false at the end.
  /// Throws what the producer throws.
  bool next(std::string& piece);

 private:
  void compress(std::string& piece);

  BodyProducer producer_;
  std::unique_ptr<GzipEncoder> encoder_;  // null: sent as produced
  std::string plain_;                     // kept to reuse its memory
  bool more_ = true;
};

}  // namespace tangram::http
