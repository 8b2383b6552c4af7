#include "base/json.hpp"
#include "node/kubelet/allocate_response.hpp"
#include "node/vendor/nvidia/cdi.hpp"
#include "tests/fuzz/fuzzing.hpp"
#include "tests/testing/temp_folder.hpp"

#include <filesystem>

namespace {

using namespace tangram;
using fuzz::require;

/// A folder with one spec, which lies in memory.
class SpecFolder {
 public:
  explicit SpecFolder(const std::string& name) {
    std::filesystem::create_symlink(spec_.path(), folder_.path() + "/" + name);
  }
  [[nodiscard]] Result<node::CdiEdits> draw(std::string_view spec) const {
    spec_.replace(spec);
    return node::nvidia::cdi_edits({folder_.path()}, {"GPU-a"});
  }

 private:
  fuzz::MemoryFile spec_;
  testing::TempFolder folder_;
};

/// The device by our own spec, as NVIDIA would have written it: says the same.
void check(const SpecFolder& folder, const node::CdiEdits& drawn) {
  std::string text = node::encode_cdi_spec("GPU-a", {}, drawn);
  const auto kind = text.find(node::kCdiKind);
  require(kind != std::string::npos);
  text.replace(kind, node::kCdiKind.size(), "nvidia.com/gpu");
  const auto again = folder.draw(text);
  require(again.has_value());
  node::CdiEdits expected = drawn;
  expected.lists["env"];
  expected.lists["mounts"];
  require(again->lists == expected.lists);
}

}  // namespace

/// Any text as NVIDIA's CDI spec, in YAML or JSON: is refused, or comes through our own spec whole.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const SpecFolder yaml("nvidia.yaml");
  static const SpecFolder json("nvidia.json");
  for (const SpecFolder* folder : {&yaml, &json}) {
    const auto drawn = folder->draw(fuzz::text_of(data, size));
    if (drawn && !drawn->lists.empty()) check(json, *drawn);
  }
  return 0;
}
