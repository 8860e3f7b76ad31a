// A spin lock with the atomic functions, around a plain counter: no fence anywhere.
__device__ int mutex = 0;

__global__ void increment(int *counter) {
    while (atomicCAS(&mutex, 0, 1) != 0)
        ;
    *counter = *counter + 1;
    atomicExch(&mutex, 0);
}
