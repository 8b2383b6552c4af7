#include "model/amounts_codec.hpp"

#include "base/quote.hpp"

#include <string>

namespace tangram::model::codec {

namespace {

template <class Unit>
void check_limit(json::Reader& in, std::string_view uuid, std::string_view member, Unit amount,
                 Unit limit) {
  if (limit >= amount) return;
  in.fail("card " + quote(uuid) + ": " + std::string(member) + " is " + to_string(limit) +
          ", below the granted " + to_string(amount));
}

}  // namespace

void write_amounts(json::Writer& out, const CardAmounts& amounts) {
  out.member("memMiB", amounts.memory.count())
      .member("milli", amounts.compute.count())
      .member("memLimitMiB", amounts.memory_limit.count())
      .member("milliLimit", amounts.compute_limit.count());
}

void write(json::Writer& out, const CardAmounts& amounts) {
  out.begin_object();
  write_amounts(out, amounts);
  out.end_object();
}

CardAmounts amounts(json::Reader& in) {
  CardAmounts all;
  read_amounts(in, {"memMiB", "milli", "memLimitMiB", "milliLimit"}, all);
  return all;
}

void check_limits(json::Reader& in, std::string_view uuid, const CardAmounts& amounts) {
  check_limit(in, uuid, "memLimitMiB", amounts.memory, amounts.memory_limit);
  check_limit(in, uuid, "milliLimit", amounts.compute, amounts.compute_limit);
}

}  // namespace tangram::model::codec
