#include "tests/shim/cuda_client_calls.hpp"

#include <dlfcn.h>

namespace tangram::shim {
namespace {

using namespace cuda;  // NOLINT(google-build-using-namespace): C's types

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

Answer alloc_unseen(const Numbers& in) {
  void* const driver = dlopen("tangram/driver/libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  using Alloc = CUresult (*)(CUdeviceptr*, std::size_t);
  const auto alloc_there = reinterpret_cast<Alloc>(dlsym(driver, "cuMemAlloc_v2"));
  CUdeviceptr pointer = 0;
  return {alloc_there(&pointer, static_cast<std::size_t>(in.at(0))), {pointer}};
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
  const Array3dDescriptor of{in.at(0), in.at(1), in.at(2),
                             0x20,     1,        static_cast<unsigned>(in.at(4))};
  CUmipmappedArray made = nullptr;
  const auto result = call("cuMipmappedArrayCreate", &made, &of, static_cast<unsigned>(in.at(3)));
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

Answer export_handle(const Numbers& in) {
  Number shareable = 0;
  const CUresult result =
      call("cuMemExportToShareableHandle", static_cast<void*>(&shareable), in.at(0), 1, Number{0});
  return {result, {shareable}};
}

Answer import_handle(const Numbers& in) {
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = call("cuMemImportFromShareableHandle", &handle, as_pointer(in.at(0)), 1);
  return {result, {handle}};
}

/// @param device  none, or of the version that has one
template <class... Device>
Answer bind_handle(const Numbers& in, Device... device) {
  return {call("cuMulticastBindMem", Number{0}, device..., std::size_t{0}, in.at(0), std::size_t{0},
               static_cast<std::size_t>(in.at(1)), Number{0}),
          {}};
}

template <class... Device>
Answer bind_address(const Numbers& in, Device... device) {
  return {call("cuMulticastBindAddr", Number{0}, device..., std::size_t{0}, in.at(0),
               static_cast<std::size_t>(in.at(1)), Number{0}),
          {}};
}

Answer export_pool(const Numbers& in) {
  int file = -1;
  return {call("cuMemPoolExportToShareableHandle", static_cast<void*>(&file), as_pointer(in.at(0)),
               1, Number{0}),
          {}};
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

/// Memory of a handle to a row of tiles of an array; of no handle: it is unmapped.
Answer map_array(const Numbers& in) {
  ArrayMapping of{};
  of.array = as_pointer(in.at(0));
  of.piece[3] = static_cast<unsigned>(in.at(1));
  of.handle = in.at(2);
  of.operation = of.handle != 0 ? kOperationMap : kOperationMap + 1;
  of.devices = 1;
  return {call("cuMemMapArrayAsync", &of, 1U, CUstream{nullptr}), {}};
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

constexpr int kPinned = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED: graphs take no other

Answer node(const Numbers& in) {
  MemAllocNodeParams of{};
  of.pool.alloc_type = kPinned;
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
CUresult add_any_node(Number graph, CUgraphNodeParams of, Edges... edges) {
  CUgraphNode made = nullptr;
  const CUgraphNode* const none = nullptr;
  return call("cuGraphAddNode", &made, as_pointer(graph), none, edges..., std::size_t{0}, &of);
}

template <class... Edges>
Answer add_node(const Numbers& in, Edges... edges) {
  CUgraphNodeParams of{};
  of.type = kNodeMemAlloc;
  of.alloc = {};
  of.alloc.pool.alloc_type = kPinned;
  of.alloc.pool.location = {kLocationDevice, 0};
  of.alloc.byte_size = in.at(1);
  return {add_any_node(in.at(0), of, edges...), {}};
}

/// @param in  the graph, its child, and who has the child then
template <class... Edges>
Answer add_child(const Numbers& in, Edges... edges) {
  CUgraphNodeParams of{};
  of.type = kNodeGraph;
  of.child = {as_pointer(in.at(1)), static_cast<int>(in.at(2))};
  return {add_any_node(in.at(0), of, edges...), {}};
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

const Commands kCalls{
    {"init", init},
    {"context", context},
    {"primary", primary},
    {"destroy-context", simple("cuCtxDestroy")},
    {"attach", attach},
    {"detach", simple("cuCtxDetach")},
    {"release-primary", of_device("cuDevicePrimaryCtxRelease")},
    {"reset-primary", of_device("cuDevicePrimaryCtxReset")},
    {"alloc", alloc},
    {"alloc-managed", alloc_managed},
    {"alloc-pitch", alloc_pitch},
    {"free", simple("cuMemFree")},
    {"free-unseen", free_unseen},
    {"alloc-unseen", alloc_unseen},
    {"set-context",
     [](const Numbers& in) {
       return Answer{call("cuCtxSetCurrent", as_pointer(in.at(0))), {}};
     }},
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
    {"export", export_handle},
    {"import", import_handle},
    {"bind-v1", [](const Numbers& in) { return bind_handle(in); }},
    {"bind", [](const Numbers& in) { return bind_handle(in, CUdevice{0}); }},
    {"bind-address-v1", [](const Numbers& in) { return bind_address(in); }},
    {"bind-address", [](const Numbers& in) { return bind_address(in, CUdevice{0}); }},
    {"reserve", reserve_address},
    {"map", map},
    {"unmap",
     [](const Numbers& in) {
       return Answer{call("cuMemUnmap", in.at(0), static_cast<std::size_t>(in.at(1))), {}};
     }},
    {"map-array", map_array},
    {"alloc-async", alloc_async},
    {"free-async", on_stream("cuMemFreeAsync")},
    {"pool", make_pool},
    {"default-pool", default_pool},
    {"default-pool-of", pool_of("cuMemGetDefaultMemPool")},
    {"current-pool-of", pool_of("cuMemGetMemPool")},
    {"export-pool", export_pool},
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
    {"add-child-v1", [](const Numbers& in) { return add_child(in); }},
    {"add-child", [](const Numbers& in) { return add_child(in, static_cast<void*>(nullptr)); }},
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
};

}  // namespace

Functions& functions() {
  static Functions all;
  return all;
}

const Commands& calls() { return kCalls; }

}  // namespace tangram::shim
