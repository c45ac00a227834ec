// Reduction over a cluster, whose blocks accumulate different terms of one tile.
// Needs: Accumulators, kClusterBlocks, kConsumers, kShareVectors, share_of()
#pragma once

#include "device/cluster.h"

// A barrier of all threads of the cluster; what they wrote before it is visible after.
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// Reduces the accumulators of all blocks, always in the same order. Each block reduces its share of the channels, which
// then stand in its first columns. The stages' memory, which all blocks have read by then, receives what others send.
__device__ __forceinline__ void reduce_cluster(Accumulators& acc, unsigned char* stages, int rank) {
  uint4* received = reinterpret_cast<uint4*>(stages) + threadIdx.x;
  cluster_sync();
#pragma unroll
  for (int vector = 0; vector < kShareVectors; ++vector) {
#pragma unroll
    for (int to = 0; to < kClusterBlocks; ++to) {
      const float* own = share_of(acc, vector, to);
      cluster_store_16(received + (rank * kShareVectors + vector) * kConsumers, to,
                       make_uint4(__float_as_uint(own[0]), __float_as_uint(own[1]), __float_as_uint(own[2]),
                                  __float_as_uint(own[3])));
    }
  }
  cluster_sync();
#pragma unroll
  for (int vector = 0; vector < kShareVectors; ++vector) {
    float total[4] = {0, 0, 0, 0};
#pragma unroll
    for (int from = 0; from < kClusterBlocks; ++from) {
      const uint4 part = received[(from * kShareVectors + vector) * kConsumers];
      total[0] += __uint_as_float(part.x);
      total[1] += __uint_as_float(part.y);
      total[2] += __uint_as_float(part.z);
      total[3] += __uint_as_float(part.w);
    }
    float* reduced = share_of(acc, vector, 0);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      reduced[i] = total[i];
    }
  }
}
