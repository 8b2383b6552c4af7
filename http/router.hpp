#pragma once

#include "http/types.hpp"

#include <functional>
#include <map>
#include <string>

namespace tangram::http {

/// Hands a request to the handler of its exact path and method.
///
/// A path that is not there gets 404; a method that is not there gets 405, with
/// the ones that are in `Allow`. HEAD goes to the handler of GET.
/// Threads: add() all routes first; calls may then come from many threads.
class Router {
 public:
  /// A second handler for the same method and path is a programming mistake: std::logic_error.
  void add(std::string method, std::string path, Handler handler);

  /// Has the shape of an Handler.
  void operator()(Request request, Responder responder) const;

 private:
  using Methods = std::map<std::string, Handler, std::less<>>;

  std::map<std::string, Methods, std::less<>> paths_;
};

}  // namespace tangram::http
