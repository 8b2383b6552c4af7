#include "kube/rest/curl_line.hpp"

#include "base/freed.hpp"
#include "base/number.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <new>
#include <utility>

namespace tangram::kube {

namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// The API server closes connections that were idle for 90 s; one that is closed while a write is on
// its way leaves the write's outcome unknown, so they are not used near that age.
constexpr long kMaxIdleSeconds = 60;
// A server that does not take a connection by then is not there; the caller may try elsewhere.
constexpr long kConnectMillis = 10'000;
// Go's: a peer that has vanished is noticed after idle + 9 probes, by a watch too.
constexpr long kKeepAliveSeconds = 15;
// A page of a list is megabytes; libcurl's 16 KiB would be as many system calls more.
constexpr long kReadBuffer = 65'536;
// The loop looks after itself at least this often; everything urgent wakes it.
constexpr milliseconds kLongestPoll{1'000};
// Of idle lines: 32 binds at a time by default, two watches, leases and events.
constexpr std::size_t kMaxIdleLines = 64;

/// curl_global_init() is not to be called twice at the same time.
void init_curl_once() {
  static const CURLcode kResult = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (kResult != CURLE_OK) throw std::bad_alloc();
}

/// OpenSSL writes to sockets that the server has closed, and libcurl leaves SIGPIPE to the program
/// (CURLOPT_NOSIGNAL). It goes to the thread that writes, so it is held and dropped there.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

using List = std::unique_ptr<curl_slist, Freed<curl_slist_free_all>>;

void append(List& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)list.release();  // it is part of the longer one
  list.reset(longer);
}

}  // namespace

struct CurlLine::Impl {
  // The multi handle owns the connection, so the easy handle must go first.
  std::unique_ptr<CURLM, Freed<curl_multi_cleanup>> multi;
  std::unique_ptr<CURL, Freed<curl_easy_cleanup>> easy;
  CredentialsPtr credentials;  ///< set in `easy`
  std::array<char, CURL_ERROR_SIZE> error{};
  // Of one exchange.
  std::string arrived;
  int starts = 0;  ///< times a request was about to be sent
  bool may_repeat = false;

  Impl();
  void set_up(const HttpOrder& order);
  void set_credentials(const HttpOrder& order);
  void set_method(const HttpOrder& order);
  HttpEnd::Why drive(const HttpOrder& order, const BodyReceiver& receive,
                     const std::stop_token& stop, std::string& reason);
  bool pass_on(const BodyReceiver& receive);
  HttpEnd::Why result_of(std::string& reason);
  [[nodiscard]] long number(CURLINFO info) const;
  [[nodiscard]] std::optional<std::chrono::seconds> retry_after() const;

  template <class Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(easy.get(), option, value) == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  }

  static std::size_t on_bytes(const char* bytes, std::size_t /*one*/, std::size_t size,
                              void* impl) {
    static_cast<Impl*>(impl)->arrived.append(bytes, size);
    return size;
  }
  /// A connection is there, and the request about to be sent on it: for the first time, or again.
  static int before_request(void* impl, char* /*remote*/, char* /*local*/, int /*remote_port*/,
                            int /*local_port*/) {
    auto& self = *static_cast<Impl*>(impl);
    const bool again = self.starts++ > 0;
    const bool unsent = self.number(CURLINFO_REQUEST_SIZE) == 0;
    return again && !unsent && !self.may_repeat ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
  }
};

CurlLine::Impl::Impl() {
  init_curl_once();
  multi.reset(curl_multi_init());
  easy.reset(curl_easy_init());
  if (!multi || !easy) throw std::bad_alloc();
  curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, 1L);
  set(CURLOPT_ERRORBUFFER, error.data());
  set(CURLOPT_WRITEFUNCTION, &Impl::on_bytes);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_PREREQFUNCTION, &Impl::before_request);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  set(CURLOPT_NOSIGNAL, 1L);
  // Do not wait for a name server that does not answer when the time is up.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");  // none, whatever the environment sets
  // One exchange at a time per connection: a lost packet, or a server that drains, then concerns
  // one request and not all of them, as it would with HTTP/2.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
  set(CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
  set(CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
  set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMillis);
  set(CURLOPT_BUFFERSIZE, kReadBuffer);
  set(CURLOPT_PATH_AS_IS, 1L);  // segments come encoded
}

