// Gradient of the input of layers with strides on tensor cores (wgmma), 16 bits, channels last: a product over taps and
// output channels.
//
// grad_x at a position adds up, over taps and output channels, grad_y at stride * position - padding + dilation * tap
// times the tap's weight. M is positions of the input, N input channels, K taps by output channels. A stage has some
// output channels of one tap, or of taps of the depth that read the same planes of grad_y: tensor copies bring them
// from the pixels of grad_y that are a stride apart, with zeros outside of the image; bulk copies bring the weights,
// which pack_weights() has put into the order of shared memory. The blocks of a cluster copy a part of the weights
// each, to all of them; or, of tiles that are fewer than SMs, each makes the products of some stages, and they are
// added up at the end. Both operands are multiplied from shared memory.
#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/cluster.h"
#include "device/depth.h"
#include "device/grid.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"
#include "layout.h"

// ---- Packing ----
#include "weights.h"  // its kernel comes first in emitted sources

// ---- Tiles and stages ----
#include "device/ring.h"

// The first position of a box.
struct Place {
  int image;
  int row;
  int column;
};

// How many boxes a row of images has, and a column.
struct Boxes {
  int down;
  int across;
};

__device__ __forceinline__ Place place_of(int box, const Boxes& boxes) {
  return {kVolume ? box / boxes.across / boxes.down : box / boxes.across / boxes.down * P::box_n,
          box / boxes.across % boxes.down * P::box_h, box % boxes.across * P::box_w};
}

// Releases a stage to the producers of all blocks that write to it, after the warp's wait for its products.
__device__ __forceinline__ void release_to_cluster(unsigned long long* empty, int lane) {
  if (lane < kCopiers) {
    if (kCopiers == 1) {
      mbarrier_arrive(empty);
    } else {
      mbarrier_release_remote(empty, lane);
    }
  }
}

// ---- Producer ----

// Copies the block's part of a tap's weights, to all blocks of the cluster.
__device__ __forceinline__ void copy_weights(unsigned char* to, const unsigned char* from, unsigned long long* full,
                                             int rank) {
  if (kCopiers == 1) {
    bulk_load(to, from, kWeightBytes, full);
  } else {
    bulk_load_multicast(to + rank * kSharedWeightBytes, from + rank * kSharedWeightBytes, kSharedWeightBytes, full,
                        (1 << kCopiers) - 1);
  }
}

// Copies all stages of a tile, by one warp: each lane brings a box, the first one also the block's part of the weights.
// Bytes may arrive before they are expected: the stage is not full before the first lane's arrival.
__device__ __forceinline__ void copy_tile(unsigned char* shared, const TensorMap& grad_y_map,
                                          const unsigned char* weights, unsigned long long* full,
                                          unsigned long long* empty, const Place& place, const int deep, int lane,
                                          int rank, int& stage, unsigned int& parity) {
  const int plane = kVolume ? place.image % deep * (P::box_n * P::stride_d) - P::padding_d : 0;
  const int row = place.row * P::stride_h - P::padding_h;
  const int column = place.column * P::stride_w - P::padding_w;
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll 1
  for (int tap = 0; tap < kFirstTaps; ++tap) {
    const int tap_plane = kVolume ? plane + tap / (P::kernel_h * P::kernel_w) * P::dilation_d : 0;
    const int tap_row = row + (kVolume ? tap / P::kernel_w % P::kernel_h : tap / P::kernel_w) * P::dilation_h;
    const int tap_column = column + tap % P::kernel_w * P::dilation_w;
#pragma unroll 1
    for (int k_block = 0; k_block < kKBlocks; ++k_block) {
      unsigned char* to = shared + stage * kStageBytes;
      if (kCopiers == 1) {
        mbarrier_wait(&empty[stage], parity);
      } else {
        mbarrier_wait_cluster(&empty[stage], parity);
      }
      if (lane == 0) {
        if constexpr (kShares) {
          const int taps = tap < kFullTaps ? kStageTaps : kStageTaps - 1;
          mbarrier_arrive_expect(&full[stage], kInputBytes + taps * kWeightBytes);
#pragma unroll 1
          for (int i = 0; i < taps; ++i) {
            copy_weights(
                to + kInputBytes + i * kWeightBytes,
                weights + ((tap + i * (kTapsApart * P::kernel_h * P::kernel_w)) * kKBlocks + k_block) * kWeightBytes,
                &full[stage], rank);
          }
        } else {
          mbarrier_arrive_expect(&full[stage], kStageBytes);
          const unsigned char* from = weights + (tap * kKBlocks + k_block) * kWeightBytes;
          if (kCopiers == 1) {
            bulk_load(to + kInputBytes, from, kWeightBytes, &full[stage]);
          } else {
            bulk_load_multicast(to + kInputBytes + rank * kSharedWeightBytes, from + rank * kSharedWeightBytes,
                                kSharedWeightBytes, &full[stage], (1 << kCopiers) - 1);
          }
        }
      }
      if (lane < kBoxes) {
        if constexpr (kVolume) {
          tensor_load_5d(to + lane * kBoxBytes, grad_y_map, &full[stage], k_block * P::block_k, tap_column, tap_row,
                         tap_plane, place.image / deep);
        } else {
          tensor_load_4d(to + lane * kBoxBytes, grad_y_map, &full[stage], k_block * P::block_k, tap_column, tap_row,
                         place.image);
        }
      }
      next_stage(stage, parity);
    }
  }
}

