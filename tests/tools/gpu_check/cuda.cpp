#include "tests/tools/gpu_check/cuda.hpp"

#include <dlfcn.h>

#include <array>

namespace tangram::gpu_check {

namespace {

constexpr unsigned kThreadsPerBlock = 256;
// Several waves on 150 multiprocessors, so that the last one weighs little.
constexpr unsigned kBlocks = 9'600;
constexpr std::uint32_t kRounds = 16'384;

/// Each thread multiplies and adds on its own, and writes the outcome so that none of it is left
/// out. For Volta and newer, which is what MPS limits need.
constexpr const char* kProgram = R"(
.version 6.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 results, .param .u32 rounds)
{
  .reg .pred %more;
  .reg .b32 %left, %thread, %block, %width;
  .reg .f32 %x, %up, %down;
  .reg .b64 %base, %offset;
  ld.param.u64 %base, [results];
  ld.param.u32 %left, [rounds];
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %width, %ntid.x;
  mad.lo.u32 %thread, %block, %width, %thread;
  cvt.rn.f32.u32 %x, %thread;
  mov.f32 %up, 0f3F800001;
  mov.f32 %down, 0f3F7FFFFE;
again:
  fma.rn.f32 %x, %x, %up, %down;
  fma.rn.f32 %x, %x, %down, %up;
  fma.rn.f32 %x, %x, %up, %down;
  fma.rn.f32 %x, %x, %down, %up;
  fma.rn.f32 %x, %x, %up, %down;
  fma.rn.f32 %x, %x, %down, %up;
  fma.rn.f32 %x, %x, %up, %down;
  fma.rn.f32 %x, %x, %down, %up;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %more, %left, 0;
  @%more bra again;
  cvta.to.global.u64 %base, %base;
  mul.wide.u32 %offset, %thread, 4;
  add.u64 %base, %base, %offset;
  st.global.f32 [%base], %x;
  ret;
}
)";

}  // namespace

/// The part of the CUDA driver API that is used, as it has been since CUDA 4.
struct Cuda::Functions {
  int (*init)(unsigned flags);
  int (*error_name)(int code, const char** name);
  int (*device)(int* out, int index);
  int (*retain_context)(void** out, int device);
  int (*release_context)(int device);
  int (*set_context)(void* context);
  int (*load_module)(void** out, const void* program);
  int (*function)(void** out, void* module, const char* name);
  int (*memory)(std::size_t* free, std::size_t* total);
  int (*allocate)(std::uint64_t* out, std::size_t bytes);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                void** parameters, void** extra);
  int (*synchronize)();
  int (*create_stream)(void** out, unsigned flags);
  int (*begin_capture)(void* stream, int mode);
  int (*end_capture)(void* stream, void** out);
  int (*instantiate)(void** out, void* graph, unsigned long long flags);
  int (*launch_graph)(void* graph, void* stream);
  int (*create_event)(void** out, unsigned flags);
  int (*record_event)(void* event, void* stream);
  int (*wait_for_event)(void* event);
  int (*destroy_event)(void* event);
};

namespace {

template <class Function>
bool load(void* library, Function*& out, const char* name) {
  out = reinterpret_cast<Function*>(::dlsym(library, name));
  return out != nullptr;
}

}  // namespace

Cuda::Cuda(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Cuda::~Cuda() {
  for (void* const event : events_) {
    if (event != nullptr) functions_->destroy_event(event);
  }
  functions_->release_context(0);
}

Result<std::unique_ptr<Cuda>> Cuda::open() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);  // stays until the process ends
  if (library == nullptr) return fail(Errc::kUnavailable, "libcuda.so.1 cannot be loaded");
  auto to = std::make_unique<Functions>();
  const bool complete =
      load(library, to->init, "cuInit") && load(library, to->error_name, "cuGetErrorName") &&
      load(library, to->device, "cuDeviceGet") &&
      load(library, to->retain_context, "cuDevicePrimaryCtxRetain") &&
      load(library, to->release_context, "cuDevicePrimaryCtxRelease_v2") &&
      load(library, to->set_context, "cuCtxSetCurrent") &&
      load(library, to->load_module, "cuModuleLoadData") &&
      load(library, to->function, "cuModuleGetFunction") &&
      load(library, to->memory, "cuMemGetInfo_v2") &&
      load(library, to->allocate, "cuMemAlloc_v2") && load(library, to->launch, "cuLaunchKernel") &&
      load(library, to->synchronize, "cuCtxSynchronize") &&
      load(library, to->create_stream, "cuStreamCreate") &&
      load(library, to->begin_capture, "cuStreamBeginCapture_v2") &&
      load(library, to->end_capture, "cuStreamEndCapture") &&
      load(library, to->instantiate, "cuGraphInstantiateWithFlags") &&
      load(library, to->launch_graph, "cuGraphLaunch") &&
      load(library, to->create_event, "cuEventCreate") &&
      load(library, to->record_event, "cuEventRecord") &&
      load(library, to->wait_for_event, "cuEventSynchronize") &&
      load(library, to->destroy_event, "cuEventDestroy_v2");
  if (!complete) return fail(Errc::kUnavailable, "libcuda.so.1 is older than CUDA 11.4");
  std::unique_ptr<Cuda> cuda(new Cuda(std::move(to)));
  if (auto started = cuda->start(); !started) return started.error();
  return cuda;
}

