#include "kube/client.hpp"
#include "kube/reflector.hpp"
#include "node/name_path.hpp"
#include "node/publish/own_node.hpp"
#include "tests/fuzz/fuzzing.hpp"
#include "tests/testing/manual_clock.hpp"

#include <fuzzer/FuzzedDataProvider.h>
#include <spdlog/spdlog.h>

#include <array>

namespace {

using namespace tangram;
using fuzz::require;

/// Answers what the input says, until there is no more of it.
class HostileServer final : public kube::KubeApi {
 public:
  HostileServer(const std::uint8_t* data, std::size_t size) : input_(data, size) {}

  std::stop_source end;

  Result<kube::Response> call(const kube::Request& /*request*/) override { return answer(); }

  Result<kube::Response> watch(const kube::Request& /*request*/, const kube::WatchFrame& frame,
                               std::stop_token stop) override {
    auto wanted = true;
    while (wanted && !stop.stop_requested() && input_.remaining_bytes() > 0 &&
           input_.ConsumeBool()) {
      wanted = frame(line());
    }
    return answer();
  }

 private:
  std::string line() { return input_.ConsumeRandomLengthString(); }

  Result<kube::Response> answer() {
    if (input_.remaining_bytes() == 0) end.request_stop();
    constexpr std::array kStatuses{200, 201, 400, 404, 409, 410, 422, 429, 500};
    const int status = input_.PickValueInArray(kStatuses);
    if (input_.ConsumeBool()) return kube::Response{status, line(), std::chrono::seconds(1)};
    if (status == 500) return fail(Errc::kTimeout, "no answer");
    return kube::Response{status, line(), {}};
  }

  FuzzedDataProvider input_;
};

/// What every sink relies on.
class CheckingSink final : public kube::ObjectSink {
 public:
  void begin_list() override { listing_ = true; }
  void listed(std::string_view object) override { require(listing_ && !object.empty()); }
  void unlisted(std::string_view object) override { require(listing_ && !object.empty()); }
  void end_list() override {
    require(listing_);
    listing_ = false;
    listed_ = true;
  }
  [[nodiscard]] std::size_t kept_bytes() const override { return 0; }
  void change(kube::EventType /*type*/, std::string_view object) override {
    require(listed_ && !listing_ && !object.empty());
  }

 private:
  bool listing_ = false;
  bool listed_ = false;
};

}  // namespace

/// Any answers: every request ends with a result, and a reflector goes on to its end and tells of
/// changes only behind a list.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  spdlog::set_level(spdlog::level::off);
  HostileServer server(data, size);
  const std::chrono::milliseconds limit(1);
  static_cast<void>(kube::bind_pod(server, {"ns", "pod", "uid", "node", {}}, limit));
  static_cast<void>(kube::evict_pod(server, {"ns", "pod", "uid"}, limit));
  if (const auto pod = kube::read_pod(server, "ns", "pod", limit)) require(!pod->uid.empty());
  if (const auto own = node::read_own_node(server, "node", limit)) {
    require(!own->uid.empty());
    constexpr node::VendorRuntime kVendor{
        .variable = "ACME_DEVICES", .no_card = "none", .setup = ""};
    static_cast<void>(node::choose_name_path(own->software, kVendor));
  }
  const testing::ManualClock clock;
  CheckingSink sink;
  kube::Reflector reflector(server, {.path = "/api/v1/pods", .field_selector = ""}, sink, clock,
                            [](std::chrono::milliseconds, const std::stop_token&) {});
  reflector.run(server.end.get_token());
  return 0;
}
