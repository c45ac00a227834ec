// Template pipeline, f16 for sm_90a.

namespace pipeline_source {

// ---- Constants ----

constexpr int kDepth = 64;  // elements of a stage's row
constexpr int kBytesOfA = 16384;
constexpr int kAccumulators = 64;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kStageBytes = 32768;

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void tensor_load_2d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1);
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map);
__device__ __forceinline__ unsigned int lane_id();
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ bool elect_one();
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ void setmaxnreg_decrease_24();
__device__ __forceinline__ void setmaxnreg_increase_232();
__device__ __forceinline__ void wgmma_m64n128k16_f16_ss(float (&d)[64], unsigned long long a, unsigned long long b,
                                                        int accumulate);

#endif

// All threads whose shared memory is written or signalled from each other's blocks.
__device__ __forceinline__ void meet() {
  __syncthreads();
}

// Fills the stages in turn, each when its readers have left it.
__device__ __forceinline__ void produce(unsigned char* base, unsigned long long* full, unsigned long long* empty,
                                        const TensorMap& map_a, const TensorMap& map_b, int row0, int column0) {
  for (int step = 0; step < 7; ++step) {
    const int stage = step % 3;
    const unsigned int parity = ((step / 3) & 1) ^ 1;
    unsigned char* a = base + stage * kStageBytes;
    unsigned char* b = a + kBytesOfA;
    mbarrier_wait(&empty[stage], parity);
    mbarrier_arrive_expect(&full[stage], kStageBytes);
    tensor_load_2d(a, map_a, &full[stage], step * kDepth, row0);
    tensor_load_2d(b, map_b, &full[stage], step * kDepth, column0);
  }
}

// d += a * b over one stage: four products deep.
__device__ __forceinline__ void multiply(float (&d)[64], const unsigned char* a, const unsigned char* b) {
  const unsigned long long a_descriptor = wgmma_descriptor(a, 16, 1024, 128);
  const unsigned long long b_descriptor = wgmma_descriptor(b, 16, 1024, 128);
  wgmma_fence();
  // k from byte 0 of each row
  wgmma_m64n128k16_f16_ss(d, wgmma_descriptor_move(a_descriptor, 0), wgmma_descriptor_move(b_descriptor, 0), 1);
  // k from byte 32 of each row
  wgmma_m64n128k16_f16_ss(d, wgmma_descriptor_move(a_descriptor, 32), wgmma_descriptor_move(b_descriptor, 32), 1);
  // k from byte 64 of each row
  wgmma_m64n128k16_f16_ss(d, wgmma_descriptor_move(a_descriptor, 64), wgmma_descriptor_move(b_descriptor, 64), 1);
  // k from byte 96 of each row
  wgmma_m64n128k16_f16_ss(d, wgmma_descriptor_move(a_descriptor, 96), wgmma_descriptor_move(b_descriptor, 96), 1);
  wgmma_commit();
}

// One thread of each warp says that it has left a stage, to all blocks that filled it.
__device__ __forceinline__ void release(unsigned long long* empty) {
  const unsigned int lane = lane_id();
  if (lane == 0) {
    mbarrier_arrive(empty);
  }
}

