#include "base/quote.hpp"
#include "base/utf8.hpp"
#include "node/container/cdi_spec.hpp"
#include "node/container/processes.hpp"
#include "node/kubelet/allocate_response.hpp"
#include "node/publish/node_record.hpp"
#include "node/vendor/nvidia/nvml_inventory.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <algorithm>

namespace {

using namespace tangram;
using fuzz::require;

bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

void check_base(std::string_view text) {
  const std::string quoted = quote(text);
  require(std::all_of(quoted.begin(), quoted.end(), is_printable));
  require(quoted.size() <= kMaxQuoted + 5);  // quotes and "..."
  const std::string_view prefix = utf8_prefix(text, 8);
  require(prefix.size() <= 8 && text.starts_with(prefix));
}

void check_node(std::string_view text) {
  if (const auto number = node::slot_number(text)) require(*number >= 0);
  const auto [uid, container] = node::place_in_cgroup(text);
  require(uid.empty() || uid.size() == 32 || uid.size() == 36);
  require(container.empty() || (!uid.empty() && container.size() == 64));
  const std::string label = node::label_value(text);
  require(label.size() <= 63 && node::label_value(label) == label);
  static_cast<void>(node::nvidia::model_of(std::string(text)));
  for (const std::string& id : node::parse_card_names(text).ids) {
    require(!id.empty() && id.find(',') == std::string::npos);
  }
}

}  // namespace

/// The small readers: names, numbers and lists in texts of the kernel, the driver and people.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check_base(text);
  check_node(text);
  const std::string_view other = text.substr(std::min(text.find('\n'), text.size()));
  const std::string_view first = text.substr(0, text.size() - other.size());
  // Of two versions at most one is older.
  require(!node::older_version(first, other) || !node::older_version(other, first));
  require(!node::older_version(first, first));
  return 0;
}