// Copies the block's slice of a tile: stages from `first` up to `last`.
__device__ __forceinline__ void copy_slice(unsigned char* shared, const TensorMap& grad_y_map,
                                           const unsigned char* weights, unsigned long long* full,
                                           unsigned long long* empty, const Place& place, int lane, const int first,
                                           const int last, int& stage, unsigned int& parity) {
  const int row = place.row * P::stride_h - P::padding_h;
  const int column = place.column * P::stride_w - P::padding_w;
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn}), by k-blocks
#pragma unroll 1
  for (int k = first; k < last; ++k) {
    const int tap = k / kKBlocks;
    unsigned char* to = shared + stage * kStageBytes;
    mbarrier_wait(&empty[stage], parity);
    if (lane == 0) {
      mbarrier_arrive_expect(&full[stage], kStageBytes);
      bulk_load(to + kInputBytes, weights + k * kWeightBytes, kWeightBytes, &full[stage]);
    }
    if (lane < kBoxes) {
      tensor_load_4d(to + lane * kBoxBytes, grad_y_map, &full[stage], k % kKBlocks * P::block_k,
                     column + tap % P::kernel_w * P::dilation_w, row + tap / P::kernel_w * P::dilation_h, place.image);
    }
    next_stage(stage, parity);
  }
}

// ---- Products ----

#include "device/accumulators.h"

// Issues the products of a stage of a warpgroup, and waits for those of the stage before. The warpgroup's tiles are
// every second or third one.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const unsigned char* stage, int warpgroup,
                                               int accumulate) {
  const unsigned long long a = wgmma_descriptor(stage + warpgroup * (64 * kSwizzle), 0, 8 * kSwizzle, kSwizzle);
  const unsigned long long b = wgmma_descriptor(stage + kInputBytes, 0, 8 * kSwizzle, kSwizzle);
  wgmma_fence();
#pragma unroll
  for (int k_step = 0; k_step < kKSteps; ++k_step) {
#pragma unroll
    for (int tile = 0; tile < kMTiles; ++tile) {
      wgmma_ss(P::type, kWgmmaMajorK, kWgmmaMajorK, acc[tile],
               wgmma_descriptor_move(a, tile * (kGroupRows * kSwizzle) + k_step * 32),
               wgmma_descriptor_move(b, k_step * 32), k_step > 0 ? 1 : accumulate);
    }
  }
  wgmma_commit();
  wgmma_wait(1);
}

// The rows of a stage before a row of the tile, a multiple of 64: boxes have more of them.
__host__ __device__ constexpr int rows_before(int row) {
  return row / kBoxPositions * kBoxRows + row % kBoxPositions;
}

