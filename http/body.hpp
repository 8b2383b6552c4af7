#pragma once

#include "http/types.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace tangram::http {

class GzipEncoder;

/// The whole of `text`, compressed.
[[nodiscard]] std::string gzip(std::string_view text);

/// The pieces of a produced body in the form in which they go out.
class BodyPieces {
 public:
  BodyPieces(BodyProducer producer, bool compressed);
  ~BodyPieces();
  BodyPieces(const BodyPieces&) = delete;
  BodyPieces& operator=(const BodyPieces&) = delete;

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
