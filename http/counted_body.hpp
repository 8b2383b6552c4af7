#pragma once

#include "http/body_budget.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional/optional.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// Bodies that are counted while they arrive. Internal to the server.
namespace tangram::http {

/// How the parser says that the budget is spent.
[[nodiscard]] inline boost::system::error_code no_room_for_body() {
  return make_error_code(boost::system::errc::not_enough_memory);
}

/// A body, as the parser's library wants it, that counts what has arrived. What a client merely
/// announces costs nothing, in the budget or in memory; a text that grows takes up to twice its
/// size for a moment.
struct CountedBody {
  struct value_type {  // NOLINT(readability-identifier-naming): the library's name for it
    std::string text;
    BodyShare share;
  };

  static std::uint64_t size(const value_type& body) { return body.text.size(); }

  class reader {  // NOLINT(readability-identifier-naming): the same
   public:
    template <bool IsRequest, class Fields>
    reader(boost::beast::http::header<IsRequest, Fields>& /*head*/, value_type& body)
        : body_(body) {}

    void init(const boost::optional<std::uint64_t>& /*length*/, boost::system::error_code& error) {
      error = {};
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      const std::size_t count = boost::beast::buffer_bytes(buffers);
      if (!body_.share.grow(count)) {
        error = no_room_for_body();
        return 0;
      }
      error = {};
      for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.text.append(static_cast<const char*>(buffer.data()), buffer.size());
      }
      return count;
    }
    static void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace tangram::http
