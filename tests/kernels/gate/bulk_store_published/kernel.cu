// a tile is stored by a bulk copy and published by a flag; buggy: only its reading is awaited
#include <cuda/ptx>
#include <cuda/atomic>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *g, unsigned *flag, unsigned *out) {
  __shared__ alignas(16) unsigned s[4];
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < 4; ++i) s[i] = 5 + i;
      ptx::fence_proxy_async(ptx::space_shared);
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, g, s, 16);
      ptx::cp_async_bulk_commit_group();
      if (BUG) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{}); else ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
      f.store(1, cuda::memory_order_release);
      if (BUG) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
    }
  } else { while (!f.load(cuda::memory_order_acquire)) { } out[threadIdx.x] = g[3]; }
}
