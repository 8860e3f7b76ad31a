// two blocks count in floating-point numbers: what is added is a number in the instruction; buggy: not atomic

extern "C" __global__ void k(float *sum) {
  if (BUG) *sum += 1.f;
  else atomicAdd(sum, 1.f);
}
