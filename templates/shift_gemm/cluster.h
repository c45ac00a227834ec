// Reduction over a cluster: its blocks accumulate different input channels of one tile.
#pragma once

#include "forward_gemm/accumulators.h"
#include "layout.h"

// Accumulators of a thread for a block's share of the channels, in vectors of four: what one block sends to another.
constexpr int kClusterBlocks = P::cluster;
constexpr int kShareVectors = kPhases * kMTiles * kStoredChannels / 8;

// A vector of the accumulators for what a block stores.
__device__ inline float* share_of(Accumulators& acc, int vector, int block) {
  return &acc[vector / (kStoredChannels / 8 * kMTiles) / kFusedPhases][vector / (kStoredChannels / 8) % kMTiles]
             [vector / (kStoredChannels / 8 * kMTiles) % kFusedPhases * (P::block_n / 2) +
              vector % (kStoredChannels / 8) * 4 + block * (kStoredChannels / 2)];
}

#include "forward_gemm/cluster_sums.h"
