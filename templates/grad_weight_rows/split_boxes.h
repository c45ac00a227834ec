// Part of the template `grad_weight_rows`: boxes of x that are split. A warp issues all copies; the others of its
// warpgroup split what these bring: the high parts take the place of the values, the low parts follow all boxes.
#pragma once

#include "device/barrier.h"
#include "device/ring.h"
#include "device/parts.h"
#include "staging.h"

constexpr int kSplitters = P::producers - 32;
constexpr int kSplitterWarps = kSplitters / 32;

// Splits the boxes of a stage, by one of the splitters.
__device__ __forceinline__ void split_boxes(unsigned char* input, int splitter) {
#pragma unroll 4
  for (int at = splitter * 16; at < kBoxesBytes; at += kSplitters * 16) {
    uint4* high = reinterpret_cast<uint4*>(input + at);
    uint4* low = reinterpret_cast<uint4*>(input + at + kInputPartBytes);
    const uint4 values = *high;
    *high = make_uint4(high_part(values.x), high_part(values.y), high_part(values.z), high_part(values.w));
    *low = make_uint4(low_part(values.x), low_part(values.y), low_part(values.z), low_part(values.w));
  }
}

// All stages of a block's slice: `count` tiles from `first_tile` on, by one of the producers.
__device__ __forceinline__ void bring_boxes(unsigned char* shared, unsigned long long* full, unsigned long long* empty,
                                            const TensorMap& x_map, const TensorMap& grad_y_map, const Source& source,
                                            long long first_tile, int count, const int row_tiles,
                                            const int column_tiles, int thread) {
  unsigned long long* raw = reinterpret_cast<unsigned long long*>(shared + kRawBarrierOffset);
  if (thread == 0) {
    for (int issued = 0; issued < count; ++issued) {
      const int stage = stage_of(issued);
      if (issued >= P::stages) {
        mbarrier_wait(&empty[stage], refill_parity(issued));
      }
      copy_stage(shared + stage * kStageBytes, x_map, grad_y_map, &full[stage], &raw[stage], source,
                 tile_at(first_tile + issued, row_tiles, column_tiles));
    }
  } else if (thread >= 32) {
    for (int brought = 0; brought < count; ++brought) {
      const int stage = stage_of(brought);
      mbarrier_wait(&raw[stage], full_parity(brought));
      split_boxes(shared + stage * kStageBytes, thread - 32);
      fence_proxy_async();
      warp_arrive(&full[stage], true);
    }
  }
}
