#include "tests/e2e/service.hpp"

#include "base/rapidjson.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <sys/socket.h>

#include <array>

namespace tangram::e2e {

namespace {

namespace net = boost::asio;
using net::ip::tcp;

/// Copies all bytes from one end to the other, and then closes the other for writing.
void copy(tcp::socket& from, tcp::socket& to) {
  std::array<char, 16'384> bytes{};
  boost::system::error_code error;
  for (;;) {
    const auto count = from.read_some(net::buffer(bytes), error);
    if (error) break;
    net::write(to, net::buffer(bytes.data(), count), error);
    if (error) break;
  }
  ::shutdown(to.native_handle(), SHUT_WR);
  ::shutdown(from.native_handle(), SHUT_RD);
}

}  // namespace

LeaderService::LeaderService(kube::KubeApi& api, std::map<std::string, int> ports)
    : api_(api),
      ports_(std::move(ports)),
      acceptor_(io_, {net::ip::address_v4::loopback(), 0}),
      acceptor_thread_([this] { accept(); }) {}

LeaderService::~LeaderService() {
  ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
  acceptor_thread_.join();
  const std::scoped_lock lock(mutex_);
  closing_ = true;
  for (const auto& socket : open_) {
    if (const auto still = socket.lock()) ::shutdown(still->native_handle(), SHUT_RDWR);
  }
}

std::string LeaderService::url() const {
  return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
}

std::string LeaderService::leader() {
  kube::Request request;
  request.path = "/api/v1/namespaces/tangram-system/pods";
  request.query = {{"labelSelector", "tangram.dev/role=leader"}};
  const auto answer = api_.call(request);
  if (!answer || answer->status != 200) return {};
  rapidjson::Document list;
  list.Parse(answer->body.c_str());
  if (list.HasParseError() || list["items"].Empty()) return {};
  return list["items"][0]["metadata"]["name"].GetString();
}

void LeaderService::accept() {
  for (;;) {
    auto client = std::make_shared<Socket>(io_);
    boost::system::error_code error;
    acceptor_.accept(*client, error);
    if (error) return;
    const std::scoped_lock lock(mutex_);
    carriers_.emplace_back([this, client] { carry(client); });
  }
}

void LeaderService::carry(const std::shared_ptr<Socket>& client) {
  const auto found = ports_.find(leader());
  if (found == ports_.end()) return;  // the Service has no endpoint: the connection ends
  const auto backend = std::make_shared<Socket>(io_);
  boost::system::error_code error;
  backend->connect({net::ip::address_v4::loopback(), static_cast<std::uint16_t>(found->second)},
                   error);
  if (error) return;
  client->set_option(tcp::no_delay(true));
  backend->set_option(tcp::no_delay(true));
  {
    const std::scoped_lock lock(mutex_);
    if (closing_) return;
    open_.insert(open_.end(), {client, backend});
  }
  const std::jthread back([&] { copy(*backend, *client); });
  copy(*client, *backend);
}

}  // namespace tangram::e2e
