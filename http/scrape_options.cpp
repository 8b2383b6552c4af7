#include "http/scrape_options.hpp"

namespace tangram::http {
namespace {

/// Two probes and a few scrapers, each with a connection or two.
constexpr std::size_t kConnections = 64;
constexpr std::size_t kThreads = 2;  // a scrape of every card leaves one for the probes
/// Nothing here takes a body, but a page of metrics is one on its way out.
constexpr std::size_t kBody = std::size_t{64} << 10;
constexpr std::size_t kMemory = std::size_t{32} << 20;
/// Of one address, with TLS: two probes and a few scrapers behind it.
constexpr int kConnects = 5;
constexpr int kConnectsBurst = 50;
/// Probes and scrapes come every few seconds or open a connection anew; none needs minutes.
constexpr std::chrono::milliseconds kIdle{30'000};
constexpr std::chrono::milliseconds kRequest{10'000};
/// Answers take milliseconds.
constexpr std::chrono::milliseconds kDrain{2'000};

}  // namespace

Options scrape_options(bool tls) {
  Options options;
  options.threads = kThreads;
  options.max_body_bytes = kBody;
  options.max_connections = kConnections;
  options.max_bodies_bytes = kMemory;
  options.idle_timeout = kIdle;
  options.request_timeout = kRequest;
  options.drain_timeout = kDrain;
  if (tls) {
    options.connects_per_second = kConnects;
    options.connects_burst = kConnectsBurst;
  }
  return options;
}

}  // namespace tangram::http
