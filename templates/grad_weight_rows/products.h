// Part of the template `grad_weight_rows`: products of a stage, by the consumer warpgroups.
#pragma once

#include "device/memory.h"
#include "device/warpgroup.h"
#include "layout.h"

// ---- Products ----

// One thread's A fragments of one product of each of its tiles.
using Fragments = unsigned int[kOwnTiles][4];

// A thread's own place in the window, for 16 rows of a tap: bytes of the element, or of the word of two, that its first
// fragment word begins with. In 16 bits a fragment word has two positions, which need not lie in one word: the other one
// is in the word `next` bytes on, and both are moved right by bits.
struct Place {
  int first;
  int next;
  int first_bits;
  int next_bits;
};

// `skew` is where the window begins in its rows.
__device__ __forceinline__ Place place_of_rows(int rows, int lane, int skew) {
  const int tap = tap_of_rows(rows);
  const int channel = channel_of_rows(rows) + lane / 4;
  const int element = skew + tap % P::taps_w * P::dilation_w;
  const int bytes = tap / P::taps_w * P::dilation_h * kRowBytes + channel * kPitchBytes;
  Place place;
  if (P::type == kWgmmaTf32) {
    place.first = bytes + (lane % 4 * P::stride_w + element) * 4;
    place.next = 0;
    place.first_bits = 0;
    place.next_bits = 0;
  } else {
    place.first = bytes + (lane % 4 * P::stride_w + element / 2) * 4;
    place.next = ((element + P::stride_w) / 2 - element / 2) * 4;
    place.first_bits = element % 2 * 16;
    place.next_bits = (element + P::stride_w) % 2 * 16;
  }
  return place;
}

__device__ __forceinline__ unsigned int shared_word(const unsigned char* from) {
  return *reinterpret_cast<const unsigned int*>(from);
}

// One word of a fragment: an element, or two positions.
__device__ __forceinline__ unsigned int fragment_word(const unsigned char* from, const Place& place) {
  if constexpr (P::type == kWgmmaTf32) {
    return shared_word(from);
  } else {
    return low_halves(shared_word(from) >> place.first_bits, shared_word(from + place.next) >> place.next_bits);
  }
}

// Loads an A fragment: 16 rows of the warp by the positions of a product. Half of these are 4 elements, or words, on.
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* from,
                                              const Place& place) {
  constexpr int kHalfBytes = 16 * P::stride_w;
  fragment[0] = fragment_word(from, place);
  fragment[1] = fragment_word(from + 8 * kPitchBytes, place);
  fragment[2] = fragment_word(from + kHalfBytes, place);
  fragment[3] = fragment_word(from + (8 * kPitchBytes + kHalfBytes), place);
}

// All products of a stage, of a warpgroup that has so many tiles. `places` are the thread's own in the window.
__device__ __forceinline__ void multiply_stage(Accumulators (&acc)[kOwnTiles], const int tiles,
                                               const unsigned char* stage, const Place (&places)[kOwnTiles]) {
  const unsigned long long input = wgmma_descriptor(stage, 0, 8 * P::swizzle, P::swizzle);
  const unsigned char* window = stage + kInputBytes;
  Fragments fragments[2];
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int step = 0; step < kKSteps; ++step) {
    const int row = step / kRowSteps;
    const int pixel = step % kRowSteps * kInstructionK;
    const int part = (pixel / kBoxPixels * P::tile_rows + row) * kOperandBytes + pixel % kBoxPixels * kBytes;
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      load_fragment(fragments[step % 2][tile],
                    window + places[tile].first + (row * P::stride_h * kRowBytes + pixel * P::stride_w * kBytes),
                    places[tile]);
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        wgmma_pin_operand(fragments[step % 2][tile][word]);
      }
    }
    wgmma_fence();
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      wgmma_rs(P::type, kWgmmaMajorK, acc[tile], fragments[step % 2][tile], wgmma_descriptor_move(input, part), 1);
    }
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}
