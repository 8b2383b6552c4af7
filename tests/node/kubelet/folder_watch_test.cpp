#include "node/kubelet/folder_watch.hpp"

#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace tangram::node {
namespace {

TEST(FolderWatchTest, SaysThatThereIsNoFolder) {
  const testing::TempFolder folder;
  const auto watch = FolderWatch::open(folder.path() + "/none");
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code, Errc::kNotFound);
  EXPECT_EQ(watch.error().message,
            "cannot watch " + folder.path() + "/none: No such file or directory");
}

TEST(FolderWatchTest, SaysWhatToRaiseIfTheNodeHasNoMoreWatches) {
  const auto says = [](int code, const std::string& what) {
    const Error error = folder_watch_error("/plugins", code);
    EXPECT_EQ(error.code, Errc::kUnavailable) << error.message;
    EXPECT_NE(error.message.find(what), std::string::npos) << error.message;
  };
  says(EMFILE, "raise fs.inotify.max_user_instances on the node");
  says(ENFILE, "raise fs.file-max on the node");
  says(ENOSPC, "raise fs.inotify.max_user_watches on the node");
  says(ENOMEM, "raise the agent's memory limit");
  says(EACCES, "cannot watch /plugins: Permission denied");
}

}  // namespace
}  // namespace tangram::node
