// A thread's biases.
// Needs, above its line, kAddsBias, kThreadChannels (of a thread), Element, P and widen().
#pragma once

#include "device/thread_channels.h"

// The biases of a thread's channels. They are loaded before a tile's first store: later loads would wait for it.
using BiasRegisters = float[kAddsBias ? kThreadChannels : 1];
__device__ __forceinline__ void load_bias(BiasRegisters& registers, const Element* __restrict__ bias, int co) {
  if (kAddsBias) {
#pragma unroll
    for (int i = 0; i < kThreadChannels; ++i) {
      const int channel = own_channel(co, i);
      registers[i] = P::out_channels % P::block_n == 0 || channel < P::out_channels ? widen(bias[channel]) : 0;
    }
  }
}
