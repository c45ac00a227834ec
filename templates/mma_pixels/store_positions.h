// Part of the template `mma_pixels`: outputs of a stage's planes, which go to planes too.
// Needs: channels_before(), epilogue(), kGroupOut, kSpan, position_of(), store_together()
#pragma once

#include "device/epilogue.h"

// Stores a thread's outputs, adjacent positions together: they are of one row, since rows have a multiple of them. What
// it takes is what store_outputs() does.
__device__ __forceinline__ void store_positions(const Accumulators& acc, Element* __restrict__ y,
                                                const long long* stored, const float* bias, int row, int channel,
                                                int left, long long plane) {
#pragma unroll
  for (int first = 0; first < 2 * kWarpTiles; first += kSpan) {
    const long long to = stored[row + position_of(first / 2, first % 2)];
    if (to >= 0) {
      // Other channels lie at constant distances from the first, which take no registers.
      Element* first_y = y + to + channel * plane;
#pragma unroll
      for (int i = 0; i < kWarpChannels / 4; ++i) {
        const int before = channels_before(i);
        if (kGroupOut % P::block_n == 0 || before < left - channel) {
          float values[P::store];
#pragma unroll
          for (int v = 0; v < P::store; ++v) {
            values[v] = epilogue(acc[(first + v) / 2][i / 2][(first + v) % 2 * 2 + i % 2],
                                 P::has_bias ? bias[channel + before] : 0);
          }
          store_together(first_y + before * plane, values);
        }
      }
    }
  }
}
