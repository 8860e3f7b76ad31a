// A scan by decoupled look-back: a tile publishes its sum, or the sum of all up to it, in one word of 64 bits, with what it is.
// Thread 0 of a CTA goes back tile by tile.
#include <cuda/atomic>
typedef unsigned u32; typedef unsigned long long u64;
extern "C" __global__ void scan(const u32* in, u64* desc, u32* out) {
  __shared__ u32 part[32]; __shared__ u32 excl;
  u32 b = blockIdx.x, t = threadIdx.x, x = in[b*blockDim.x+t], v = x;
  for (int d=1; d<32; d*=2) { u32 y = __shfl_up_sync(~0u, v, d); if ((t&31)>=d) v += y; }
  if ((t&31)==31) part[t>>5] = v;
  __syncthreads();
  u32 before=0, total=0;
  for (u32 w=0; w<blockDim.x/32; w++) { if (w < t>>5) before += part[w]; total += part[w]; }
  if (t==0) {
    u32 sum=0;
    if (b==0) cuda::atomic_ref<u64,cuda::thread_scope_device>(desc[0]).store((2ull<<32)|total, cuda::memory_order_relaxed);
    else {
#if BAD == 5  // words are published by plain stores
      desc[b] = (1ull<<32)|total;
#else
      cuda::atomic_ref<u64,cuda::thread_scope_device>(desc[b]).store((1ull<<32)|total, cuda::memory_order_relaxed);
#endif
      for (int p=(int)b-1; p>=0; --p) {
        u64 d;
#if BAD == 2  // a tile that has not published is taken for one without numbers
        d = cuda::atomic_ref<u64,cuda::thread_scope_device>(desc[p]).load(cuda::memory_order_relaxed);
#else
        while (((d = cuda::atomic_ref<u64,cuda::thread_scope_device>(desc[p]).load(cuda::memory_order_relaxed))>>32)==0);
#endif
        sum += (u32)d;
#if BAD == 1  // the first word that was published is taken for the sum of all
        if ((d>>32)!=0) break;
#else
        if ((d>>32)==2) break;
#endif
      }
#if BAD == 3  // the sum of all is published without that of the tiles before
      cuda::atomic_ref<u64,cuda::thread_scope_device>(desc[b]).store((2ull<<32)|total, cuda::memory_order_relaxed);
#elif BAD == 4  // the sum of all before a tile is published as the sum of the tile
      cuda::atomic_ref<u64,cuda::thread_scope_device>(desc[b]).store((1ull<<32)|(u32)(sum+total), cuda::memory_order_relaxed);
#else
      cuda::atomic_ref<u64,cuda::thread_scope_device>(desc[b]).store((2ull<<32)|(u32)(sum+total), cuda::memory_order_relaxed);
#endif
    }
    excl = sum;
  }
  __syncthreads();
  out[b*blockDim.x+t] = excl + before + v;
}
