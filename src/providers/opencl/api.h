#pragma once
// The functions of libOpenCL.so.1, opened when first asked for: nothing links against it, so that a
// machine without any OpenCL gets a reason and not a loader error.

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>
#include <string_view>

#include "switchyard/base/error.h"

namespace switchyard::opencl {

#define SY_OPENCL_FUNCTIONS(X)    \
  X(clGetPlatformIDs)             \
  X(clGetPlatformInfo)            \
  X(clGetDeviceIDs)               \
  X(clGetDeviceInfo)              \
  X(clCreateContext)              \
  X(clReleaseContext)             \
  X(clCreateCommandQueue)         \
  X(clReleaseCommandQueue)        \
  X(clCreateBuffer)               \
  X(clRetainMemObject)            \
  X(clReleaseMemObject)           \
  X(clGetMemObjectInfo)           \
  X(clCreateProgramWithSource)    \
  X(clCreateProgramWithBinary)    \
  X(clBuildProgram)               \
  X(clGetProgramInfo)             \
  X(clGetProgramBuildInfo)        \
  X(clReleaseProgram)             \
  X(clCreateKernel)               \
  X(clReleaseKernel)              \
  X(clSetKernelArg)               \
  X(clEnqueueNDRangeKernel)       \
  X(clEnqueueReadBuffer)          \
  X(clEnqueueWriteBuffer)         \
  X(clEnqueueCopyBuffer)          \
  X(clEnqueueFillBuffer)          \
  X(clEnqueueMapBuffer)           \
  X(clEnqueueUnmapMemObject)      \
  X(clEnqueueMarkerWithWaitList)  \
  X(clEnqueueBarrierWithWaitList) \
  X(clWaitForEvents)              \
  X(clGetEventInfo)               \
  X(clGetEventProfilingInfo)      \
  X(clRetainEvent)                \
  X(clReleaseEvent)               \
  X(clFlush)                      \
  X(clFinish)

struct Api {
#define SY_OPENCL_MEMBER(name) decltype(&::name) name = nullptr;
  SY_OPENCL_FUNCTIONS(SY_OPENCL_MEMBER)
#undef SY_OPENCL_MEMBER
};

// nullptr: there is no usable OpenCL library; *why_not says why.
const Api* FindApi(std::string* why_not);
// Throws Fail with that reason.
const Api& Cl();

// "CL_OUT_OF_RESOURCES (-5)".
std::string StatusName(cl_int status);
// After one of these nothing on the device works any more.
bool IsLost(cl_int status);
bool IsOutOfMemory(cl_int status);
// RuntimeException when memory ran out, else EpFail: "<what>: CL_...".
[[noreturn]] void ThrowStatus(cl_int status, std::string_view what);
inline void Check(cl_int status, std::string_view what) {
  if (status != CL_SUCCESS) ThrowStatus(status, what);
}

}  // namespace switchyard::opencl
