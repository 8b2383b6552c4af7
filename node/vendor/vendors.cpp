#include "node/vendor/vendors.hpp"

#include "node/vendor/amd/amd.hpp"
#include "node/vendor/nvidia/nvidia.hpp"

namespace tangram::node {

std::vector<std::shared_ptr<Vendor>> make_vendors() {
  return {std::make_shared<nvidia::Nvidia>(), std::make_shared<amd::Amd>()};
}

}  // namespace tangram::node
