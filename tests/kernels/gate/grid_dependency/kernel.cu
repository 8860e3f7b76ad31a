// griddepcontrol in a kernel that needs no other; buggy: no barrier between the threads
extern "C" __global__ void k(unsigned *in, unsigned *out) {
  __shared__ unsigned s;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (threadIdx.x == 0) s = blockIdx.x + in[0];
  if (!BUG) __syncthreads();
  out[threadIdx.x] = s;
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
