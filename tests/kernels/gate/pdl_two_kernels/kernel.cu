// a programmatic dependent kernel waits for the one before; buggy: it does not
extern "C" __global__ void produce(unsigned *x, unsigned *out) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  *x = 5;
}
extern "C" __global__ void consume(unsigned *x, unsigned *out) {
  if (!BUG) asm volatile("griddepcontrol.wait;" ::: "memory");
  *out = *x;
}
