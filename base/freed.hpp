#pragma once

namespace tangram {

/// The deleter of a std::unique_ptr to an object of a C library: `Free` is the library's function.
template <auto Free>
struct Freed {
  template <class Object>
  void operator()(Object* object) const {
    Free(object);
  }
};

}  // namespace tangram
