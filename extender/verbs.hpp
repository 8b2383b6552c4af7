#pragma once

#include "extender/binder.hpp"
#include "extender/books.hpp"
#include "extender/decide.hpp"
#include "extender/offers.hpp"
#include "extender/policy_source.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

namespace tangram::extender {

/// One method per verb of the extender protocol: decode, take one snapshot, decide, encode.
///
/// Each takes the request's body and returns the body of a 200: a refusal travels in its Error
/// field, because kube-scheduler does not read the body of any other status. (prioritize has no
/// such field: its error is an empty list, which kube-scheduler takes as "no opinion".)
/// Threads: safe. bind blocks; the others only compute.
class Verbs {
 public:
  struct Parts {
    Books& books;
    const PolicySource& policies;
    Offers& offers;
    Binder& binder;
    /// True once the books hold what the API server has.
    std::function<bool()> synced;
  };
  Verbs(Parts parts, std::size_t short_list) : parts_(std::move(parts)), short_list_(short_list) {}

  [[nodiscard]] std::string filter(std::string body);
  [[nodiscard]] std::string prioritize(std::string body) const;
  [[nodiscard]] std::string preempt(std::string body) const;

  struct BindReply {
    std::string body;
    BindOutcome outcome;
  };
  [[nodiscard]] BindReply bind(std::string body);

 private:
  Parts parts_;
  std::size_t short_list_;
};

}  // namespace tangram::extender
