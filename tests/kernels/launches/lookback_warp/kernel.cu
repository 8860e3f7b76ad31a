// A scan by decoupled look-back: a tile publishes its sum, or the sum of all up to it, in one word of 64 bits, with what it is.
// A warp looks at 32 tiles at a time.
#include <cuda/atomic>
typedef unsigned u32; typedef unsigned long long u64;
__device__ u64 ld(u64*p){ return cuda::atomic_ref<u64,cuda::thread_scope_device>(*p).load(cuda::memory_order_relaxed); }
__device__ void st(u64*p,u64 v){ cuda::atomic_ref<u64,cuda::thread_scope_device>(*p).store(v, cuda::memory_order_relaxed); }
extern "C" __global__ void scan(const u32* in, u64* desc, u32* out) {
  __shared__ u32 part[32]; __shared__ u32 excl;
  u32 b = blockIdx.x, t = threadIdx.x, x = in[b*blockDim.x+t], v = x;
  for (int d=1; d<32; d*=2) { u32 y = __shfl_up_sync(~0u, v, d); if ((t&31)>=d) v += y; }
  if ((t&31)==31) part[t>>5] = v;
  __syncthreads();
  u32 before=0, total=0;
  for (u32 w=0; w<blockDim.x/32; w++) { if (w < t>>5) before += part[w]; total += part[w]; }
  if (t<32) {
    u32 sum=0;
    if (b==0) { if (t==0) st(&desc[32], (2ull<<32)|total); }
    else {
      if (t==0) st(&desc[32+b], (1ull<<32)|total);
      int p=(int)b-1-(int)t;
      bool done=false;
      while(!done){
        u64 d;
#if BAD == 3  // one lane waits for its own tile alone
        do { d = ld(&desc[32+p]); } while (__all_sync(~0u, (d>>32)==0));
#else
        do { d = ld(&desc[32+p]); } while (__any_sync(~0u, (d>>32)==0));
#endif
        u32 pre = __ballot_sync(~0u, (d>>32)==2);
#if BAD == 2  // the last lane that has a sum of all counts
        int first = pre ? 31-__clz(pre) : -1;
#else
        int first = __ffs(pre)-1;
#endif
#if BAD == 1  // what stands before the sum of all is added, too
        u32 mine = (u32)d;
#else
        u32 mine = (first<0 || (int)t<=first) ? (u32)d : 0;
#endif
        for (int o=16;o;o/=2) mine += __shfl_xor_sync(~0u, mine, o);
        sum += mine;
        done = first>=0;
        p -= 32;
      }
#if BAD == 4  // the sum of all up to a tile is published without its own
      if (t==0) st(&desc[32+b], (2ull<<32)|(u32)sum);
#else
      if (t==0) st(&desc[32+b], (2ull<<32)|(u32)(sum+total));
#endif
    }
    if (t==0) excl = sum;
  }
  __syncthreads();
  out[b*blockDim.x+t] = excl + before + v;
}
