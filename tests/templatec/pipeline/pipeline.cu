// The matrix product out = a * transpose of b by tensor cores, pipelined: TMA into a ring of stages, a producer
// warpgroup and two of consumers. No shipped template: what templates can use of the device primitives.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/cluster.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/template.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

using P = Parameters;

constexpr int kDepth = P::type == kWgmmaTf32 ? 32 : 64;  // elements of a stage's row
constexpr int kBytesOfA = 128 * 128;
constexpr int kBytesOfB = P::tile_n * 128;
constexpr int kStageBytes = kBytesOfA + kBytesOfB;
constexpr int kAccumulators = P::tile_n / 2;

static_assert(kStageBytes % 1024 == 0, "the swizzle's pattern is the same in every stage");

// All threads whose shared memory is written or signalled from each other's blocks.
__device__ __forceinline__ void meet() {
  if constexpr (P::cluster) {
    __syncwarp();
    cluster_arrive();
    cluster_wait();
  } else {
    __syncthreads();
  }
}

// Fills the stages in turn, each when its readers have left it.
__device__ __forceinline__ void produce(unsigned char* base, unsigned long long* full, unsigned long long* empty,
                                        const TensorMap& map_a, const TensorMap& map_b, int row0, int column0) {
  for (int step = 0; step < P::steps; ++step) {
    const int stage = step % P::stages;
    const unsigned int parity = (step / P::stages & 1) ^ 1;
    unsigned char* a = base + stage * kStageBytes;
    unsigned char* b = a + kBytesOfA;
    if constexpr (P::cluster) {
      mbarrier_wait_cluster(&empty[stage], parity);
      mbarrier_arrive_expect(&full[stage], kStageBytes);
      tensor_load_2d(a, map_a, &full[stage], step * kDepth, row0);
      const int half = cluster_rank() * (P::tile_n / 2);
      tensor_load_multicast_2d(b + half * 128, map_b, &full[stage], 3, step * kDepth, column0 + half);
    } else {
      mbarrier_wait(&empty[stage], parity);
      mbarrier_arrive_expect(&full[stage], kStageBytes);
      tensor_load_2d(a, map_a, &full[stage], step * kDepth, row0);
      tensor_load_2d(b, map_b, &full[stage], step * kDepth, column0);
    }
  }
}

// d += a * b over one stage: four products deep.
__device__ __forceinline__ void multiply(float (&d)[kAccumulators], const unsigned char* a, const unsigned char* b) {
  const unsigned long long a_descriptor = wgmma_descriptor(a, 16, 1024, 128);
  const unsigned long long b_descriptor = wgmma_descriptor(b, 16, 1024, 128);
  wgmma_fence();
  CONVTGEN_UNROLL
  for (int k = 0; k < 4; ++k) {
    const int at = 32 * k;
    // k from byte {at} of each row
    wgmma_ss(P::type, kWgmmaMajorK, kWgmmaMajorK, d, wgmma_descriptor_move(a_descriptor, at),
             wgmma_descriptor_move(b_descriptor, at), 1);
  }
  wgmma_commit();
}

// One thread of each warp says that it has left a stage, to all blocks that filled it.
__device__ __forceinline__ void release(unsigned long long* empty) {
  const unsigned int lane = lane_id();
  if constexpr (P::cluster) {
    if (lane < 2) {
      mbarrier_arrive_remote(empty, lane);
    }
  } else {
    if (lane == 0) {
      mbarrier_arrive(empty);
    }
  }
}

extern "C" __global__ void __launch_bounds__(384)
    pipeline(float* __restrict__ out, __grid_constant__ const TensorMap map_a,
             __grid_constant__ const TensorMap map_b) {
  unsigned char* base = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(base + P::stages * kStageBytes);
  unsigned long long* empty = full + P::stages;
  const int group = warp_uniform(threadIdx.x / 128);
  const int row0 = blockIdx.x % 2 * 128;
  const int column0 = blockIdx.x / 2 * P::tile_n;
  if (threadIdx.x == 0) {
    tensor_prefetch(map_a);
    for (int stage = 0; stage < P::stages; ++stage) {
      mbarrier_init(&full[stage], 1);
      mbarrier_init(&empty[stage], P::cluster ? 16 : 8);  // the consumers' warps
    }
    fence_mbarrier_init();
  }
  meet();
  if (group == 0) {
    setmaxnreg_decrease(24);
    if (warp_uniform(threadIdx.x / 32) == 0 && elect_one()) {
      produce(base, full, empty, map_a, map_b, row0, column0);
    }
  } else {
    setmaxnreg_increase(232);
    float d[kAccumulators];
#pragma unroll
    for (int i = 0; i < kAccumulators; ++i) {
      d[i] = 0;
      wgmma_pin(d[i]);
    }
    for (int step = 0; step < P::steps; ++step) {
      const int stage = step % P::stages;
      mbarrier_wait(&full[stage], step / P::stages & 1);
      const unsigned char* a = base + stage * kStageBytes;
      multiply(d, a + (group - 1) * 8192, a + kBytesOfA);
      wgmma_wait(1);
      if (step > 0) {
        release(&empty[(step - 1) % P::stages]);
      }
    }
    wgmma_wait(0);
    const int row = row0 + (group - 1) * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    const int column = column0 + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < kAccumulators; ++i) {
      wgmma_pin(d[i]);
      out[(row + i / 2 % 2 * 8) * P::columns + column + i / 4 * 8 + i % 2] = d[i];
    }
  }
  // Nobody's shared memory goes while another block of the cluster still writes to it.
  if constexpr (P::cluster) {
    meet();
  }
}
