// How tensor copies bring the boxes of a stage, for gradients of weights.
#pragma once

#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/tensor_copy.h"
#include "grad_weight/boxes.h"
#include "grad_weight/pipeline.h"

// What a block reads.
struct Source {
  int in;        // its first channel of x
  int out;       // of grad_y
  int origin_h;  // of its taps
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
  unsigned char* stage = shared + stage_of(issued) * kStageBytes;
  unsigned long long* barrier = &full[stage_of(issued)];
  mbarrier_arrive_expect(barrier, kCopiedBytes);
#pragma unroll
  for (int box = 0; box < kParts * kInBoxes; ++box) {
    tensor_load_4d(stage + box * kInputBoxBytes, x_map, barrier,
                   source.in + (box / kInBoxes * P::in_channels + box % kInBoxes * kInBox), column, row, image);
  }
#pragma unroll
  for (int box = 0; box < kParts * kPlanes * kOutBoxes; ++box) {
    const int part = box / (kPlanes * kOutBoxes);
    const int of_part = box % (kPlanes * kOutBoxes);
    const int plane = of_part / kOutBoxes;
    tensor_load_4d(stage + (kInputBytes + part * kWindowPartBytes + of_part * kPlaneBoxBytes), grad_y_map, barrier,
                   source.out + (part * P::out_channels + of_part % kOutBoxes * kOutBox),
                   column * P::stride_w + source.origin_w + plane % kPlanesW * P::dilation_w,
                   row * P::stride_h + source.origin_h + plane / kPlanesW * P::dilation_h, image);
  }
}

// Zeros after what copies bring to each of some boxes, which products read. No copy overwrites them.
__device__ __forceinline__ void zero_tails(unsigned char* boxes, int count, int copied, int bytes) {
  for (int box = 0; box < count; ++box) {
    for (int i = copied + static_cast<int>(threadIdx.x) * 16; i < bytes; i += kThreads * 16) {
      *reinterpret_cast<uint4*>(boxes + box * bytes + i) = make_uint4(0, 0, 0, 0);
    }
  }
}

// The same of all stages.
__device__ __forceinline__ void zero_stage_tails(unsigned char* shared) {
  for (int stage = 0; stage < P::stages; ++stage) {
    unsigned char* input = shared + stage * kStageBytes;
    zero_tails(input, kParts * kInBoxes, kInputPixels * kInSwizzle, kInputBoxBytes);
    for (int part = 0; part < kParts; ++part) {
      zero_tails(input + kInputBytes + part * kWindowPartBytes, kPlanes * kOutBoxes, kPlanePixels * kOutSwizzle,
                 kPlaneBoxBytes);
    }
  }
  fence_proxy_async();
}

// The first stages' copies, by one thread.
__device__ __forceinline__ void copy_first(unsigned char* shared, const TensorMap& x_map, const TensorMap& grad_y_map,
                                           unsigned long long* full, const Source& source, int count) {
  for (int issued = 0; issued < min(count, P::stages); ++issued) {
    copy_tile(shared, x_map, grad_y_map, full, source, issued);
  }
}

// One thread's copies for the stage that some stages before this one were consumed from: other warps may be slower.
__device__ __forceinline__ void copy_next(unsigned char* shared, const TensorMap& x_map, const TensorMap& grad_y_map,
                                          unsigned long long* full, unsigned long long* empty, const Source& source,
                                          int count, int consumed) {
  const int next = consumed - kIssueLag + P::stages;
  if (consumed >= kIssueLag && next < count) {
    mbarrier_wait(&empty[stage_of(next)], refill_parity(next));
    copy_tile(shared, x_map, grad_y_map, full, source, next);
  }
}

// All tiles, and those of a slice.
struct Tiles {
  int row_tiles;  // of an image
  int column_tiles;
  long long all;
};
__device__ __forceinline__ Tiles tiles_of(int batch, int height, int width) {
  const int row_tiles = (input_rows(height) + (P::tile_rows - 1)) / P::tile_rows;
  const int column_tiles = P::flat ? 1 : (input_columns(width) + (P::tile_columns - 1)) / P::tile_columns;
  const long long image_tiles = (static_cast<long long>(batch) + (P::tile_images - 1)) / P::tile_images;
  return {row_tiles, column_tiles, image_tiles * row_tiles * column_tiles};
}

__device__ __forceinline__ Source source_of(const Target& target, const Tiles& tiles, long long first_tile) {
  return {target.group * kGroupIn + target.first_in,
          target.group * kGroupOut + target.first_out,
          target.first_kh * P::dilation_h - P::padding_h,
          target.first_kw * P::dilation_w - P::padding_w,
          first_tile,
          tiles.row_tiles,
          tiles.column_tiles};
}