extern "C" __global__ void __launch_bounds__(384)
    pipeline(float* __restrict__ out, __grid_constant__ const TensorMap map_a,
             __grid_constant__ const TensorMap map_b) {
  unsigned char* base = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(base + 98304);
  unsigned long long* empty = full + 3;
  const int group = warp_uniform(threadIdx.x / 128);
  const int row0 = blockIdx.x % 2 * 128;
  const int column0 = blockIdx.x / 2 * 128;
  if (threadIdx.x == 0) {
    tensor_prefetch(map_a);
    for (int stage = 0; stage < 3; ++stage) {
      mbarrier_init(&full[stage], 1);
      mbarrier_init(&empty[stage], 8);  // the consumers' warps
    }
    fence_mbarrier_init();
  }
  meet();
  if (group == 0) {
    setmaxnreg_decrease_24();
    if (warp_uniform(threadIdx.x / 32) == 0 && elect_one()) {
      produce(base, full, empty, map_a, map_b, row0, column0);
    }
  } else {
    setmaxnreg_increase_232();
    float d[64];
    #pragma unroll
    for (int i = 0; i < kAccumulators; ++i) {
      d[i] = 0;
      wgmma_pin(d[i]);
    }
    for (int step = 0; step < 7; ++step) {
      const int stage = step % 3;
      mbarrier_wait(&full[stage], (step / 3) & 1);
      const unsigned char* a = base + stage * kStageBytes;
      multiply(d, a + (group - 1) * 8192, a + kBytesOfA);
      wgmma_wait(1);
      if (step > 0) {
        release(&empty[(step - 1) % 3]);
      }
    }
    wgmma_wait(0);
    const int row = row0 + (group - 1) * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    const int column = column0 + threadIdx.x % 4 * 2;
    #pragma unroll
    for (int i = 0; i < kAccumulators; ++i) {
      wgmma_pin(d[i]);
      out[(row + i / 2 % 2 * 8) * 256 + column + i / 4 * 8 + i % 2] = d[i];
    }
  }
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

// Where a pointer into the block's own shared memory points, as the chip counts it: bytes from the start of the window.
__device__ __forceinline__ unsigned int shared_address(const void* to) {
  return __cvta_generic_to_shared(to);
}

// The first address at or above `pointer` that is a multiple of `alignment` (a power of two) bytes in the shared
// window.
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment) {
  const unsigned int address = shared_address(pointer);
  return static_cast<unsigned char*>(pointer) + ((alignment - address % alignment) % alignment);
}

// Makes a barrier for `count` (1 to 2^20 - 1) arrivals a phase.
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

// Makes earlier mbarrier_init() calls of this thread visible to the asynchronous proxy and to the cluster.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives once. What this thread wrote before is visible to threads that wait for the phase (release, in the block).
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Adds `bytes` to what the current phase expects of asynchronous copies, then arrives once.
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(at)), "r"(bytes) : "memory");
}

// Returns when the phase of this parity is complete, and sees what those who arrived wrote before.
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity) {
  for (unsigned int complete = 0; complete == 0;) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(complete)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  }
}

// Loads the box at these coordinates of a 2-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_2d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1)
      : "memory");
}

// Fetches the map itself ahead of its first use. A hint: no effect that could be seen.
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// This thread's lane, 0 to 31.
__device__ __forceinline__ unsigned int lane_id() {
  unsigned int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// Lane 0's value in all lanes, so that the compiler knows it to be the same: for a warp's role. Collective.
__device__ __forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

// True in exactly one lane of the warp, always the same one. Collective. sm_90 and later.
__device__ __forceinline__ bool elect_one() {
  unsigned int elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(elected)::"memory");
  return elected != 0;
}

// Orders earlier accesses of registers (accumulators, A) before the products that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes a group: all products of this warpgroup since the last one.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most the `pending` (a constant, 0 or 1) newest groups are still in flight.
__device__ __forceinline__ void wgmma_wait(int pending) {
  if (pending == 0) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  if (pending == 1) {
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
}

// Keeps the compiler from moving an accumulator across: before wgmma_fence() and after wgmma_wait(). No instruction.
__device__ __forceinline__ void wgmma_pin(float& value) {
  asm volatile("" : "+f"(value)::"memory");
}

// Describes an operand in shared memory: its first byte, two pitches and the swizzle, in bytes.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle) {
  const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (shared_address(at) & 0x3ffffu) >> 4 | leading / 16ull << 16 | stride / 16ull << 32 | mode << 62;
}

// The descriptor with its start moved by `bytes`, a multiple of 16, negative too.
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes) {
  return descriptor + static_cast<unsigned long long>(static_cast<long long>(bytes / 16));
}

// Gives back the registers of each thread of this warpgroup beyond 24. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_24() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
}

// Waits until each thread of this warpgroup can have 232 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_232() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}

// d (64x128, f32) = a (64x16) * b (16x128), added to d where `accumulate` is not 0: f16, A K-major in shared memory, B K-major.
__device__ __forceinline__ void wgmma_m64n128k16_f16_ss(float (&d)[64], unsigned long long a, unsigned long long b,
                                                        int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, 1, 1, 0, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace pipeline_source
using pipeline_source::pipeline;
