// Threads load input to shared memory: each pixel has 16 bytes in each unit of channels.
// An activation keeps zeros where the image or the channels end, so it is applied to all that is staged.
// Needs: Element, kBytes, kGroupIn, kUnitPitch, kUnits, kUnitSharers, kVector, P, pixel_offset()
#pragma once

#include "device/async_copy.h"
#include "device/element.h"
#include "device/input_words.h"
#include "device/memory.h"

// One asynchronous copy: `bytes` from memory, and zeros for the rest of it.
__device__ __forceinline__ void copy(void* to, const Element* from, int bytes) {
  if (P::copy_bytes == 16) {
    async_copy_16(to, from, bytes);
  } else if (P::copy_bytes == 8) {
    async_copy_8(to, from, bytes);
  } else {
    async_copy_4(to, from, bytes);
  }
}

// Elements of one asynchronous copy. Channels last: threads share a pixel, each with as many channels as it copies or
// loads at a time; else kUnitSharers threads share a place, each with as many units.
constexpr int kCopyBytes = larger(P::copy_bytes, kBytes);
constexpr int kCopy = kCopyBytes / kBytes;
constexpr int kCopies = P::block_k / kCopy;                                                       // of a pixel
constexpr int kSharers = P::copy_bytes > 0 ? kCopies : P::channels_last ? kUnits : kUnitSharers;  // of a place

// ---- Places ----
#include "window/places.h"

// ---- Asynchronous copies ----

// The thread's channels of a k-block, and where its copy of a place lies in a stage.
__device__ __forceinline__ int copied_channel(int thread) {
  return thread % kSharers * kCopy;
}
__device__ __forceinline__ int offset_of_copy(int thread, int i) {
  const int channel = copied_channel(thread);
  return channel / kVector * kUnitPitch + pixel_offset(place_of(thread, i)) + channel % kVector * kBytes;
}

// Issues the thread's copies of a k-block of input channels: zeros where the image or the channels end.
__device__ __forceinline__ void stage_input(unsigned char* to, const Element* __restrict__ x, const Places& places,
                                            int first_channel, int thread) {
  const int ci = first_channel + copied_channel(thread);
  const int left = kGroupIn % P::block_k == 0 ? kCopy : max(0, min(kGroupIn - ci, kCopy));
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) {
    if (is_place(thread, i)) {
      const bool any = places[i] >= 0 && left > 0;
      copy(to + offset_of_copy(thread, i), any ? x + places[i] + ci : x, any ? left * kBytes : 0);
    }
  }
}

// {if kActivatesInput: Activates in place what the thread's own copies have written to a stage.}
// {if not kActivatesInput: tf32: rounds in place what the thread's own copies have written to a stage.}
__device__ __forceinline__ void round_input(unsigned char* stage, int thread) {
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) {
    if (is_place(thread, i)) {
      unsigned char* place = stage + offset_of_copy(thread, i);
      if (kCopyBytes == 16) {
        const uint4 v = *reinterpret_cast<const uint4*>(place);
        *reinterpret_cast<uint4*>(place) = make_uint4(operand(input_word(v.x)), operand(input_word(v.y)),
                                                      operand(input_word(v.z)), operand(input_word(v.w)));
      } else if (kCopyBytes == 8) {
        const uint2 v = *reinterpret_cast<const uint2*>(place);
        *reinterpret_cast<uint2*>(place) = make_uint2(operand(input_word(v.x)), operand(input_word(v.y)));
      } else {
        *reinterpret_cast<unsigned int*>(place) = operand(input_word(*reinterpret_cast<const unsigned int*>(place)));
      }
    }
  }
}

// ---- Through registers ----

// Input in registers, on its way to shared memory: units of channels, all of a place, or with channels last one.
constexpr bool kWholeUnits = P::channels_last && P::vector == kVector;
constexpr int kWords = kWholeUnits ? 4 : kVector;  // of a unit
constexpr int kPlaceUnits = P::channels_last ? 1 : kUnits / kUnitSharers;
constexpr int kItems = kPlaces * kPlaceUnits;
constexpr int kBatch = 32 / kWords;  // units that a thread has in flight
constexpr int kBatches = ceil_div(kItems, kBatch);
using Words = unsigned int[kBatch][kWords];

// The unit of a k-block, of the thread's item.
__device__ __forceinline__ int unit_of(int thread, int i) {
  return P::channels_last    ? thread % kUnits
         : kUnitSharers == 1 ? i % kPlaceUnits
                             : thread / kPlaceStep * kPlaceUnits + i % kPlaceUnits;
}

// Loads a batch of a k-block of input channels: zeros where the image or the channels end.
__device__ __forceinline__ void load_batch(Words& words, const Element* __restrict__ x, const Places& places,
                                           int first_channel, int batch_index, int thread, const int in_d,
                                           const int in_h, const int in_w) {
#pragma unroll
  for (int item = 0; item < kBatch; ++item) {
    const int i = batch_index * kBatch + item;
    if (i < kItems) {
      const long long place = places[i / kPlaceUnits];
      const int ci = first_channel + unit_of(thread, i) * kVector;
      const int left = kGroupIn - ci;
      const long long plane = static_cast<long long>(in_h) * in_w * in_d;
      const Element* pixel = x + place;
      const Element* from = P::channels_last ? pixel + ci : pixel + ci * plane;
      if (kWholeUnits) {
        uint4 loaded = make_uint4(0, 0, 0, 0);
        if (place >= 0 && (kGroupIn % P::block_k == 0 || left > 0)) {
          loaded = load_constant_16(from);
        }
        words[item][0] = loaded.x;
        words[item][1] = loaded.y;
        words[item][2] = loaded.z;
        words[item][3] = loaded.w;
      } else {
#pragma unroll
        for (int c = 0; c < kVector; ++c) {
          const Element* element = P::channels_last ? from + c : from + c * plane;
          words[item][c] = 0;
          if (place >= 0 && (kGroupIn % P::block_k == 0 || c < left)) {
            words[item][c] =
                P::vector * kBytes == 4 ? *reinterpret_cast<const unsigned int*>(element) : bits_of(*element);
          }
        }
      }
    }
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* to, const Words& words, int batch_index, int thread) {
#pragma unroll
  for (int item = 0; item < kBatch; ++item) {
    const int i = batch_index * kBatch + item;
    if (i < kItems && is_place(thread, i / kPlaceUnits)) {
      unsigned char* pixel =
          to + unit_of(thread, i) * kUnitPitch + pixel_offset(place_of(thread, i / kPlaceUnits) * kPlacePixels);
      uint4* place = reinterpret_cast<uint4*>(pixel);
      if (P::type == kWgmmaTf32 || kWholeUnits) {
        *place = make_uint4(operand(input_word(words[item][0])), operand(input_word(words[item][1])),
                            operand(input_word(words[item][2])), operand(input_word(words[item][3])));
      } else {
        // Two channels in a word.
        *place = make_uint4(input_word(low_halves(words[item][0], words[item][1])),
                            input_word(low_halves(words[item][2], words[item][3])),
                            input_word(low_halves(words[item][4], words[item][5])),
                            input_word(low_halves(words[item][6], words[item][7])));
        if (kPlacePixels == 2) {
          *reinterpret_cast<uint4*>(pixel + pixel_offset(1)) =
              make_uint4(input_word(high_halves(words[item][0], words[item][1])),
                         input_word(high_halves(words[item][2], words[item][3])),
                         input_word(high_halves(words[item][4], words[item][5])),
                         input_word(high_halves(words[item][6], words[item][7])));
        }
      }
    }
  }
}
