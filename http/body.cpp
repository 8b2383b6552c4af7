#include "http/body.hpp"

#define ZLIB_CONST  // next_in is const: we do not let zlib write into the text
#include <zlib.h>

#include <array>
#include <limits>
#include <new>
#include <utility>

namespace tangram::http {

/// Compresses a text piece by piece into one gzip stream.
/// Fast before small: a metrics page shrinks some ten times either way, and an io
/// thread does the work. Throws std::bad_alloc; there is no other error.
class GzipEncoder {
 public:
  GzipEncoder() {
    constexpr int kGzipWindow = 15 + 16;  // the largest window, plus 16 for a gzip header
    constexpr int kMemLevel = 8;          // zlib's own default
    if (deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();  // the arguments are right, so only memory can be missing
    }
  }
  ~GzipEncoder() { deflateEnd(&stream_); }
  GzipEncoder(const GzipEncoder&) = delete;
  GzipEncoder& operator=(const GzipEncoder&) = delete;

  /// Appends what is ready to `out`; may be nothing yet.
  void add(std::string_view text, std::string& out) {
    constexpr std::size_t kLargestInput = std::numeric_limits<uInt>::max();
    while (!text.empty()) {
      const std::string_view part = text.substr(0, kLargestInput);
      stream_.next_in = reinterpret_cast<const Bytef*>(part.data());
      stream_.avail_in = static_cast<uInt>(part.size());
      run(Z_NO_FLUSH, out);
      text.remove_prefix(part.size());
    }
  }

  /// Appends the rest. Nothing may be added after it.
  void finish(std::string& out) {
    stream_.avail_in = 0;
    run(Z_FINISH, out);
  }

 private:
  /// Runs zlib until it has taken all input and, with Z_FINISH, given all output.
  void run(int flush, std::string& out) {
    std::array<char, 16'384> buffer{};
    int state = Z_OK;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = static_cast<uInt>(buffer.size());
      state = deflate(&stream_, flush);
      out.append(buffer.data(), buffer.size() - stream_.avail_out);
    } while (stream_.avail_out == 0 && state == Z_OK);
  }

  z_stream stream_{};
};

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

BodyPieces::~BodyPieces() = default;

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
