// Part of the template `mma_pixels`: the kernel that arranges x.
#pragma once

#include "device/call_sizes.h"
#include "device/depth.h"
#include "split.h"

// Writes x, which is in nchw or split, with channels last; zeros after a group's channels.
extern "C" __global__ void __launch_bounds__(kArrangers)
    arrange_input(const Element* __restrict__ x, const int* __restrict__ exponents,
                  unsigned char* __restrict__ arranged, int batch, int depth, int height, int width) {
  const long long plane =
      static_cast<long long>(input_depth(depth)) * input_rows(height) * input_columns(width);  // of a channel
  const int lane = threadIdx.x % 32;
  const int part = blockIdx.x % kArrangeParts;
  const long long pixel = static_cast<long long>(blockIdx.x / kArrangeParts) * kArrangedPixels +
                          threadIdx.x / 32 * kSectorPixels + lane % kSectorPixels;
  if constexpr (kSplit) {
    if (pixel < batch * plane) {
      arrange_split(x, exponents, arranged, pixel, plane, part, lane);
    }
  } else if (pixel < batch * plane) {
    const Element* from = x + (pixel / plane * P::x_channels * plane + pixel % plane);
    unsigned char* to = arranged + pixel * kInputPixelBytes;
#pragma unroll
    for (int i = 0; i < kPartVectors / kSharedVectors; ++i) {
      const int vector = part * kPartVectors + i * kSharedVectors + lane / kSectorPixels;
      if (kAllVectors % kPartVectors == 0 || vector < kAllVectors) {
        const int group = P::groups == 1 ? 0 : vector / (kGroupChannels / kVector);
        const int first = (vector - group * (kGroupChannels / kVector)) * kVector;  // channel of the group
        unsigned int words[kVector];
#pragma unroll
        for (int c = 0; c < kVector; ++c) {
          words[c] = 0;
          if (kGroupIn % kVector == 0 || first + c < kGroupIn) {
            words[c] = operand(bits_of(input_of(from[(group * kGroupIn + first + c) * plane])));
          }
        }
        if constexpr (kVector == 4) {
          *reinterpret_cast<uint4*>(to + vector * 16) = make_uint4(words[0], words[1], words[2], words[3]);
        } else {
          *reinterpret_cast<uint4*>(to + vector * 16) =
              make_uint4(words[0] | words[1] << 16, words[2] | words[3] << 16, words[4] | words[5] << 16,
                         words[6] | words[7] << 16);
        }
      }
    }
  }
}