// The same of a stage that so many taps of the depth share: each begins at another plane.
__device__ __forceinline__ void multiply_shared_stage(Accumulators& acc, const unsigned char* stage, int warpgroup,
                                                      const int taps, int accumulate) {
  const unsigned long long a =
      wgmma_descriptor(stage + (warpgroup == 0 ? 0 : rows_before(64)) * kSwizzle, 0, 8 * kSwizzle, kSwizzle);
  const unsigned long long b = wgmma_descriptor(stage + kInputBytes, 0, 8 * kSwizzle, kSwizzle);
  wgmma_fence();
#pragma unroll
  for (int tap = 0; tap < taps; ++tap) {
#pragma unroll
    for (int k_step = 0; k_step < kKSteps; ++k_step) {
#pragma unroll
      for (int tile = 0; tile < kMTiles; ++tile) {
        wgmma_ss(P::type, kWgmmaMajorK, kWgmmaMajorK, acc[tile],
                 wgmma_descriptor_move(
                     a, (rows_before(tile * 128) + tap * (kPlanesApart * kImagePositions)) * kSwizzle + k_step * 32),
                 wgmma_descriptor_move(b, tap * kWeightBytes + k_step * 32), tap + k_step > 0 ? 1 : accumulate);
      }
    }
  }
  wgmma_commit();
  wgmma_wait(1);
}

// Makes the products of the stages{with first:  from `first`}{with last:  up to `last`} of a tile, each of so many taps
// of the depth.
__device__ __forceinline__ void multiply_shared_stages(Accumulators& acc, const unsigned char* shared,
                                                       unsigned long long* full, unsigned long long* empty,
                                                       int warpgroup, int lane, const int first, const int last,
                                                       const int taps, int& stage, unsigned int& parity) {
#pragma unroll 1
  for (int k = first; k < last; ++k) {
    mbarrier_wait(&full[stage], parity);
    multiply_shared_stage(acc, shared + stage * kStageBytes, warpgroup, taps, first > 0 || k > 0 ? 1 : 0);
    if (first > 0 || k > 0) {
      release_to_cluster(&empty[stage == 0 ? P::stages - 1 : stage - 1], lane);
    }
    next_stage(stage, parity);
  }
}

// ---- Epilogue ----

// Blocks of a cluster that accumulate one tile, and of a thread's accumulators for what one of them stores the vectors
// of four.
constexpr int kClusterBlocks = kSlices;
constexpr int kShareVectors = kMTiles * kStoredChannels / 8;

// A vector of the accumulators for what a block stores.
__device__ inline float* share_of(Accumulators& acc, int vector, int block) {
  return &acc[vector / (kStoredChannels / 8)][vector % (kStoredChannels / 8) * 4 + block * (kStoredChannels / 2)];
}

#include "forward_gemm/cluster_sums.h"

