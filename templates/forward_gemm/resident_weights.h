// Weights that come through registers and stay in shared memory, where tensor copies can't bring them.
// Needs: Element, fence_proxy_async(), kHasGaps, kResidentBytes, kWeightColumns, kWeightThreads, P, weight_place()
#pragma once

#include "device/barrier.h"
#include "device/memory.h"
#include "layout.h"

constexpr int kWeightVectors = P::in_channels * kWeightColumns / 8;  // of 16 bytes
constexpr int kHeldVectors = 4;                                      // of a thread, which are loaded together

// Loads a thread's vectors from its first one on.
__device__ __forceinline__ void load_vectors(uint4 (&vectors)[kHeldVectors], const Element* __restrict__ weight,
                                             unsigned int first) {
#pragma unroll
  for (unsigned int i = 0; i < kHeldVectors; ++i) {
    const unsigned int at = first + i * kWeightThreads;
    if (at < kWeightVectors) {
      vectors[i] = load_constant_16(weight + at * 8);
    }
  }
}

__device__ __forceinline__ void put_vectors(unsigned char* to, const uint4 (&vectors)[kHeldVectors],
                                            unsigned int first) {
#pragma unroll
  for (unsigned int i = 0; i < kHeldVectors; ++i) {
    const unsigned int at = first + i * kWeightThreads;
    const unsigned int words[4] = {vectors[i].x, vectors[i].y, vectors[i].z, vectors[i].w};
    if (at < kWeightVectors) {
#pragma unroll
      for (unsigned int v = 0; v < 8; ++v) {
        *reinterpret_cast<Element*>(to + weight_place((at * 8 + v) / kWeightColumns, (at * 8 + v) % kWeightColumns)) =
            static_cast<Element>(words[v / 2] >> v % 2 * 16);
      }
    }
  }
}

// Puts all weights, which follow one another in memory, to where products look for them, and zeros to what lies
// between. Each of kWeightThreads threads takes part. The weights are there after a barrier of these.
__device__ __forceinline__ void load_weights(unsigned char* to, const Element* __restrict__ weight) {
  uint4 vectors[kHeldVectors] = {};
  load_vectors(vectors, weight, threadIdx.x);
  if (kHasGaps) {  // while these come
    for (int i = threadIdx.x; i < kResidentBytes / 16; i += kWeightThreads) {
      *reinterpret_cast<uint4*>(to + i * 16) = make_uint4(0, 0, 0, 0);
    }
    named_barrier_sync(1, kWeightThreads);
  }
  put_vectors(to, vectors, threadIdx.x);
  if (kWeightVectors > kHeldVectors * kWeightThreads) {
#pragma unroll 1
    for (unsigned int first = threadIdx.x + kHeldVectors * kWeightThreads; first < kWeightVectors;
         first += kHeldVectors * kWeightThreads) {
      load_vectors(vectors, weight, first);
      put_vectors(to, vectors, first);
    }
  }
  fence_proxy_async();
}
