// The channels of the boxes that tensor copies bring, for gradients of weights.
#pragma once

// Whose bytes are the box's swizzle: 64, 32 or 16.
__host__ __device__ constexpr int box_channels(int channels) {
  return channels % 64 == 0 ? 64 : channels % 32 == 0 ? 32 : 16;
}