long CurlLine::Impl::number(CURLINFO info) const {
  long value = 0;
  curl_easy_getinfo(easy.get(), info, &value);
  return value;
}

/// Seconds alone: the other form, a date, would need clocks that agree.
std::optional<std::chrono::seconds> CurlLine::Impl::retry_after() const {
  curl_header* header = nullptr;
  if (curl_easy_header(easy.get(), "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) {
    return std::nullopt;
  }
  const auto seconds = parse_number<std::uint32_t>(header->value);
  if (!seconds) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

void CurlLine::Impl::set_credentials(const HttpOrder& order) {
  set(CURLOPT_SSL_VERIFYPEER, order.verify ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, order.verify ? 2L : 0L);
  if (credentials == order.credentials) return;
  const auto set_blob = [&](CURLoption option, const std::string& pem) {
    curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};
    set(option, pem.empty() ? nullptr : &blob);
  };
  set_blob(CURLOPT_CAINFO_BLOB, order.credentials->ca);
  set_blob(CURLOPT_SSLCERT_BLOB, order.credentials->client_certificate);
  set_blob(CURLOPT_SSLKEY_BLOB, order.credentials->client_key);
  credentials = order.credentials;
}

void CurlLine::Impl::set_method(const HttpOrder& order) {
  if (order.body.empty()) {
    set(CURLOPT_HTTPGET, 1L);
  } else {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(order.body.size()));
    set(CURLOPT_POSTFIELDS, order.body.data());
  }
  set(CURLOPT_CUSTOMREQUEST, std::string(to_string(order.method)).c_str());
}

void CurlLine::Impl::set_up(const HttpOrder& order) {
  arrived.clear();
  starts = 0;
  may_repeat = order.method == Method::kGet;
  error[0] = '\0';
  set(CURLOPT_URL, order.url.c_str());
  set(CURLOPT_ACCEPT_ENCODING, order.gzip ? "gzip" : nullptr);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::max(order.timeout, milliseconds(1)).count()));
  set_method(order);
  set_credentials(order);
}

/// @returns false if the receiver wants no more
bool CurlLine::Impl::pass_on(const BodyReceiver& receive) {
  if (arrived.empty()) return true;
  const bool more = receive(static_cast<int>(number(CURLINFO_RESPONSE_CODE)), arrived);
  arrived.clear();
  return more;
}

HttpEnd::Why CurlLine::Impl::result_of(std::string& reason) {
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(multi.get(), &left);
  if (message == nullptr) {
    reason = "no result";
    return HttpEnd::Why::kBroken;
  }
  if (message->data.result == CURLE_OK) return HttpEnd::Why::kAnswered;
  reason = error[0] != '\0' ? error.data() : curl_easy_strerror(message->data.result);
  if (message->data.result == CURLE_ABORTED_BY_CALLBACK) {
    reason = "the connection was closed after the request was sent";
  }
  return HttpEnd::Why::kBroken;
}

namespace {

/// How long nothing may arrive from now on; 0 or less: the server has been silent for too long.
milliseconds longest_wait(const HttpOrder& order, Steady::time_point last_arrival) {
  if (order.silence.count() <= 0) return kLongestPoll;
  const auto left = order.silence - (Steady::now() - last_arrival);
  return std::min(kLongestPoll, std::chrono::ceil<milliseconds>(left));
}

}  // namespace