// Stores a thread's accumulators: of each position eight adjacent channels of 32.
__device__ __forceinline__ void store_tile(const Accumulators& acc, Element* __restrict__ grad_x, int first_box,
                                           const Boxes& boxes, const int deep, int first_channel, int warp, int lane,
                                           const int batch, const int in_d, const int in_h, const int in_w) {
  const int channel = first_channel + lane % 4 * 8;
  // Pinned, so that no place is found before the products and kept in registers that they need.
  unsigned int first = warp * 16 + lane / 4;
  wgmma_pin_operand(first);
#pragma unroll
  for (int half = 0; half < 2 * kMTiles; ++half) {
    const int m = half / 2 * kGroupRows + half % 2 * 8 + static_cast<int>(first);
    const Place place = place_of(first_box + m / kBoxPositions, boxes);
    const int image = kVolume ? place.image / deep : place.image + m % kBoxPositions / kImagePositions;
    const int plane = kVolume ? place.image % deep * P::box_n + m % kBoxPositions / kImagePositions : 0;
    const int row = place.row + m / P::box_w % P::box_h;
    const int column = place.column + m % P::box_w;
    if (image < batch && (!kVolume || plane < in_d) && row < in_h && column < in_w) {
      Element* to =
          grad_x +
          (((kVolume ? static_cast<long long>(image) * in_d + plane : static_cast<long long>(image)) * in_h + row) *
               in_w +
           column) *
              P::x_channels +
          channel;
#pragma unroll
      for (int i = 0; i < kStoredChannels; i += 32) {
        if (P::in_channels % P::block_n == 0 || channel + i < P::in_channels) {
          float values[8];
#pragma unroll
          for (int v = 0; v < 8; ++v) {
            values[v] = acc[half / 2][i / 2 + v / 2 * 4 + half % 2 * 2 + v % 2];
          }
          store_together(to + i, values);
        }
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    tap_gemm(__grid_constant__ const TensorMap grad_y_map, const unsigned char* packed, Element* __restrict__ grad_x,
             int batch, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const Boxes boxes = {(in_h + (P::box_h - 1)) / P::box_h, (in_w + (P::box_w - 1)) / P::box_w};
  const int deep = (in_d + (P::box_n - 1)) / P::box_n;  // boxes along the depth: volumes' places count these
  const int all_boxes = (kVolume ? batch * deep : (batch - 1) / P::box_n + 1) * boxes.down * boxes.across;
  // A cluster makes tiles of the same input channels, of positions that follow one another. Those that have the same
  // positions are made together.
  constexpr int kClusterBoxes = kCopiers * kBoxes;
  const int tiles = (all_boxes + (kClusterBoxes - 1)) / kClusterBoxes * kNTiles;
  const int rank = P::cluster == 1 ? 0 : blockIdx.x % P::cluster;
  const int first_tile = blockIdx.x / P::cluster;
  const int next_tile = gridDim.x / P::cluster;
  const int slice_first = P::sliced ? rank * kTileStages / kSlices : 0;
  const int slice_last = P::sliced ? (rank + 1) * kTileStages / kSlices : kTileStages;

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  if (threadIdx.x == 0) {
    init_stages(full, empty, 1, kCopiers * (kConsumers / 32));
    fence_mbarrier_init();
  }
  if (kCopiers == 1) {
    __syncthreads();
  } else {
    cluster_arrive();
    cluster_wait();
  }

  const int warp = warp_uniform(threadIdx.x / 32);
  const int lane = threadIdx.x % 32;
  int stage = 0;
  if (warp >= kConsumers / 32) {
    grid_dependency_wait();  // the weights are packed
    unsigned int parity = 1;
    for (int tile = first_tile; tile < tiles; tile += next_tile) {
      const unsigned char* weights = packed + tile % kNTiles * kPackedTileBytes;
      const Place place = place_of((tile / kNTiles * kCopiers + (P::sliced ? 0 : rank)) * kBoxes + lane, boxes);
      if (P::sliced) {
        copy_slice(shared, grad_y_map, weights, full, empty, place, lane, slice_first, slice_last, stage, parity);
        __syncwarp();
        cluster_sync();  // with the consumers, in reduce_cluster()
        cluster_sync();
        __syncthreads();  // they have read what the stages' memory received
      } else {
        copy_tile(shared, grad_y_map, weights, full, empty, place, deep, lane, rank, stage, parity);
      }
    }
  } else {
    unsigned int parity = 0;
    Accumulators acc = {};
    for (int tile = first_tile; tile < tiles; tile += next_tile) {
      pin(acc);
      if constexpr (kShares) {
        constexpr int kFullStages = kFullTaps * kKBlocks;
        multiply_shared_stages(acc, shared, full, empty, warp / 4, lane, 0, kFullStages, kStageTaps, stage, parity);
        if constexpr (kFullTaps < kFirstTaps) {
          multiply_shared_stages(acc, shared, full, empty, warp / 4, lane, kFullStages, kTileStages, kStageTaps - 1,
                                 stage, parity);
        }
      } else {
        for (int k = slice_first; k < slice_last; ++k) {
          mbarrier_wait(&full[stage], parity);
          multiply_stage(acc, shared + stage * kStageBytes, warp / 4, k > slice_first ? 1 : 0);
          if (k > slice_first) {
            release_to_cluster(&empty[stage == 0 ? P::stages - 1 : stage - 1], lane);
          }
          next_stage(stage, parity);
        }
      }
      wgmma_wait(0);
      pin(acc);
      release_to_cluster(&empty[stage == 0 ? P::stages - 1 : stage - 1], lane);
      if (P::sliced) {
        reduce_cluster(acc, shared, rank);
      }
      store_tile(acc, grad_x, (tile / kNTiles * kCopiers + (P::sliced ? 0 : rank)) * kBoxes, boxes, deep,
                 tile % kNTiles * P::block_n + (P::sliced ? rank * kStoredChannels : 0), warp, lane, batch, in_d, in_h,
                 in_w);
      if (P::sliced) {
        fence_proxy_async();
        __syncthreads();  // with the producer, whose copies come next
      }
    }
  }
  if (kCopiers > 1) {
    // No block ends while others send to it.
    __syncwarp();
    cluster_arrive();
    cluster_wait();
  }
}
