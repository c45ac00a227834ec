// Part of the template `mma_pixels`: which taps of its phase a position reads within the image (layout.h: how a word
// says so).
#pragma once

#include "device/static_parameters.h"
#include "layout.h"

// A bit for each tap of an axis: whether it reads within the image{with at: , where the first one reads at
// `at`}.
__device__ __forceinline__ unsigned int taps_within(int at, const int size, const int taps, const int step) {
  unsigned int bits = 0;
#pragma unroll
  for (int tap = 0; tap < taps; ++tap) {
    const int i = at - tap * step;
    bits |= i >= 0 && i < size ? 1u << tap : 0u;
  }
  return bits;
}

// The first tap of an axis that reads before the image's end{with at: , where the first of all reads at `at`}.
__device__ inline unsigned int first_within(int at, const int size, const int taps, const int step) {
  return at < size ? 0 : min((at - size) / step + 1, taps);
}

// How many taps of an axis read after the image's beginning{with at: , where the first of all reads at `at`}.
__device__ inline unsigned int end_within(int at, const int taps, const int step) {
  return at < 0 ? 0 : min(at / step + 1, taps);
}

// Which taps read within the image for a position where the first one reads at ({with iz: iz, }iy, ix).
// {if kTapFields: Of each axis the first.}
// {if not kTapFields: A bit for each row and column.}
__device__ __forceinline__ unsigned int taps_of(int iz, int iy, int ix, const int in_d, const int in_h,
                                                const int in_w) {
  if (kTapFields) {
    return first_within(ix, in_w, kPhaseTapsW, kOffsetStepW) |
           first_within(iy, in_h, kPhaseTapsH, kOffsetStepH) << kFirstBitH |
           (kHasDepth ? first_within(iz, in_d, kPhaseTapsD, kOffsetStepD) << kFirstBitD : 0);
  }
  return taps_within(ix, in_w, kPhaseTapsW, kOffsetStepW) |
         taps_within(iy, in_h, kPhaseTapsH, kOffsetStepH) << kFirstBitH |
         (kHasDepth ? taps_within(iz, in_d, kPhaseTapsD, kOffsetStepD) << kFirstBitD : 0);
}

// Of each axis the tap after the last of these.
__device__ __forceinline__ unsigned int ends_of(int iz, int iy, int ix) {
  return end_within(ix, kPhaseTapsW, kOffsetStepW) | end_within(iy, kPhaseTapsH, kOffsetStepH) << kFirstBitH |
         (kHasDepth ? end_within(iz, kPhaseTapsD, kOffsetStepD) << kFirstBitD : 0);
}

// A tap as positions' words have it: its bits; or its numbers along the axes, with all guards set.
__device__ inline unsigned int tap_word(int tap_d, int tap_h, int tap_w) {
  return kTapFields ? kGuards + (tap_w | tap_h << kFirstBitH | (kHasDepth ? tap_d << kFirstBitD : 0))
                    : 1u << tap_w | 1u << (tap_h + kFirstBitH) | (kHasDepth ? 1u << (tap_d + kFirstBitD) : 0u);
}

// Whether a position reads a tap within the image.
// {if kTapFields: A guard stays where the tap is not before the first, and goes where it is before the end.}
__device__ inline bool reads(unsigned int word, unsigned int end, unsigned int tap) {
  return kTapFields ? ((tap - word) & ~(tap - end) & kGuards) == kGuards : (word & tap) == tap;
}

constexpr unsigned int kRowBits = (1u << kFirstBitH) - 1;  // of a word, for the taps of a row

// A position's word for taps so many columns before.
__device__ inline unsigned int of_later_column(unsigned int word, int before) {
  return kTapFields ? word - min(static_cast<int>(word & kRowBits), before)
                    : (word & kRowBits) >> before | (word & ~kRowBits);
}
