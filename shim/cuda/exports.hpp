#pragma once

#include "shim/cuda/abi.hpp"

/// The functions that the stand-in exports instead of the driver's, with the driver's signatures;
/// intercepts.inc names them all.
namespace tangram::shim::cuda {

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
#pragma GCC visibility push(default)
extern "C" {
CUresult cuInit(unsigned flags);
CUresult cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags);
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags,
                             int* status);

CUresult cuMemGetInfo(unsigned* free, unsigned* total);
CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total);
CUresult cuDeviceTotalMem(unsigned* bytes, CUdevice device);
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device);

CUresult cuMemAlloc(CUdeviceptr_v1* pointer, unsigned bytes);
CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes);
CUresult cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned* pitch, unsigned width, unsigned height,
                         unsigned element);
CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned element);
CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned flags);
CUresult cuMemFree(CUdeviceptr_v1 pointer);
CUresult cuMemFree_v2(CUdeviceptr pointer);
CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream);

CUresult cuArrayCreate(CUarray* array, const ArrayDescriptor_v1* of);
CUresult cuArrayCreate_v2(CUarray* array, const ArrayDescriptor* of);
CUresult cuArray3DCreate(CUarray* array, const Array3dDescriptor_v1* of);
CUresult cuArray3DCreate_v2(CUarray* array, const Array3dDescriptor* of);
CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const Array3dDescriptor* of,
                                unsigned levels);
CUresult cuArrayDestroy(CUarray array);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray array);

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, std::uint64_t flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address);
CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      int type, std::uint64_t flags);
CUresult cuMulticastBindMem(CUmemGenericAllocationHandle multicast, std::size_t multicast_offset,
                            CUmemGenericAllocationHandle handle, std::size_t offset,
                            std::size_t bytes, std::uint64_t flags);
CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle multicast, CUdevice device,
                               std::size_t multicast_offset, CUmemGenericAllocationHandle handle,
                               std::size_t offset, std::size_t bytes, std::uint64_t flags);
CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, std::size_t multicast_offset,
                             CUdeviceptr address, std::size_t bytes, std::uint64_t flags);
CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle multicast, CUdevice device,
                                std::size_t multicast_offset, CUdeviceptr address,
                                std::size_t bytes, std::uint64_t flags);
CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, std::uint64_t flags);
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes);
CUresult cuMemMapArrayAsync(ArrayMapping* mappings, unsigned count, CUstream stream);
CUresult cuMemMapArrayAsync_ptsz(ArrayMapping* mappings, unsigned count, CUstream stream);

CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                 CUstream stream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                      CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties);
CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, int type);
CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, int type);
CUresult cuMemPoolExportToShareableHandle(void* shareable, CUmemoryPool pool, int type,
                                          std::uint64_t flags);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void* value);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t bytes_to_keep);

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                std::size_t count, MemAllocNodeParams* parameters);
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        std::size_t count, CUgraphNodeParams* parameters);
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const void* edges, std::size_t count, CUgraphNodeParams* parameters);
CUresult cuGraphAddNode_v3(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const void* edges, std::size_t count, CUgraphNodeParams* parameters);
CUresult cuGraphClone(CUgraph* clone, CUgraph original);
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                            std::size_t log_size);
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               std::size_t log_size);
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, std::uint64_t flags);
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, void* parameters);
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph, void* parameters);
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream);
CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream);
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuGraphExecDestroy(CUgraphExec exec);
CUresult cuDeviceGraphMemTrim(CUdevice device);

CUresult cuCtxSetLimit(int limit, std::size_t value);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxDetach(CUcontext context);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);

CUresult cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void** extra);
CUresult cuLaunchKernel_ptsz(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, CUstream stream, void** parameters,
                             void** extra);
CUresult cuLaunchKernelEx(const LaunchConfig* config, void* function, void** parameters,
                          void** extra);
CUresult cuLaunchKernelEx_ptsz(const LaunchConfig* config, void* function, void** parameters,
                               void** extra);
CUresult cuLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes, CUstream stream,
                                   void** parameters);
CUresult cuLaunchCooperativeKernel_ptsz(void* function, unsigned grid_x, unsigned grid_y,
                                        unsigned grid_z, unsigned block_x, unsigned block_y,
                                        unsigned block_z, unsigned shared_bytes, CUstream stream,
                                        void** parameters);
CUresult cuLaunchCooperativeKernelMultiDevice(CooperativeLaunch* launches, unsigned count,
                                              unsigned flags);
CUresult cuLaunch(void* function);
CUresult cuLaunchGrid(void* function, int width, int height);
CUresult cuLaunchGridAsync(void* function, int width, int height, CUstream stream);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamSynchronize_ptsz(CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuCtxSynchronize();
CUresult cuCtxSynchronize_v2(CUcontext context);
}
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)

}  // namespace tangram::shim::cuda
