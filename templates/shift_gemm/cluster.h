// Reduction over a cluster: its blocks accumulate different input channels of one tile.
#pragma once

#include "device/cluster.h"
#include "forward_gemm/accumulators.h"
#include "layout.h"

// Accumulators of a thread for a block's share of the channels, in vectors of four: what one block sends to another.
constexpr int kShareVectors = kPhases * kMTiles * kStoredChannels / 8;

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
    const int tile = vector / (kStoredChannels / 8) % kMTiles;
    const int phase = vector / (kStoredChannels / 8 * kMTiles);
#pragma unroll
    for (int to = 0; to < P::cluster; ++to) {
      const int i = vector % (kStoredChannels / 8) * 4 + to * (kStoredChannels / 2);
      const float* own = &acc[phase / kFusedPhases][tile][phase % kFusedPhases * (P::block_n / 2) + i];
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
    for (int from = 0; from < P::cluster; ++from) {
      const uint4 part = received[(from * kShareVectors + vector) * kConsumers];
      total[0] += __uint_as_float(part.x);
      total[1] += __uint_as_float(part.y);
      total[2] += __uint_as_float(part.z);
      total[3] += __uint_as_float(part.w);
    }
    const int tile = vector / (kStoredChannels / 8) % kMTiles;
    const int phase = vector / (kStoredChannels / 8 * kMTiles);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      acc[phase / kFusedPhases][tile]
         [phase % kFusedPhases * (P::block_n / 2) + vector % (kStoredChannels / 8) * 4 + i] = total[i];
    }
  }
}
