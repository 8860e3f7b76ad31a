// A CUDA runtime that launches nothing: it writes down what a host program launches, and needs no GPU (record.py links it in).
// Memory of the device is memory of the host at addresses of its own, so that copies and fills do what they say.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {
struct Buffer { char *begin; size_t size; };
struct State {
  std::map<const void *, std::string> names;          // of kernels, as the PTX has them
  std::map<std::string, std::vector<size_t>> sizes;   // of their parameters
  std::vector<Buffer> buffers;
  char *next = reinterpret_cast<char *>(0x7e0000000000ull);
  FILE *out = nullptr;
  int maps = 0;
};
State &state() { static State *one = new State; return *one; }
int number(const char *name, int otherwise) { const char *said = std::getenv(name); return said ? std::atoi(said) : otherwise; }

void finish() {
  State &s = state();
  for (size_t i = 0; i < s.buffers.size(); i++) {
    std::ofstream("b" + std::to_string(i) + ".bin", std::ios::binary).write(s.buffers[i].begin, s.buffers[i].size);
    std::fprintf(s.out, "buffer %llx %zu\n", (unsigned long long)s.buffers[i].begin, s.buffers[i].size);
  }
  std::fclose(s.out);
}
FILE *out() {
  State &s = state();
  if (!s.out) {
    s.out = std::fopen("recorded.txt", "w");
    std::ifstream given("sizes.txt");
    for (std::string line, name; std::getline(given, line);) {
      std::istringstream words(line);
      words >> name;
      for (size_t size; words >> size;) s.sizes[name].push_back(size);
    }
    std::atexit(finish);
  }
  return s.out;
}
cudaError_t record(const void *kernel, dim3 g, dim3 b, void **args, size_t shared, dim3 c = dim3(1)) {
  FILE *to = out();
  const std::string &name = state().names[kernel];
  std::fprintf(to, "launch %s %u %u %u %u %u %u %u %u %u %zu\n", name.c_str(), g.x, g.y, g.z, b.x, b.y, b.z, c.x, c.y, c.z, shared);
  const std::vector<size_t> &sizes = state().sizes[name];
  for (size_t i = 0; i < sizes.size(); i++) {
    std::fprintf(to, "argument ");
    for (size_t j = 0; j < sizes[i]; j++) std::fprintf(to, "%02x", static_cast<unsigned char *>(args[i])[j]);
    std::fprintf(to, "\n");
  }
  return cudaSuccess;
}
int attribute(int what) {
  switch (what) {
    case cudaDevAttrMultiProcessorCount: return number("SMS", 8);
    case cudaDevAttrComputeCapabilityMajor: return number("ARCH", 90) / 10;
    case cudaDevAttrComputeCapabilityMinor: return number("ARCH", 90) % 10;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return 227 << 10;
    case cudaDevAttrMaxSharedMemoryPerBlock: return 48 << 10;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return 228 << 10;
    case cudaDevAttrReservedSharedMemoryPerBlock: return 1024;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return 2048;
    case cudaDevAttrMaxThreadsPerBlock: return 1024;
    case cudaDevAttrMaxGridDimX: return 0x7fffffff;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: return 65535;
    case cudaDevAttrWarpSize: return 32;
    default: return 1;
  }
}
dim3 grid_given, block_given;
size_t shared_given;
}  // namespace

