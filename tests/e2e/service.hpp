#pragma once

#include "kube/api.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace tangram::e2e {

/// The Service of deploy/scheduler/service.yaml, as kube-proxy implements it. A new connection goes
/// to the pod that has the label tangram.dev/role: leader at that moment. An open connection stays
/// with its pod until one end closes it. Threads: its own, two for each connection.
class LeaderService {
 public:
  /// @param ports  of the replicas, by pod name
  LeaderService(kube::KubeApi& api, std::map<std::string, int> ports);
  ~LeaderService();
  LeaderService(const LeaderService&) = delete;
  LeaderService& operator=(const LeaderService&) = delete;

  [[nodiscard]] std::string url() const;
  /// The pod that has the label now; "" if no pod has it.
  [[nodiscard]] std::string leader();

 private:
  using Socket = boost::asio::ip::tcp::socket;
  void accept();
  void carry(const std::shared_ptr<Socket>& client);

  kube::KubeApi& api_;
  const std::map<std::string, int> ports_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::mutex mutex_;
  bool closing_ = false;
  std::list<std::weak_ptr<Socket>> open_;
  std::list<std::jthread> carriers_;
  std::jthread acceptor_thread_;
};

}  // namespace tangram::e2e
