// half of a block of 128 threads fills two buffers and half reads them, with a cuda::barrier for full and one for
// empty; buggy: a buffer is given back before it is read
#include <cuda/barrier>

extern "C" __global__ void k(const unsigned* x, unsigned* y) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ Barrier full[2], empty[2];
    __shared__ unsigned buffer[2][64];
    unsigned t = threadIdx.x;
    if (t == 0)
        for (int i = 0; i < 2; i++) {
            init(&full[i], 128);
            init(&empty[i], 128);
        }
    __syncthreads();
    if (t < 64) {
        for (unsigned i = 0; i < 4; i++) {
            if (i >= 2) empty[i & 1].arrive_and_wait();
            buffer[i & 1][t] = x[i * 64 + t];
            (void)full[i & 1].arrive();
        }
    } else {
        unsigned c = t - 64;
        for (unsigned i = 0; i < 4; i++) {
            full[i & 1].arrive_and_wait();
#if BUG
            if (i < 2) (void)empty[i & 1].arrive();
#endif
            y[i * 64 + c] = buffer[i & 1][63 - c];
#if !BUG
            if (i < 2) (void)empty[i & 1].arrive();
#endif
        }
    }
}
