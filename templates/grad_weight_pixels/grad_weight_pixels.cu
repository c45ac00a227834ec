// Gradient of the weights on tensor cores (wgmma), 16 bits: products over positions, whose channels are copied as they
// lie with channels last. Small tensors of NCHW are brought to channels last before.
//
// The gradient of a weight adds up, over all images and input positions i, x there times grad_y at stride * i - padding
// + dilation * k. So positions are the K of a matrix product: its rows are output channels by taps, its columns input
// channels. Tensor copies bring positions of x, which are MN-major B operands, and the planes of grad_y that the taps
// reach, with zeros where the images end. A tap moves the address from which consumers load the rows' A fragments by
// whole positions. Positions are cut into slices. A block computes some channels and taps over one slice; a second
// kernel adds the slices in their order, so that results have the same bits in each call.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/template.h"
#include "device/tensor_copy.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"

// ---- Tiles and stages ----
#include "layout.h"

#include "pixel_gemm/pipeline.h"

#include "pixel_gemm/multiply.h"

#include "pixel_gemm/elements.h"

using WeightIndex = long long;
#include "pixel_gemm/epilogue.h"

#include "pixel_gemm/consume.h"

// ---- Producer ----

// What a block reads: its first channels of x and grad_y, the origin of its taps, and its tiles.
struct Source {
  int in;
  int out;
  int origin_h;
  int origin_w;
  long long first_tile;
  int row_tiles;  // of an image
  int column_tiles;
};

// Issues the copies of a tile of the slice: the boxes of x, and those of each plane of grad_y.
__device__ __forceinline__ void copy_tile(unsigned char* shared, const TensorMap& x_map, const TensorMap& grad_y_map,
                                          unsigned long long* full, const Source& source, int issued) {
  // Tiles of one column of tiles follow one another.
  const long long tile = source.first_tile + issued;
  const int image = static_cast<int>(tile / source.row_tiles / source.column_tiles) * P::tile_images;
  const int row = static_cast<int>(tile % source.row_tiles) * P::tile_rows;
  const int column = static_cast<int>(tile / source.row_tiles % source.column_tiles) * P::tile_columns;
  unsigned char* stage = shared + issued % P::stages * kStageBytes;
  unsigned long long* barrier = &full[issued % P::stages];
  mbarrier_arrive_expect(barrier, kCopiedBytes);
#pragma unroll
  for (int box = 0; box < kInBoxes; ++box) {
    tensor_load_4d(stage + box * kInputBoxBytes, x_map, barrier, source.in + box * kInBox, column, row, image);
  }
#pragma unroll
  for (int box = 0; box < kPlanes * kOutBoxes; ++box) {
    const int plane = box / kOutBoxes;
    tensor_load_4d(stage + kInputBytes + box * kPlaneBoxBytes, grad_y_map, barrier,
                   source.out + box % kOutBoxes * kOutBox,
                   column * P::stride_w + source.origin_w + plane % kPlanesW * P::dilation_w,
                   row * P::stride_h + source.origin_h + plane / kPlanesW * P::dilation_h, image);
  }
}

// Zeros behind what copies bring to each of some boxes, which products read. No copy overwrites them.
__device__ __forceinline__ void zero_tails(unsigned char* boxes, int count, int copied, int bytes) {
  for (int box = 0; box < count; ++box) {
    for (int i = copied + static_cast<int>(threadIdx.x) * 16; i < bytes; i += kThreads * 16) {
      *reinterpret_cast<uint4*>(boxes + box * bytes + i) = make_uint4(0, 0, 0, 0);
    }
  }
}

// ---- Kernels ----
#include "copies.h"

#include "device/channel_sums.h"

#include "device/add_slices.h"

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    grad_weight_pixels(__grid_constant__ const TensorMap x_map, __grid_constant__ const TensorMap grad_y_map,
                       float* __restrict__ partial, float* totals, Element* __restrict__ grad_weight, int batch,
                       int height, int width) {
  const int block = blockIdx.x;
  const Target target = target_of(block);
  const int row_tiles = (input_rows(height) + (P::tile_rows - 1)) / P::tile_rows;
  const int column_tiles = P::flat ? 1 : (input_columns(width) + (P::tile_columns - 1)) / P::tile_columns;
  const long long image_tiles = (static_cast<long long>(batch) + (P::tile_images - 1)) / P::tile_images;
  const long long tiles = image_tiles * row_tiles * column_tiles;
  const long long first_tile = tiles * target.slice / P::slices;
  const int count = static_cast<int>(tiles * (target.slice + 1) / P::slices - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < P::stages; ++stage) {
      mbarrier_init(&full[stage], 1);
      mbarrier_init(&empty[stage], kConsumers / 32);
    }
    fence_mbarrier_init();
  }
  if (P::flat) {
    for (int stage = 0; stage < P::stages; ++stage) {
      zero_tails(shared + stage * kStageBytes, kInBoxes, kInputPixels * kInSwizzle, kInputBoxBytes);
      zero_tails(shared + stage * kStageBytes + kInputBytes, kPlanes * kOutBoxes, kPlanePixels * kOutSwizzle,
                 kPlaneBoxBytes);
    }
    fence_proxy_async();
  }
  __syncthreads();

  const Source source = {target.group * kGroupIn + target.first_in,
                         target.group * kGroupOut + target.first_out,
                         target.first_kh * P::dilation_h - P::padding_h,
                         target.first_kw * P::dilation_w - P::padding_w,
                         first_tile,
                         row_tiles,
                         column_tiles};
  if (threadIdx.x == 0) {
    for (int issued = 0; issued < min(count, P::stages); ++issued) {
      copy_tile(shared, x_map, grad_y_map, full, source, issued);
    }
  }

  const int thread = threadIdx.x;
  const int warpgroup = __shfl_sync(0xffffffffu, thread / 128, 0);
  Place places[kOwnTiles];
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
    const int rows = (tile * P::consumer_groups + warpgroup) * 4 + thread / 32 % 4;
    places[tile] = place_of_rows(rows, thread % 32);
  }
  float* own_totals = totals + block * kTotals + thread;
  Accumulators acc[kOwnTiles] = {};
  for (int consumed = 0; consumed < count; ++consumed) {
    // A stage is issued again some stages after this warp has read it: other warps may lag behind it.
    const int next = consumed - kIssueLag + P::stages;
    if (thread == 0 && consumed >= kIssueLag && next < count) {
      mbarrier_wait(&empty[next % P::stages], (next / P::stages - 1) % 2);
      copy_tile(shared, x_map, grad_y_map, full, source, next);
    }
    __syncwarp();
    consume_stage(acc, places, own_totals, shared, full, empty, consumed, warpgroup, thread % 32);
  }
  store_sums(acc, own_totals, count, reinterpret_cast<float*>(shared), target, partial, grad_weight, warpgroup, thread);
}
