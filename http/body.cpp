#include "http/body.hpp"

#define ZLIB_CONST  // next_in is const: we do not let zlib write into the text
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

namespace tangram::http {

struct GzipEncoder::Impl {
  z_stream stream{};

  Impl() {
    constexpr int kGzipWindow = 15 + 16;  // the largest window, plus 16 for a gzip header
    constexpr int kMemLevel = 8;          // zlib's own default
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();  // the arguments are right, so only memory can be missing
    }
  }
  ~Impl() { deflateEnd(&stream); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Runs zlib until it has taken all input and, with Z_FINISH, given all output.
  void run(int flush, std::string& out) {
    std::array<char, 16'384> buffer{};
    int state = Z_OK;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      state = deflate(&stream, flush);
      out.append(buffer.data(), buffer.size() - stream.avail_out);
    } while (stream.avail_out == 0 && state == Z_OK);
  }
};

GzipEncoder::GzipEncoder() : impl_(std::make_unique<Impl>()) {}
GzipEncoder::~GzipEncoder() = default;
GzipEncoder::GzipEncoder(GzipEncoder&&) noexcept = default;
GzipEncoder& GzipEncoder::operator=(GzipEncoder&&) noexcept = default;

void GzipEncoder::add(std::string_view text, std::string& out) {
  constexpr std::size_t kLargestInput = std::numeric_limits<uInt>::max();
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kLargestInput);
    impl_->stream.next_in = reinterpret_cast<const Bytef*>(part.data());
    impl_->stream.avail_in = static_cast<uInt>(part.size());
    impl_->run(Z_NO_FLUSH, out);
    text.remove_prefix(part.size());
  }
}

void GzipEncoder::finish(std::string& out) {
  impl_->stream.avail_in = 0;
  impl_->run(Z_FINISH, out);
}

std::string gzip(std::string_view text) {
  std::string out;
  GzipEncoder encoder;
  encoder.add(text, out);
  encoder.finish(out);
  return out;
}

BodyPieces::BodyPieces(BodyProducer producer, bool compressed)
    : producer_(std::move(producer)),
      encoder_(compressed ? std::make_unique<GzipEncoder>() : nullptr) {}

bool BodyPieces::next(std::string& piece) {
  piece.clear();
  while (more_ && piece.empty()) {
    if (encoder_) {
      compress(piece);
    } else {
      more_ = producer_(piece);
    }
  }
  return !piece.empty();
}

void BodyPieces::compress(std::string& piece) {
  plain_.clear();
  more_ = producer_(plain_);
  encoder_->add(plain_, piece);
  if (!more_) encoder_->finish(piece);
}

}  // namespace tangram::http