HttpEnd::Why CurlLine::Impl::drive(const HttpOrder& order, const BodyReceiver& receive,
                                   const std::stop_token& stop, std::string& reason) {
  const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi.get()); });
  auto last_arrival = Steady::now();
  for (;;) {
    int running = 0;
    const CURLMcode performed = curl_multi_perform(multi.get(), &running);
    if (performed != CURLM_OK) {
      reason = curl_multi_strerror(performed);
      return HttpEnd::Why::kBroken;
    }
    const bool has_arrived = !arrived.empty();
    if (!pass_on(receive)) return HttpEnd::Why::kEnough;
    if (has_arrived)
      last_arrival = Steady::now();  // not before: the receiver may have taken its time
    if (running == 0) return result_of(reason);
    if (stop.stop_requested()) return HttpEnd::Why::kStopped;
    const milliseconds wait = longest_wait(order, last_arrival);
    if (wait.count() <= 0) {
      reason = "silent for " + std::to_string(order.silence.count()) + " ms";
      return HttpEnd::Why::kBroken;
    }
    curl_multi_poll(multi.get(), nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
}

CurlLine::CurlLine() : impl_(std::make_unique<Impl>()) {}
CurlLine::~CurlLine() = default;

HttpEnd CurlLine::run(const HttpOrder& order, const BodyReceiver& receive,
                      const std::stop_token& stop) {
  const NoBrokenPipe guard;
  impl_->set_up(order);
  List headers;
  for (const std::string& header : order.headers) append(headers, header);
  List connect_to;
  if (!order.connect_to.empty()) append(connect_to, "::" + order.connect_to);
  impl_->set(CURLOPT_HTTPHEADER, headers.get());
  impl_->set(CURLOPT_CONNECT_TO, connect_to.get());

  curl_multi_add_handle(impl_->multi.get(), impl_->easy.get());
  // Also when `receive` throws: a handle that is not removed cannot be used again.
  const auto remove = [this](CURL* easy) { curl_multi_remove_handle(impl_->multi.get(), easy); };
  const std::unique_ptr<CURL, decltype(remove)> added(impl_->easy.get(), remove);
  HttpEnd end;
  end.why = impl_->drive(order, receive, stop, end.reason);
  end.sent = impl_->starts > 0 && impl_->number(CURLINFO_REQUEST_SIZE) > 0;
  end.status = static_cast<int>(impl_->number(CURLINFO_RESPONSE_CODE));
  end.retry_after = impl_->retry_after();
  return end;
}

LinePool::Loan LinePool::lend() {
  std::unique_ptr<CurlLine> line;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      line = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!line) line = std::make_unique<CurlLine>();
  return {line.release(), TakeBack{this}};
}

void LinePool::take_back(std::unique_ptr<CurlLine> line) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdleLines) idle_.push_back(std::move(line));
}

Result<ServerUrl> parse_server_url(const std::string& text) {
  const std::unique_ptr<CURLU, Freed<curl_url_cleanup>> url(curl_url());
  // Not shown: there may be a password in it.
  const auto wrong = [](const std::string& what) {
    return fail(Errc::kInvalidArgument,
                "the server's address " + what + "; write one like https://10.0.0.1:6443");
  };
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) {
    return wrong("is no URL");
  }
  const auto part = [&](CURLUPart which) {
    char* value = nullptr;
    if (curl_url_get(url.get(), which, &value, CURLU_DEFAULT_PORT) != CURLUE_OK) {
      return std::string();
    }
    const std::unique_ptr<char, Freed<curl_free>> owner(value);
    return std::string(value);
  };
  for (const auto unwanted : {CURLUPART_USER, CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
    if (!part(unwanted).empty()) return wrong("has a user, a query or a fragment");
  }
  ServerUrl server{part(CURLUPART_SCHEME), part(CURLUPART_HOST), part(CURLUPART_PORT),
                   part(CURLUPART_PATH)};
  if (server.scheme != "https" && server.scheme != "http") return wrong("is not https");
  server.path.erase(server.path.find_last_not_of('/') + 1);
  return server;
}

}  // namespace tangram::kube
