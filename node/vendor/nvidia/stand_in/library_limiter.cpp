#include "node/vendor/nvidia/stand_in/library_limiter.hpp"

#include "shim/pages.hpp"

namespace tangram::node::nvidia {

Result<ContainerEdits> LibraryLimiter::limit(std::string_view allocation,
                                             const std::vector<model::GrantedCard>& cards,
                                             CdiEdits& vendor) {
  auto with_libraries = with_stand_ins(vendor, stand_ins_);
  if (!with_libraries) return with_libraries.error();
  const auto paths = pages_.put(allocation, cards);
  if (!paths) return paths.error();
  vendor = std::move(*with_libraries);
  return ContainerEdits{
      .env = {},
      .mounts = {{paths->limits, std::string(shim::kLimitsPath), Access::kReadOnly},
                 {paths->usage, std::string(shim::kUsagePath), Access::kReadWrite}}};
}

Result<std::uint64_t> LibraryLimiter::in_use(std::string_view allocation, std::string_view card) {
  const auto counted = pages_.in_use(allocation, card);
  if (counted) return *counted;
  return fail(Errc::kNotFound, "the container has no page of card " + std::string(card));
}

}  // namespace tangram::node::nvidia
