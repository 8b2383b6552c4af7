// A program that uses CUDA's driver interface as the CUDA runtime does: it loads libcuda.so.1, asks
// for cuGetProcAddress by itself, and for everything else through the returned pointer. It carries
// out the commands on its stdin, one on each line, and answers each with a line: the CUresult, then
// what the call returned.
//
//   cuda_client HOW    how it is loaded: plain, deepbind, unversioned, namespace, constructor
#include "shim/cuda/abi.hpp"
#include "tests/shim/threads.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace tangram::shim::cuda;  // NOLINT(google-build-using-namespace): C's types

namespace {

using Number = std::uint64_t;
using Numbers = std::vector<Number>;
using Lookup = CUresult (*)(const char*, void**, int, std::uint64_t, int*);

Lookup lookup = nullptr;
/// Which version of a function is asked for.
int cuda_version = 13050;
Number lookup_flags = 0;

Lookup lookup_of(void* library) {
  return reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
}

void* load(const std::string& how) {
  if (how == "deepbind") return dlopen("libcuda.so.1", RTLD_NOW | RTLD_DEEPBIND);
  if (how == "unversioned") return dlopen("libcuda.so", RTLD_NOW);
  if (how == "namespace") return dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
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

/// As the runtime does: the pointer for version 12.0 gives all the others.
void resolve(void* library) {
  lookup = lookup_of(library);
  void* newest = nullptr;
  int status = -1;
  if (lookup("", &newest, 0, 0, &status) != CUDA_SUCCESS || status != 0) _exit(3);
  if (lookup("cuGetProcAddress", &newest, 12000, 0, &status) != CUDA_SUCCESS) _exit(3);
  lookup = reinterpret_cast<Lookup>(newest);
}

template <class... Arguments>
CUresult call(const char* name, Arguments... arguments) {
  void* function = nullptr;
  int status = -1;
  const CUresult found = lookup(name, &function, cuda_version, lookup_flags, &status);
  if (found != CUDA_SUCCESS || function == nullptr) return CUDA_ERROR_NOT_FOUND;
  return reinterpret_cast<CUresult (*)(Arguments...)>(function)(arguments...);
}

struct Answer {
  CUresult result = CUDA_SUCCESS;
  Numbers values;
};

Number as_number(const void* pointer) { return reinterpret_cast<Number>(pointer); }
void* as_pointer(Number number) { return reinterpret_cast<void*>(number); }

Answer context(const Numbers& in) {
  CUcontext made = nullptr;
  void* const no_affinity = nullptr;
  return {call("cuCtxCreate", &made, no_affinity, 0, 0U, static_cast<CUdevice>(in.at(0))),
          {as_number(made)}};
}

Answer init(const Numbers&) {
  if (const CUresult result = call("cuInit", 0U); result != CUDA_SUCCESS) return {result, {}};
  return context({0});
}

Answer attach(const Numbers&) {
  CUcontext made = nullptr;
  return {call("cuCtxAttach", &made, 0U), {as_number(made)}};
}

Answer primary(const Numbers& in) {
  CUcontext made = nullptr;
  const auto result = call("cuDevicePrimaryCtxRetain", &made, static_cast<CUdevice>(in.at(0)));
  if (result == CUDA_SUCCESS) (void)call("cuCtxSetCurrent", made);
  return {result, {as_number(made)}};
}

Answer alloc(const Numbers& in) {
  CUdeviceptr pointer = 0;
  const CUresult result = call("cuMemAlloc", &pointer, static_cast<std::size_t>(in.at(0)));
  return {result, {pointer}};
}

/// As by a function that the stand-in does not know: straight from the driver.
Answer free_unseen(const Numbers& in) {
  void* const driver = dlopen("tangram/driver/libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto free = reinterpret_cast<CUresult (*)(CUdeviceptr)>(dlsym(driver, "cuMemFree_v2"));
  return {free(in.at(0)), {}};
}

Answer alloc_managed(const Numbers& in) {
  CUdeviceptr pointer = 0;
  const CUresult result =
      call("cuMemAllocManaged", &pointer, static_cast<std::size_t>(in.at(0)), 1U);
  return {result, {pointer}};
}

Answer alloc_pitch(const Numbers& in) {
  CUdeviceptr pointer = 0;
  std::size_t pitch = 0;
  const CUresult result =
      call("cuMemAllocPitch", &pointer, &pitch, static_cast<std::size_t>(in.at(0)),
           static_cast<std::size_t>(in.at(1)), 4U);
  return {result, {pointer, pitch}};
}

Answer array(const Numbers& in) {
  const Array3dDescriptor of{in.at(0), in.at(1), in.at(2),
                             0x20,     1,        static_cast<unsigned>(in.at(3))};
  CUarray made = nullptr;
  return {call("cuArray3DCreate", &made, &of), {as_number(made)}};
}

Answer array_2d(const Numbers& in) {
  const ArrayDescriptor of{in.at(0), in.at(1), 0x20, 1};
  CUarray made = nullptr;
  return {call("cuArrayCreate", &made, &of), {as_number(made)}};
}

Answer array_v1(const Numbers& in) {
  const Array3dDescriptor_v1 of{static_cast<unsigned>(in.at(0)),
                                static_cast<unsigned>(in.at(1)),
                                static_cast<unsigned>(in.at(2)),
                                0x20,
                                1,
                                static_cast<unsigned>(in.at(3))};
  CUarray made = nullptr;
  return {call("cuArray3DCreate", &made, &of), {as_number(made)}};
}

Answer array_2d_v1(const Numbers& in) {
  const ArrayDescriptor_v1 of{static_cast<unsigned>(in.at(0)), static_cast<unsigned>(in.at(1)),
                              0x20, 1};
  CUarray made = nullptr;
  return {call("cuArrayCreate", &made, &of), {as_number(made)}};
}

Answer mipmap(const Numbers& in) {
  const Array3dDescriptor of{in.at(0), in.at(1), 0, 0x20, 1, 0};
  CUmipmappedArray made = nullptr;
  const auto result = call("cuMipmappedArrayCreate", &made, &of, static_cast<unsigned>(in.at(2)));
  return {result, {as_number(made)}};
}

Answer create(const Numbers& in) {
  const CUmemAllocationProp of{1, 0, {static_cast<int>(in.at(1)), static_cast<int>(in.at(2))}};
  struct {
    CUmemAllocationProp known;
    Number rest[4];
  } properties{of, {}};
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = call("cuMemCreate", &handle, static_cast<std::size_t>(in.at(0)),
                               &properties.known, Number{0});
  return {result, {handle}};
}

Answer retain(const Numbers& in) {
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = call("cuMemRetainAllocationHandle", &handle, as_pointer(in.at(0)));
  return {result, {handle}};
}

Answer reserve_address(const Numbers& in) {
  CUdeviceptr address = 0;
  const CUresult result = call("cuMemAddressReserve", &address, static_cast<std::size_t>(in.at(0)),
                               std::size_t{0}, CUdeviceptr{0}, Number{0});
  return {result, {address}};
}

Answer map(const Numbers& in) {
  return {call("cuMemMap", in.at(0), static_cast<std::size_t>(in.at(1)), std::size_t{0}, in.at(2),
               Number{0}),
          {}};
}

Answer alloc_async(const Numbers& in) {
  CUdeviceptr pointer = 0;
  const CUresult result =
      call("cuMemAllocAsync", &pointer, static_cast<std::size_t>(in.at(0)), CUstream{nullptr});
  return {result, {pointer}};
}

Answer make_pool(const Numbers& in) {
  CUmemPoolProps of{};
  of.alloc_type = in.size() > 2 ? static_cast<int>(in.at(2)) : 1;
  of.location = {static_cast<int>(in.at(0)), static_cast<int>(in.at(1))};
  CUmemoryPool pool = nullptr;
  return {call("cuMemPoolCreate", &pool, &of), {as_number(pool)}};
}

Answer default_pool(const Numbers& in) {
  CUmemoryPool pool = nullptr;
  return {call("cuDeviceGetDefaultMemPool", &pool, static_cast<CUdevice>(in.at(0))),
          {as_number(pool)}};
}

/// Of a function that answers by place and type.
std::function<Answer(const Numbers&)> pool_of(const char* name) {
  return [name](const Numbers& in) {
    CUmemLocation location{static_cast<int>(in.at(0)), static_cast<int>(in.at(1))};
    CUmemoryPool pool = nullptr;
    const CUresult result = call(name, &pool, &location, static_cast<int>(in.at(2)));
    return Answer{result, {as_number(pool)}};
  };
}

Answer alloc_from_pool(const Numbers& in) {
  CUdeviceptr pointer = 0;
  const CUresult result =
      call("cuMemAllocFromPoolAsync", &pointer, static_cast<std::size_t>(in.at(0)),
           as_pointer(in.at(1)), CUstream{nullptr});
  return {result, {pointer}};
}

Answer alloc_from_default(const Numbers& in) {
  CUmemoryPool pool = nullptr;
  (void)call("cuDeviceGetDefaultMemPool", &pool, CUdevice{0});
  return alloc_from_pool({in.at(0), as_number(pool)});
}

Answer threshold(const Numbers& in) {
  Number value = in.at(1);
  return {call("cuMemPoolSetAttribute", as_pointer(in.at(0)), 4, static_cast<void*>(&value)), {}};
}

Answer graph(const Numbers&) {
  CUgraph made = nullptr;
  return {call("cuGraphCreate", &made, 0U), {as_number(made)}};
}

Answer node(const Numbers& in) {
  MemAllocNodeParams of{};
  of.pool.location = {kLocationDevice, 0};
  if (in.size() > 3) of.pool.location = {static_cast<int>(in.at(2)), static_cast<int>(in.at(3))};
  of.byte_size = in.at(1);
  CUgraphNode made = nullptr;
  const CUgraphNode* const none = nullptr;
  return {call("cuGraphAddMemAllocNode", &made, as_pointer(in.at(0)), none, std::size_t{0}, &of),
          {}};
}

/// @param edges  how many arguments for them the version has
template <class... Edges>
Answer add_node(const Numbers& in, Edges... edges) {
  CUgraphNodeParams of{};
  of.type = kNodeMemAlloc;
  of.alloc.pool.location = {kLocationDevice, 0};
  of.alloc.byte_size = in.at(1);
  CUgraphNode made = nullptr;
  const CUgraphNode* const none = nullptr;
  return {call("cuGraphAddNode", &made, as_pointer(in.at(0)), none, edges..., std::size_t{0}, &of),
          {}};
}

Answer capture(const Numbers& in) {
  CUdeviceptr pointer = 0;
  CUgraph made = nullptr;
  (void)call("cuStreamBeginCapture", CUstream{nullptr}, 0);
  const auto bytes = static_cast<std::size_t>(in.at(0));
  const CUresult result = in.size() < 2
                              ? call("cuMemAllocAsync", &pointer, bytes, CUstream{nullptr})
                              : call("cuMemAllocFromPoolAsync", &pointer, bytes,
                                     as_pointer(in.at(1)), CUstream{nullptr});
  (void)call("cuStreamEndCapture", CUstream{nullptr}, &made);
  return {result, {as_number(made)}};
}

Answer clone(const Numbers& in) {
  CUgraph made = nullptr;
  return {call("cuGraphClone", &made, as_pointer(in.at(0))), {as_number(made)}};
}

Answer instantiate(const Numbers& in) {
  CUgraphExec made = nullptr;
  return {call("cuGraphInstantiateWithFlags", &made, as_pointer(in.at(0)), Number{0}),
          {as_number(made)}};
}

Answer instantiate_v1(const Numbers& in) {
  CUgraphExec made = nullptr;
  CUgraphNode* const no_node = nullptr;
  char* const no_log = nullptr;
  return {call("cuGraphInstantiate", &made, as_pointer(in.at(0)), no_node, no_log, std::size_t{0}),
          {as_number(made)}};
}

Answer instantiate_with(const Numbers& in) {
  CUgraphExec made = nullptr;
  void* const no_parameters = nullptr;
  return {call("cuGraphInstantiateWithParams", &made, as_pointer(in.at(0)), no_parameters),
          {as_number(made)}};
}

Answer info(const Numbers& in) {
  std::size_t free = 0;
  std::size_t total = 0;
  const Number which = in.empty() ? 3 : in.at(0);
  std::size_t* const nothing = nullptr;
  const CUresult result = call("cuMemGetInfo", (which & 1U) != 0 ? &free : nothing,
                               (which & 2U) != 0 ? &total : nothing);
  return {result, {free, total}};
}

Answer total(const Numbers& in) {
  std::size_t bytes = 0;
  return {call("cuDeviceTotalMem", &bytes, static_cast<CUdevice>(in.at(0))), {bytes}};
}

/// A function of one pointer or number.
std::function<Answer(const Numbers&)> simple(const char* name) {
  return [name](const Numbers& in) { return Answer{call(name, in.at(0)), {}}; };
}
/// … and of the null stream.
std::function<Answer(const Numbers&)> on_stream(const char* name) {
  return [name](const Numbers& in) { return Answer{call(name, in.at(0), CUstream{nullptr}), {}}; };
}
std::function<Answer(const Numbers&)> of_device(const char* name) {
  return [name](const Numbers& in) {
    return Answer{call(name, static_cast<CUdevice>(in.at(0))), {}};
  };
}

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
  words >> cuda_version >> lookup_flags >> std::ws;
  std::getline(words, command);
  Answer answer = execute(command);
  cuda_version = 13050;
  lookup_flags = 0;
  return answer;
}

/// The commands that have been begun aside.
std::vector<tangram::shim::Aside> asides;

/// Begins a command in another thread, and returns when that thread waits or is done.
Answer aside(const std::string& command) {
  asides.emplace_back([command] { (void)execute(command); });
  asides.back().wait_until_it_waits();
  return {};
}

Answer join(const Numbers&) {
  for (auto& each : asides) each.join();
  asides.clear();
  return {};
}

/// The command when no file can be opened.
Answer without_files(const std::string& command) {
  rlimit limit{};
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{0, limit.rlim_max};
  (void)setrlimit(RLIMIT_NOFILE, &none);
  Answer answer = execute(command);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  return answer;
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
  const Answer made = create({bytes, kLocationDevice, 0});
  if (made.result != CUDA_SUCCESS) return {};
  const Number address = reserve_address({bytes}).values.at(0);
  const Number handle = made.values.at(0);
  (void)map({address, bytes, handle});
  (void)call("cuMemRelease", handle);
  return [address, bytes] { (void)call("cuMemUnmap", address, static_cast<std::size_t>(bytes)); };
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
      continue;
    }
    const Number kind = random() % 5;
    if (kind == 4) {
      if (auto unmap = mapped(bytes)) {
        frees.push_back(std::move(unmap));
      } else {
        ++refused;
      }
      continue;
    }
    const char* const free_call = kind == 0   ? "cuArrayDestroy"
                                  : kind == 1 ? "cuMemRelease"
                                              : "cuMemFree";
    const Answer made = kind == 0   ? array({bytes / 4096 + 1, 1024, 0, 0})
                        : kind == 1 ? create({bytes, kLocationDevice, 0})
                        : kind == 2 ? alloc_async({bytes})
                                    : alloc({bytes});
    if (made.result != CUDA_SUCCESS) {
      ++refused;
    } else {
      frees.emplace_back(
          [free_call, handle = made.values.at(0)] { (void)call(free_call, handle); });
    }
  }
  for (const auto& free : frees) free();
  return {CUDA_SUCCESS, {refused}};
}

