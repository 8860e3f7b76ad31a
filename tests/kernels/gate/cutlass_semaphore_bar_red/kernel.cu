// CUTLASS' semaphore waits in a loop of __syncthreads_and; buggy: the release of the semaphore does not wait for all threads
struct Semaphore {
  int *lock; bool wait_thread; int state;
  __device__ Semaphore(int *l, int t) : lock(l), wait_thread(t <= 0), state(-1) {}
  __device__ void fetch() { if (wait_thread) asm volatile("ld.global.acquire.gpu.b32 %0, [%1];\n" : "=r"(state) : "l"(lock)); }
  __device__ void wait(int status = 0) { while (__syncthreads_and(state != status)) fetch(); __syncthreads(); }
  __device__ void release(int status = 0) { if (!BUG) __syncthreads(); if (wait_thread) asm volatile("st.global.release.gpu.b32 [%0], %1;\n" :: "l"(lock), "r"(status)); }
};
extern "C" __global__ void k(int *sem, unsigned *acc) {
  Semaphore s(sem, threadIdx.x);
  s.fetch();
  s.wait(blockIdx.x);
  acc[threadIdx.x] = (blockIdx.x ? acc[threadIdx.x] : 0) + threadIdx.x + blockIdx.x + 1;
  s.release(blockIdx.x + 1);
}
