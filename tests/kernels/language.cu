// What the C++ language brings: calls, virtual functions, pointers to functions, recursion, switches, structures by value,
// variables in every space, initialisers with addresses, printf, malloc, assert, traps, alloca.
#include <cassert>
#include <cstdio>
#include <new>

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ Circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.14159f * radius * radius; }
};
__global__ void shapes(Shape** at, float* out, int n) {
    if (threadIdx.x == 0) { at[0] = new Square(2); at[1] = new Circle(3); }
    __syncthreads();
    for (int i = 0; i < n; i++) out[i] = at[i]->area();
    if (threadIdx.x == 0) delete at[0];
}

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
typedef int (*Function)(int);
__device__ Function table[] = {twice, square, twice};
__constant__ Function one = square;
__global__ void through_pointers(int* x, int which) { *x = table[which](*x) + one(*x); }

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int* x) { *x = fibonacci(*x); }

struct Big { int a[7]; double d; char c[3]; };
__device__ __noinline__ Big change(Big b, int i) { b.a[i] = i; b.d += 1; b.c[i & 1] = 'x'; return b; }
__global__ void by_value(Big b, Big* out, const __grid_constant__ Big constant) { *out = change(b, out->a[0]); out->d += constant.d; }

__global__ void choose(int* x, int k) {
    switch (k) {
        case 0: *x = 3; break;
        case 1: *x += 7; break;
        case 2: *x *= *x; break;
        case 3: *x ^= 12; break;
        case 4: *x = *x / k; break;
        case 5: *x = -*x; [[fallthrough]];
        case 6: *x = twice(*x); break;
        case 7: printf("%d\n", *x); break;
        case 9: *x = clock(); break;
        case 1000: __trap();
        default: *x = 0;
    }
}

__device__ int counter = 7, matrix[3][4] = {{1, 2, 3, 4}, {5}};
__device__ int* pointer = &matrix[1][2];
__constant__ float weights[5] = {1.5f, -2.25f, 1e30f};
__managed__ double shared_with_host = 2.5;
__device__ const char* names[] = {"first", "second \"quoted\" \\ \n"};
struct Node { Node* next; short value; };
__device__ Node tail = {nullptr, 4}, head = {&tail, 3};
extern __shared__ double dynamic[];
__global__ void spaces(int* out, const char** text) {
    __shared__ char bytes[100];
    __shared__ int fixed;
    int local[20];
    for (int i = 0; i < 20; i++) local[i] = out[i];
    bytes[threadIdx.x] = local[threadIdx.x % 20];
    dynamic[threadIdx.x] = weights[threadIdx.x % 5];
    fixed = 3;
    __syncthreads();
    out[0] = bytes[5] + fixed + *pointer + counter + int(dynamic[3]) + head.next->value + int(shared_with_host);
    *text = names[out[0] & 1];
    out[1] = __isGlobal(out) + __isShared(bytes) + __isLocal(local) + __isConstant(weights);
}

__global__ void services(int* x, int n) {
    assert(n > 0);
    char* p = (char*)malloc(n);
    if (!p) __trap();
    p[0] = 1;
    printf("thread %d of %d: %f %s\n", threadIdx.x, n, 1.5, "text");
    free(p);
    int* stack = (int*)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++) stack[i] = x[i];
    x[0] = stack[n / 2];
    if (x[1] == 77) __brkpt();
    __prof_trigger(3);
    __nanosleep(100);
    x[1] = clock64() + __builtin_expect(x[2], 0);
    __builtin_assume(x[3] > 0);
    x[2] = x[3] / 4;
}

__global__ void __launch_bounds__(256, 2) bounded(float* x) { x[threadIdx.x] *= 2; }
__global__ void __maxnreg__(32) registers(float* x) { x[threadIdx.x] *= 3; }
template <class T> __global__ void generic(T* x, T y) {
#pragma unroll 4
    for (int i = 0; i < 100; i++) x[i] += y;
#pragma unroll 1
    for (int i = 0; i < 10; i++) x[i] *= y;
}
template __global__ void generic<float>(float*, float);
template __global__ void generic<unsigned char>(unsigned char*, unsigned char);
template __global__ void generic<double>(double*, double);
extern "C" __device__ int defined_elsewhere(int);
#ifdef __CUDACC_RDC__
__global__ void external(int* x) { *x = defined_elsewhere(*x); }
#endif
