// Clients that send what they should not, or too much, or that may not send anything.

#include "tests/node/launcher/running_launcher.hpp"
#include "tests/testing/eventually.hpp"

#include <filesystem>
#include <fstream>

namespace tangram::node::launcher {
namespace {

class LauncherLimitsTest : public ::testing::Test {
 protected:
  void expect_refusal(const Sent& sent, const std::string& words) {
    const std::string why = sent.refusal();
    EXPECT_NE(why.find(words), std::string::npos) << why;
    EXPECT_EQ(launcher_.send({"true"}).exit_code(), 0) << "it serves the next one";
  }
  static std::string good() { return encode(Request{{"true"}, {"PATH=/bin"}}).value(); }

  RunningLauncher launcher_;
};

TEST_F(LauncherLimitsTest, RefusesGarbage) {
  expect_refusal(launcher_.send_bytes("GET / HTTP/1.1\r\n\r\n"), "does not end with a zero byte");
  expect_refusal(launcher_.send_bytes(std::string(100, '\0')), "none of the protocol");
  expect_refusal(launcher_.send_bytes(std::string("tangram-launcher 2\0001\0true\0", 26)),
                 "of the same version");
}

TEST_F(LauncherLimitsTest, RefusesEveryTruncatedRequest) {
  const std::string whole = good();
  // The shortest that can be run has the command without its environment.
  const std::size_t runs = whole.find("PATH");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    if (size == runs) continue;
    const Sent sent = launcher_.send_bytes(whole.substr(0, size));
    EXPECT_NE(sent.refusal(), "it ended") << size << " bytes";
  }
  EXPECT_EQ(launcher_.send_bytes(whole).exit_code(), 0);
}

TEST_F(LauncherLimitsTest, TakesTheLargestRequestAndRefusesALargerOne) {
  std::string largest = good();
  largest.append(kMostRequestBytes - largest.size() - 1, 'x') += '\0';
  EXPECT_EQ(launcher_.send_bytes(largest).exit_code(), 0);
  expect_refusal(launcher_.send_bytes(largest + '\0'), "more than 131072 bytes");
}

TEST_F(LauncherLimitsTest, RefusesAnotherNumberOfFiles) {
  expect_refusal(launcher_.send_bytes(good(), 0), "has 0 files instead of 3");
  expect_refusal(launcher_.send_bytes(good(), 2), "has 2 files instead of 3");
}

TEST_F(LauncherLimitsTest, ForgetsAClientThatLeavesWithoutARequest) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(connect_to(launcher_.path()));
  EXPECT_EQ(launcher_.send({"true"}).exit_code(), 0);
}

TEST_F(LauncherLimitsTest, RefusesAClientOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  // As if somebody had opened the folder.
  namespace fs = std::filesystem;
  const std::string folder = fs::path(launcher_.folder()).parent_path();
  for (const std::string& path : {folder, launcher_.folder(), launcher_.path()}) {
    fs::permissions(path, fs::perms::all);
  }
  Pipe answer;
  Forked other([&] {
    constexpr uid_t kNobody = 65534;
    if (::setuid(kNobody) != 0) return 1;
    const auto socket = connect_to(launcher_.path());
    if (!socket) return 2;
    // Refused before it has sent anything.
    const auto received = receive_message(socket->get(), kMostReplyBytes);
    const auto reply = received ? decode_reply(received->bytes) : Result<Reply>(received.error());
    const auto* refused = reply ? std::get_if<Refused>(&*reply) : nullptr;
    const std::string why = refused == nullptr ? "not refused" : refused->why;
    return ::write(answer.in.get(), why.data(), why.size()) > 0 ? 0 : 3;
  });
  answer.in.reset();
  EXPECT_EQ(answer.rest(), "it runs commands only for its own user");
  EXPECT_EQ(other.wait(), 0);
  EXPECT_EQ(launcher_.send({"true"}).exit_code(), 0);
}

TEST(LauncherBoundsTest, RefusesMoreCommandsThanItsLimit) {
  constexpr std::size_t kMost = 3;
  ServerSettings settings;
  settings.most_commands = kMost;
  const RunningLauncher launcher(settings);
  std::vector<Sent> all;
  for (std::size_t i = 0; i < kMost; ++i) {
    all.push_back(launcher.shell("echo started; read line"));
    EXPECT_EQ(all.back().output.line(), "started");
  }
  EXPECT_EQ(launcher.send({"true"}).refusal(),
            "3 commands run already; try again when one has ended");
  all.front().input.in.reset();
  EXPECT_EQ(all.front().exit_code(), 1) << "read found no line";
  EXPECT_EQ(launcher.send({"true"}).exit_code(), 0);
}

TEST(LauncherBoundsTest, AKilledCommandCountsUntilItHasEnded) {
  ServerSettings settings;
  settings.most_commands = 1;
  const RunningLauncher launcher(settings);
  Sent sent = launcher.shell("echo started; exec sleep 1000");
  EXPECT_EQ(sent.output.line(), "started");
  sent.socket.reset();
  EXPECT_EQ(sent.output.rest(), "");
  // It has ended, and is reaped within moments.
  EXPECT_TRUE(testing::eventually([&] { return launcher.send({"true"}).refusal() == "it ended"; }));
}

TEST(LauncherBoundsTest, ClientsBeyondItsLimitWait) {
  ServerSettings settings;
  settings.most_clients = 2;
  const RunningLauncher launcher(settings);
  std::vector<Sent> all;
  for (int i = 0; i < 2; ++i) {
    all.push_back(launcher.shell("echo started; read line"));
    EXPECT_EQ(all.back().output.line(), "started");
  }
  const Sent waits = launcher.shell("echo started");
  pollfd answer{waits.socket.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&answer, 1, 0), 0);
  all.front().socket.reset();
  EXPECT_EQ(waits.exit_code(), 0);
}

TEST(LauncherBoundsTest, AClientThatSendsNothingIsRefused) {
  ServerSettings settings;
  settings.patience = std::chrono::milliseconds(1);
  const RunningLauncher launcher(settings);
  Sent silent;
  silent.socket = connect_to(launcher.path()).value();
  EXPECT_EQ(silent.refusal(), "no request has arrived in time");
}

TEST(LauncherSocketTest, RefusesAFolderThatOthersCanEnter) {
  const testing::TempFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const auto refused = Server::create({.socket = folder.path() + "/s"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/s"));
}

TEST(LauncherSocketTest, LeavesAFileAlone) {
  const testing::TempFolder folder;
  std::ofstream(folder.path() + "/s") << "mine";
  const auto refused = Server::create({.socket = folder.path() + "/s"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            folder.path() + "/s exists and is no socket; name another --socket, or remove it");
  EXPECT_EQ(std::filesystem::file_size(folder.path() + "/s"), 4U);
}

TEST(LauncherSocketTest, RefusesAPathThatIsTooLong) {
  const testing::TempFolder folder;
  for (const std::size_t length : {std::size_t{101}, std::size_t{200}}) {
    const std::string path = folder.path() + "/" + std::string(length, 'x');
    EXPECT_EQ(Server::create({.socket = path}).error().code, Errc::kInvalidArgument) << length;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tangram::node::launcher