/// What a child does with each of the stand-in's locks.
int use_all_locks() {
  (void)alarm(20);  // rather than to wait for ever
  (void)call("cuMemUnmap", Number{4096}, std::size_t{4096});
  (void)primary({0});
  (void)call("cuDeviceGraphMemTrim", CUdevice{0});
  return info({}).result;
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

const std::map<std::string, std::function<Answer(const Numbers&)>, std::less<>> kCommands{
    {"init", init},
    {"context", context},
    {"primary", primary},
    {"destroy-context", simple("cuCtxDestroy")},
    {"attach", attach},
    {"detach", simple("cuCtxDetach")},
    {"join", join},
    {"release-primary", of_device("cuDevicePrimaryCtxRelease")},
    {"reset-primary", of_device("cuDevicePrimaryCtxReset")},
    {"alloc", alloc},
    {"alloc-managed", alloc_managed},
    {"alloc-pitch", alloc_pitch},
    {"free", simple("cuMemFree")},
    {"free-unseen", free_unseen},
    {"array", array},
    {"array-2d", array_2d},
    {"array-v1", array_v1},
    {"array-2d-v1", array_2d_v1},
    {"mipmap", mipmap},
    {"destroy-array", simple("cuArrayDestroy")},
    {"destroy-mipmap", simple("cuMipmappedArrayDestroy")},
    {"create", create},
    {"release", simple("cuMemRelease")},
    {"retain", retain},
    {"reserve", reserve_address},
    {"map", map},
    {"unmap",
     [](const Numbers& in) {
       return Answer{call("cuMemUnmap", in.at(0), static_cast<std::size_t>(in.at(1))), {}};
     }},
    {"alloc-async", alloc_async},
    {"free-async", on_stream("cuMemFreeAsync")},
    {"pool", make_pool},
    {"default-pool", default_pool},
    {"default-pool-of", pool_of("cuMemGetDefaultMemPool")},
    {"current-pool-of", pool_of("cuMemGetMemPool")},
    {"destroy-pool", simple("cuMemPoolDestroy")},
    {"alloc-from", alloc_from_pool},
    {"alloc-from-default", alloc_from_default},
    {"threshold", threshold},
    {"trim",
     [](const Numbers& in) {
       return Answer{
           call("cuMemPoolTrimTo", as_pointer(in.at(0)), static_cast<std::size_t>(in.at(1))), {}};
     }},
    {"graph", graph},
    {"node", node},
    {"add-node-v1", [](const Numbers& in) { return add_node(in); }},
    {"add-node", [](const Numbers& in) { return add_node(in, static_cast<void*>(nullptr)); }},
    {"capture", capture},
    {"clone", clone},
    {"instantiate", instantiate},
    {"instantiate-v1", instantiate_v1},
    {"instantiate-with", instantiate_with},
    {"upload", on_stream("cuGraphUpload")},
    {"launch", on_stream("cuGraphLaunch")},
    {"destroy-graph", simple("cuGraphDestroy")},
    {"destroy-exec", simple("cuGraphExecDestroy")},
    {"trim-graphs", of_device("cuDeviceGraphMemTrim")},
    {"info", info},
    {"total", total},
    {"limit",
     [](const Numbers& in) {
       return Answer{
           call("cuCtxSetLimit", static_cast<int>(in.at(0)), static_cast<std::size_t>(in.at(1))),
           {}};
     }},
    {"churn", churn},
    {"threads", threads},
    {"close-files", close_files},
};

/// Those whose rest is a command itself.
const std::map<std::string, Answer (*)(const std::string&), std::less<>> kOuterCommands{
    {"fork", in_child}, {"fork-info", in_child_with_info}, {"as", as_version},
    {"aside", aside},   {"without-files", without_files},  {"cancelled", cancelled},
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
  const auto command = kCommands.find(name);
  if (command == kCommands.end()) return {-1, {}};
  return command->second(numbers);
}

}  // namespace

int main(int argc, char** argv) {
  void* const library = load(argc > 1 ? argv[1] : "plain");
  if (library == nullptr) {
    std::cerr << dlerror() << '\n';
    return 2;
  }
  resolve(library);
  for (std::string line; std::getline(std::cin, line);) {
    const Answer answer = execute(line);
    std::cout << answer.result;
    for (const Number value : answer.values) std::cout << ' ' << value;
    std::cout << std::endl;  // the test waits for it
  }
  return 0;
}
