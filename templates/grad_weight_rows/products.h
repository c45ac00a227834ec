// Part of the template `grad_weight_rows`: the operands of a stage's products.
#pragma once

#include "device/memory.h"
#include "device/warpgroup.h"
#include "layout.h"

// ---- Products ----

constexpr int kOtherRegisters = 32;  // of a thread, besides accumulators and fragments

// A thread's own place in the window, for 16 rows of a tap: bytes of the element, or of the word of two, that its first
// fragment word begins with. {with next: In 16 bits a fragment word has two positions, which need not lie in one word:
// the other one is in the word `next` bytes on, and both are moved right by bits.}
struct Place {
  int first;
  int next;
  int first_bits;
  int next_bits;
};

// {with skew: `skew` is where the window begins in its rows.}
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

// Words of both taps of a pair: an element of each, or two positions of each.
__device__ __forceinline__ uint2 pair_words(const unsigned char* from) {
  if constexpr (P::type == kWgmmaTf32) {
    return *reinterpret_cast<const uint2*>(from);
  } else if constexpr (P::stride_w == 2) {
    const uint2 words = *reinterpret_cast<const uint2*>(from);
    return make_uint2(low_halves(words.x, words.y), high_halves(words.x, words.y));
  } else {
    const unsigned int first = shared_word(from);
    const unsigned int next = shared_word(from + 2 * P::stride_w);
    return make_uint2(low_halves(first, next), high_halves(first, next));
  }
}

// Bytes more to a thread's position of a step where it is in a later row of a flat image than where the step begins.
// {with first: `first` is the column of the first thread's.}
__device__ __forceinline__ int bytes_of_rows(const int first) {
  if constexpr (!kFlat) {
    return 0;
  }
  constexpr int kMore = P::stride_h * kRowBytes - P::width * P::stride_w * kBytes;
  const int column = first + static_cast<int>(threadIdx.x % 4) * (kVector / 4);
  return column >= 2 * P::width ? 2 * kMore : column >= P::width ? kMore : 0;
}

// Loads an A fragment: 16 rows of the warp by the positions of a step. Half of these are 4 elements, or words, on.
//
// {with offset: The stage is `offset` bytes into `shared`.}
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              const int, const int step, const Place& place) {
  constexpr int kHalfBytes = 16 * P::stride_w;
  const int column = kFlat ? step * kInstructionK % P::width : 0;  // the step's first, of an image's rows
  const int row = (kFlat ? step * kInstructionK / P::width : step / kRowSteps) * P::stride_h * kRowBytes;
  const int pixel = kFlat ? column * P::stride_w * kBytes : step % kRowSteps * kInstructionK * P::stride_w * kBytes;
  const unsigned char* from = shared + offset + kInputBytes + place.first + (row + pixel);
  if constexpr (kPairedTaps) {
    const uint2 first = pair_words(from + bytes_of_rows(column));
    const uint2 second = pair_words(from + kHalfBytes + bytes_of_rows(column + kInstructionK / 2));
    fragment[0] = first.x;
    fragment[1] = first.y;
    fragment[2] = second.x;
    fragment[3] = second.y;
    return;
  }
  fragment[0] = fragment_word(from, place);
  fragment[1] = fragment_word(from + 8 * kPitchBytes, place);
  fragment[2] = fragment_word(from + kHalfBytes, place);
  fragment[3] = fragment_word(from + (8 * kPitchBytes + kHalfBytes), place);
}

// The B operands: the input of the first step, and bytes from there to another step's.
constexpr int kInputMajor = kWgmmaMajorK;
__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return wgmma_descriptor(stage, 0, 8 * P::swizzle, P::swizzle);
}
__device__ __forceinline__ int input_of_step(const int step) {
  const int pixel = step % kRowSteps * kInstructionK;
  return (pixel / kBoxPixels * kBoxRows + step / kRowSteps) * kOperandBytes + pixel % kBoxPixels * kBytes;
}