extern "C" {
void **__cudaRegisterFatBinary(void *) { static void *one; return &one; }
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
char __cudaInitModule(void **) { return 1; }
void __cudaRegisterFunction(void **, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
  state().names[host] = name;
}
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}
unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t shared, void *) {
  grid_given = g, block_given = b, shared_given = shared;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *g, dim3 *b, size_t *shared, void *) {
  *g = grid_given, *b = block_given, *shared = shared_given;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) { *kernel = (cudaKernel_t)host; return cudaSuccess; }
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 g, dim3 b, void **a, size_t s, cudaStream_t) { return record(k, g, b, a, s); }
cudaError_t cudaLaunchKernel(const void *k, dim3 g, dim3 b, void **a, size_t s, cudaStream_t) { return record(k, g, b, a, s); }
cudaError_t cudaLaunchCooperativeKernel(const void *k, dim3 g, dim3 b, void **a, size_t s, cudaStream_t) {
  return record(k, g, b, a, s);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *how, const void *kernel, void **args) {
  dim3 cluster(1);
  for (unsigned i = 0; i < how->numAttrs; i++)
    if (how->attrs[i].id == cudaLaunchAttributeClusterDimension) {
      auto &d = how->attrs[i].val.clusterDim;
      cluster = dim3(d.x, d.y, d.z);
    }
  return record(kernel, how->gridDim, how->blockDim, args, how->dynamicSmemBytes, cluster);
}
cudaError_t cudaMalloc(void **at, size_t size) {
  out();
  State &s = state();
  const size_t room = (size + 4096) / 4096 * 4096;
  *at = mmap(s.next, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  s.buffers.push_back({s.next, size ? size : 1});
  s.next += room + (1 << 20);
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void **at, size_t size, cudaStream_t) { return cudaMalloc(at, size); }
cudaError_t cudaMallocHost(void **at, size_t size) { return cudaMalloc(at, size); }
cudaError_t cudaHostAlloc(void **at, size_t size, unsigned) { return cudaMalloc(at, size); }
cudaError_t cudaMallocManaged(void **at, size_t size, unsigned) { return cudaMalloc(at, size); }
cudaError_t cudaFree(void *) { return cudaSuccess; }
cudaError_t cudaFreeHost(void *) { return cudaSuccess; }
cudaError_t cudaFreeAsync(void *, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind) { std::memmove(to, from, n); return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind, cudaStream_t) {
  std::memmove(to, from, n);
  return cudaSuccess;
}
cudaError_t cudaMemset(void *at, int value, size_t n) { std::memset(at, value, n); return cudaSuccess; }
cudaError_t cudaMemsetAsync(void *at, int value, size_t n, cudaStream_t) { std::memset(at, value, n); return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
// All launches are of one stream, in their order.
cudaError_t cudaStreamCreate(cudaStream_t *stream) { *stream = nullptr; return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t *event) { *event = nullptr; return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *time, cudaEvent_t, cudaEvent_t) { *time = 1; return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return "no error is told"; }
const char *cudaGetErrorName(cudaError_t) { return "none"; }
cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int) { *value = attribute(what); return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  std::memset(p, 0, sizeof *p);
  p->major = number("ARCH", 90) / 10, p->minor = number("ARCH", 90) % 10, p->multiProcessorCount = number("SMS", 8);
  p->warpSize = 32, p->maxThreadsPerBlock = 1024, p->maxThreadsPerMultiProcessor = 2048;
  p->sharedMemPerBlock = 48 << 10, p->sharedMemPerBlockOptin = 227 << 10, p->sharedMemPerMultiprocessor = 228 << 10;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *) {
  std::memset(a, 0, sizeof *a);
  a->ptxVersion = a->binaryVersion = number("ARCH", 90), a->maxThreadsPerBlock = 1024;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int, size_t) { *n = 1; return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *, int, size_t, unsigned) {
  *n = 1;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int *n, const void *, const cudaLaunchConfig_t *) { *n = number("SMS", 8); return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }

// A tensor map is written down, and has a number in its last word.
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *at, const cuuint64_t *dims,
                                const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill fill) {
  FILE *to = out();
  unsigned *words = reinterpret_cast<unsigned *>(map);
  for (int i = 0; i < 31; i++) words[i] = 0x0b8dc0de;
  words[31] = state().maps++;
  std::fprintf(to, "map %d %d %d %d %llx %u", type, interleave, swizzle, fill, (unsigned long long)at, rank);
  for (unsigned i = 0; i < rank; i++)
    std::fprintf(to, " %llu %llu %u %u", (unsigned long long)dims[i], i ? (unsigned long long)strides[i - 1] : 0, box[i], steps[i]);
  std::fprintf(to, "\n");
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char **text) { *text = "no error is told"; return CUDA_SUCCESS; }
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **entry, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *found) {
  *entry = std::strcmp(name, "cuTensorMapEncodeTiled") ? nullptr : reinterpret_cast<void *>(cuTensorMapEncodeTiled);
  if (found) *found = *entry ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
}