Result<void> Cuda::check(int code, const char* what) const {
  if (code == 0) return {};
  const char* name = nullptr;
  functions_->error_name(code, &name);
  return fail(Errc::kUnavailable,
              std::string(what) + " " + (name != nullptr ? name : std::to_string(code)));
}

Result<void> Cuda::start() {
  const Functions& call = *functions_;
  int device = 0;
  void* context = nullptr;
  void* module = nullptr;
  if (auto done = check(call.init(0), "cuInit"); !done) return done;
  if (auto done = check(call.device(&device, 0), "cuDeviceGet"); !done) return done;
  if (auto done = check(call.retain_context(&context, device), "context"); !done) return done;
  if (auto done = check(call.set_context(context), "context"); !done) return done;
  if (auto done = check(call.load_module(&module, kProgram), "module"); !done) return done;
  if (auto done = check(call.function(&kernel_, module, "spin"), "function"); !done) return done;
  constexpr std::size_t kThreads = std::size_t{kBlocks} * kThreadsPerBlock;
  return check(call.allocate(&results_, kThreads * sizeof(float)), "allocation");
}

Result<Cuda::Memory> Cuda::memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (auto done = check(functions_->memory(&free, &total), "memory"); !done) return done.error();
  return Memory{free, total};
}

Result<void> Cuda::allocate(std::uint64_t bytes) {
  std::uint64_t address = 0;
  return check(functions_->allocate(&address, bytes), "allocation");
}

Result<void> Cuda::launch_small() {
  std::array<void*, 2> parameters{&results_, &unit_.rounds};
  return check(
      functions_->launch(kernel_, 1, 1, 1, 1, 1, 1, 0, stream_, parameters.data(), nullptr),
      "launch");
}

Result<void> Cuda::launch_unit() {
  return graph_ == nullptr ? launch_small()
                           : check(functions_->launch_graph(graph_, stream_), "graph launch");
}

Result<void> Cuda::prepare(const Unit& unit) {
  constexpr unsigned kNonBlocking = 1;
  constexpr unsigned kNoTimes = 2;
  constexpr int kThreadLocal = 1;
  unit_ = unit;
  const Functions& call = *functions_;
  if (auto done = check(call.create_stream(&stream_, kNonBlocking), "stream"); !done) return done;
  for (void*& event : events_) {
    if (auto done = check(call.create_event(&event, kNoTimes), "event"); !done) return done;
  }
  if (unit.kernels == 1) return {};
  void* captured = nullptr;
  if (auto done = check(call.begin_capture(stream_, kThreadLocal), "capture"); !done) return done;
  for (int i = 0; i < unit.kernels; ++i) {
    if (auto done = launch_small(); !done) return done;
  }
  if (auto done = check(call.end_capture(stream_, &captured), "capture"); !done) return done;
  return check(call.instantiate(&graph_, captured, 0), "graph");
}

Result<void> Cuda::keep_busy(int times) {
  for (int i = 0; i < times; ++i) {
    if (auto done = launch_unit(); !done) return done;
  }
  const Functions& call = *functions_;
  const std::size_t now = calls_++ % events_.size();
  if (auto done = check(call.record_event(events_.at(now), stream_), "event"); !done) return done;
  if (calls_ == 1) return {};
  return check(call.wait_for_event(events_.at(1 - now)), "kernel");
}

Result<void> Cuda::finish() { return check(functions_->synchronize(), "kernel"); }

Result<void> Cuda::compute() {
  std::uint32_t rounds = kRounds;
  std::array<void*, 2> parameters{&results_, &rounds};
  const int launched = functions_->launch(kernel_, kBlocks, 1, 1, kThreadsPerBlock, 1, 1, 0,
                                          nullptr, parameters.data(), nullptr);
  if (auto done = check(launched, "launch"); !done) return done;
  return check(functions_->synchronize(), "kernel");
}

}  // namespace tangram::gpu_check
