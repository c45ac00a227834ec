// Part of the template `shift_gemm`, which uses what stands above its line there: sums of a tile that the blocks of a
// cluster make together, each of some input channels.
#pragma once

// Four sums each that a thread keeps of a tile, and what the blocks of a cluster send to one of them.
constexpr int kShareQuads = kPhases * kTiles * kStoredColumns / 8;

// Waits for all threads of the cluster, and sees what they wrote.
__device__ __forceinline__ void meet() {
  cluster_arrive();
  cluster_wait();
}

// Adds the sums of all blocks up, always in the same order: each block those of its share of the columns, which come to
// the places of the first columns. The stages' memory, which all blocks have read by then, holds what others send.
__device__ __forceinline__ void add_up_cluster(Sums (&sums)[kSums][kTiles], unsigned char* stages, int rank) {
  uint4* received = reinterpret_cast<uint4*>(stages) + threadIdx.x;
  meet();
#pragma unroll
  for (int quad = 0; quad < kShareQuads; ++quad) {
    const int tile = quad / (kStoredColumns / 8) % kTiles;
    const int phase = quad / (kStoredColumns / 8 * kTiles);
#pragma unroll
    for (int to = 0; to < P::cluster; ++to) {
      const int i = quad % (kStoredColumns / 8) * 4 + to * (kStoredColumns / 2);
      const float* own = &sums[phase / kMerged][tile][phase % kMerged * (P::columns / 2) + i];
      cluster_store_16(received + (rank * kShareQuads + quad) * kConsumers, to,
                       make_uint4(__float_as_uint(own[0]), __float_as_uint(own[1]), __float_as_uint(own[2]),
                                  __float_as_uint(own[3])));
    }
  }
  meet();
#pragma unroll
  for (int quad = 0; quad < kShareQuads; ++quad) {
    float total[4] = {0, 0, 0, 0};
#pragma unroll
    for (int from = 0; from < P::cluster; ++from) {
      const uint4 part = received[(from * kShareQuads + quad) * kConsumers];
      total[0] += __uint_as_float(part.x);
      total[1] += __uint_as_float(part.y);
      total[2] += __uint_as_float(part.z);
      total[3] += __uint_as_float(part.w);
    }
    const int tile = quad / (kStoredColumns / 8) % kTiles;
    const int phase = quad / (kStoredColumns / 8 * kTiles);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[phase / kMerged][tile][phase % kMerged * (P::columns / 2) + quad % (kStoredColumns / 8) * 4 + i] = total[i];
    }
  }
}
