// A program that uses CUDA's driver interface as the CUDA runtime does: it loads libcuda.so.1, asks
// for cuGetProcAddress by itself, and for everything else through the returned pointer. It carries
// out the commands on its stdin, one on each line, and answers each with a line: the CUresult, then
// what the call returned.
//
//   cuda_client HOW    how it is loaded: plain, global, next, by-name, deepbind, unversioned,
//                      namespace, constructor, without-files, or the library's path
#include "tests/shim/cuda_client_calls.hpp"
#include "tests/shim/threads.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>

using namespace tangram::shim;        // NOLINT(google-build-using-namespace): this is its client
using namespace tangram::shim::cuda;  // NOLINT(google-build-using-namespace): C's types

namespace {

/// How many files the process can have, while it lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t files) {
    (void)getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{files, before_.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~FileLimit() { (void)setrlimit(RLIMIT_NOFILE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

void* load(const std::string& how) {
  if (how.starts_with('/')) return dlopen(how.c_str(), RTLD_NOW);
  if (how == "deepbind") return dlopen("libcuda.so.1", RTLD_NOW | RTLD_DEEPBIND);
  if (how == "unversioned") return dlopen("libcuda.so", RTLD_NOW);
  if (how == "global" || how == "next") return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (how == "namespace") return dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (how == "without-files") {  // at first
    const auto init = reinterpret_cast<CUresult (*)(unsigned)>(dlsym(library, "cuInit"));
    const FileLimit none(0);
    if (init(0) == CUDA_SUCCESS) return nullptr;
  }
  if (how == "constructor") {
    (void)alarm(20);  // rather than to wait for ever
    // Once before, so that the driver need not wait for the loader then.
    void* function = nullptr;
    int status = 0;
    void* const driver = dlopen("tangram/driver/libcuda.so.1", RTLD_NOW);
    (void)lookup_of(driver)("cuMemAlloc", &function, 12000, 0, &status);
    (void)lookup_of(library)("", &function, 0, 0, &status);
    if (dlopen(TANGRAM_RESOLVING_CONSTRUCTOR, RTLD_NOW) == nullptr) return nullptr;
  }
  return library;
}

/// A function as programs find it that know nothing of cuGetProcAddress: by its name, in a new
/// version.
CUresult look_up_by_name(const char* name, void** function, int /*version*/,
                         std::uint64_t /*flags*/, int* status) {
  static void* const kLibrary = dlopen("libcuda.so.1", RTLD_NOW);
  *function = nullptr;
  for (const char* const suffix : {"_v3", "_v2", ""}) {
    if (*function == nullptr) *function = dlsym(kLibrary, (std::string(name) + suffix).c_str());
  }
  *status = *function == nullptr ? 1 : 0;
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

/// As the runtime does: the pointer for version 12.0 gives all the others.
void resolve(void* library, const std::string& how) {
  if (how == "by-name") {
    functions().lookup = look_up_by_name;
    return;
  }
  Lookup lookup = lookup_of(library);
  if (how == "global") lookup = lookup_of(RTLD_DEFAULT);
  // The second lookup must find what the first has found.
  if (how == "next" && lookup_of(RTLD_NEXT) != nullptr) lookup = lookup_of(RTLD_NEXT);
  void* newest = nullptr;
  int status = -1;
  // As the runtime does first: a driver says that it knows no such function.
  const CUresult nothing = lookup("", &newest, 0, 0, &status);
  const CUresult found = lookup("cuGetProcAddress", &newest, 12000, 0, &status);
  if (nothing != CUDA_SUCCESS || found != CUDA_SUCCESS || status != 0) {
    std::cerr << "cuGetProcAddress is not found: " << nothing << ' ' << found << '\n';
    _exit(3);
  }
  functions().lookup = reinterpret_cast<Lookup>(newest);
}

Answer once(const char* name, const Numbers& in) { return calls().find(name)->second(in); }

/// As daemons do when they start.
Answer close_files(const Numbers&) {
  constexpr int kMostFiles = 1024;
  for (int fd = 3; fd < kMostFiles; ++fd) (void)close(fd);
  return {};
}

Answer execute(const std::string& line);

/// The command in a child: the rest of the line after "fork ".
Answer in_child(const std::string& command) {
  const pid_t child = fork();
  if (child == 0) _exit(execute(command).result);
  int status = 0;
  (void)waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, {}};
}

/// The command in a child that has its own account, and then looks at what is free: its exit status
/// in units of 10 MiB.
Answer in_child_with_info(const std::string& command) {
  const pid_t child = fork();
  if (child == 0) {
    (void)execute("info");
    (void)execute(command);
    _exit(static_cast<int>(execute("info").values.at(0) / (10U << 20U)));
  }
  int status = 0;
  (void)waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, {}};
}

/// A command with functions of another version: "VERSION FLAGS COMMAND".
Answer as_version(const std::string& text) {
  std::istringstream words(text);
  std::string command;
  words >> functions().version >> functions().flags >> std::ws;
  std::getline(words, command);
  Answer answer = execute(command);
  functions() = {.lookup = functions().lookup};
  return answer;
}

/// From now on functions of the driver's own version: a real one may not know of newer ones.
Answer as_driver(const Numbers&) {
  functions().version = 12000;
  int version = 0;
  const CUresult result = call("cuDriverGetVersion", &version);
  if (result == CUDA_SUCCESS) functions().version = version;
  return {result, {static_cast<Number>(version)}};
}

/// The commands that have been begun aside.
std::vector<tangram::shim::Aside> asides;

/// Begins a command in another thread, with the same context, and returns when that thread waits or
/// is done.
Answer aside(const std::string& command) {
  CUcontext context = nullptr;
  (void)call("cuCtxGetCurrent", &context);
  asides.emplace_back([command, context] {
    (void)call("cuCtxSetCurrent", context);
    (void)execute(command);
  });
  asides.back().wait_until_it_waits();
  return {};
}

Answer join(const Numbers&) {
  for (auto& each : asides) each.join();
  asides.clear();
  return {};
}

/// The command in another thread, which has no context.
Answer elsewhere(const std::string& command) {
  Answer answer;
  std::thread([&] { answer = execute(command); }).join();
  return answer;
}

/// The command when no file can be opened.
Answer without_files(const std::string& command) {
  const FileLimit none(0);
  return execute(command);
}

/// The command in a thread that is to be cancelled as soon as it can be.
Answer cancelled(const std::string& command) {
  (void)alarm(20);  // rather than to wait for ever
  pthread_t thread{};
  const auto work = [](void* of) -> void* {
    (void)pthread_cancel(pthread_self());
    (void)execute(*static_cast<const std::string*>(of));
    return nullptr;
  };
  (void)pthread_create(&thread, nullptr, work, const_cast<std::string*>(&command));
  return {pthread_join(thread, nullptr), {}};
}

/// Memory at an address, whose handle is released already.
/// @returns what ends it, or nothing if it was refused
std::function<void()> mapped(Number bytes) {
  const Answer made = once("create", {bytes, kLocationDevice, 0});
  if (made.result != CUDA_SUCCESS) return {};
  const Number address = once("reserve", {bytes}).values.at(0);
  const Number handle = made.values.at(0);
  (void)once("map", {address, bytes, handle});
  (void)call("cuMemRelease", handle);
  return [address, bytes] { (void)call("cuMemUnmap", address, static_cast<std::size_t>(bytes)); };
}

/// Memory of one of five kinds.
/// @returns what frees it, or nothing if it was refused
std::function<void()> allocated(Number kind, Number bytes) {
  if (kind == 4) return mapped(bytes);
  const char* const free_call = kind == 0   ? "cuArrayDestroy"
                                : kind == 1 ? "cuMemRelease"
                                            : "cuMemFree";
  const Answer made = kind == 0   ? once("array", {bytes / 4096 + 1, 1024, 0, 0})
                      : kind == 1 ? once("create", {bytes, kLocationDevice, 0})
                      : kind == 2 ? once("alloc-async", {bytes})
                                  : once("alloc", {bytes});
  if (made.result != CUDA_SUCCESS) return {};
  return [free_call, handle = made.values.at(0)] { (void)call(free_call, handle); };
}

/// Allocates and frees at random for ever; ended by a signal.
Answer churn(const Numbers& in) {
  std::mt19937_64 random(in.at(0));
  std::vector<std::function<void()>> frees;
  Number refused = 0;
  for (Number step = 0; in.size() < 3 || step < in.at(2); ++step) {
    const Number bytes = 1 + random() % in.at(1);
    if (!frees.empty() && random() % 2 == 0) {
      std::swap(frees[random() % frees.size()], frees.back());
      frees.back()();
      frees.pop_back();
    } else if (auto free = allocated(random() % 5, bytes)) {
      frees.push_back(std::move(free));
    } else {
      ++refused;
    }
  }
  for (const auto& free : frees) free();
  return {CUDA_SUCCESS, {refused}};
}

/// What a child does with each of the stand-in's locks.
int use_all_locks() {
  (void)alarm(20);  // rather than to wait for ever
  (void)call("cuMemUnmap", Number{4096}, std::size_t{4096});
  (void)once("primary", {0});
  (void)call("cuDeviceGraphMemTrim", CUdevice{0});
  return once("info", {}).result;
}

/// Eight threads allocate and free at random, while children begin and end.
/// @returns also how many children failed
Answer threads(const Numbers& in) {
  CUcontext context = nullptr;
  (void)call("cuCtxGetCurrent", &context);
  std::vector<std::thread> all;
  for (Number i = 0; i < 8; ++i) {
    all.emplace_back([&, i] {
      (void)call("cuCtxSetCurrent", context);
      (void)churn({in.at(0) + i, in.at(1), in.at(2)});
    });
  }
  Number failed = 0;
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(use_all_locks());
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (status != 0) ++failed;
  }
  for (auto& thread : all) thread.join();
  return {CUDA_SUCCESS, {failed}};
}

const Commands kCommands{
    {"join", join},           {"churn", churn}, {"threads", threads}, {"close-files", close_files},
    {"as-driver", as_driver},
};

/// Those whose rest is a command itself.
const std::map<std::string, Answer (*)(const std::string&), std::less<>> kOuterCommands{
    {"fork", in_child},       {"fork-info", in_child_with_info}, {"as", as_version},
    {"aside", aside},         {"without-files", without_files},  {"cancelled", cancelled},
    {"elsewhere", elsewhere},
};

Answer execute(const std::string& line) {
  std::istringstream words(line);
  std::string name;
  words >> name;
  if (const auto outer = kOuterCommands.find(name); outer != kOuterCommands.end()) {
    return outer->second(line.substr(name.size() + 1));
  }
  Numbers numbers;
  for (Number number = 0; words >> number;) numbers.push_back(number);
  for (const Commands* const commands : {&calls(), &launches(), &lookups(), &kCommands}) {
    if (const auto found = commands->find(name); found != commands->end()) {
      return found->second(numbers);
    }
  }
  return {-1, {}};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "plain";
  void* const library = load(how);
  if (library == nullptr) {
    std::cerr << dlerror() << '\n';
    return 2;
  }
  resolve(library, how);
  for (std::string line; std::getline(std::cin, line);) {
    const Answer answer = execute(line);
    std::cout << answer.result;
    for (const Number value : answer.values) std::cout << ' ' << value;
    std::cout << std::endl;  // the test waits for it
  }
  return 0;
}
