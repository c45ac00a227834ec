// What gradients of layers share whose groups have few output channels: how threads share a block, and the window of
// grad_y that a thread reads from global memory to registers, by vectors of 16 bytes where rows begin at such.
// Needs `Parameters` with the layer, threads_x, threads_y, threads_c, lanes_of_channels, columns_per_thread,
// channels_per_thread, taps_w and vector; and, above its line, widen() of device/scalar.h.
// Needs: Element, Offset, P, Sum, widen()
#pragma once

#include "device/memory.h"
#include "device/template.h"

constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kGroupIn = P::in_channels / P::groups;
constexpr int kGroupOut = P::out_channels / P::groups;

// A thread has some input channels of a group, its slot, and adjacent columns of one row of positions.
constexpr int kSlotsOfGroup = ceil_div(kGroupIn, P::channels_per_thread);
constexpr int kSlots = P::groups * kSlotsOfGroup;
constexpr int kSlotTiles = ceil_div(kSlots, P::threads_c);
constexpr bool kWholeSlots = kSlots % P::threads_c == 0;
constexpr bool kWholeChannels = kGroupIn % P::channels_per_thread == 0;  // no slot is ragged
constexpr bool kWholeColumns = P::width >= 0 && P::width % P::columns_per_thread == 0;
constexpr int kTileColumns = P::threads_x * P::columns_per_thread;
constexpr int kTileRows = P::threads_y;
constexpr int kWorkers = P::threads_x * P::threads_y * P::threads_c;
constexpr int kThreads = ceil_div(kWorkers, 32) * 32;  // the last ones may have nothing to do

// Channels last, all channels of a pixel are read where there is one group and grad_y has no others: a row is one
// sequence of elements.
constexpr bool kFlat = P::channels_last && P::groups == 1 && P::y_channels == P::out_channels;
constexpr int kPixel = kFlat ? P::out_channels : 1;                          // elements of a column in a window
constexpr int kWindowStep = P::channels_last && !kFlat ? P::y_channels : 1;  // from an element to the next, in memory
constexpr int kOuts = kFlat ? kGroupOut : 1;                                 // output channels of a window
constexpr int kWindows = kFlat ? 1 : kGroupOut;                              // windows of a group

// A window has what some taps of a kernel row reach from a thread's columns, from the begin of a vector on.
constexpr int kTapTiles = P::kernel_w / P::taps_w;
constexpr int kShift = floor_mod(-P::padding_w * kPixel, P::vector);
constexpr int kSpan = ((P::columns_per_thread - 1) * P::stride_w + P::dilation_w * (P::taps_w - 1) + 1) * kPixel;
constexpr int kVectors = ceil_div(kShift + kSpan, P::vector);
constexpr int kWindow = kVectors * P::vector;

static_assert(P::in_channels % P::groups == 0 && P::out_channels % P::groups == 0, "groups divide the channels");
static_assert(P::kernel_w % P::taps_w == 0, "taps of a row are cut into equal parts");
static_assert(P::vector == 1 || (P::vector * sizeof(Element) == 16 && kWindowStep == 1), "vectors have 16 bytes");
static_assert(P::columns_per_thread * P::stride_w * kPixel % P::vector == 0, "windows of all threads begin alike");
static_assert(kTapTiles == 1 || P::dilation_w * P::taps_w * kPixel % P::vector == 0, "and those of all parts of a row");
static_assert(kThreads <= 1024, "a block has at most 1024 threads");

// The place of a thread in its block.
struct Worker {
  bool works;
  int slot;
  int row;
  int column;  // the first one
};
__device__ __forceinline__ Worker worker_of(const int thread) {
  Worker worker;
  worker.works = kWorkers == kThreads || thread < kWorkers;
  if (P::lanes_of_channels) {
    worker.slot = thread % P::threads_c;
    worker.column = thread / P::threads_c % P::threads_x * P::columns_per_thread;
    worker.row = thread / (P::threads_c * P::threads_x);
  } else {
    worker.column = thread % P::threads_x * P::columns_per_thread;
    worker.row = thread / P::threads_x % P::threads_y;
    worker.slot = thread / (P::threads_x * P::threads_y);
  }
  return worker;
}

// Element k of a vector.
__device__ __forceinline__ Sum element_of(const unsigned int (&words)[4], const int k) {
  if constexpr (sizeof(Element) == 2) {
    return widen(static_cast<Element>(words[k / 2] >> k % 2 * 16));
  } else {
    return __uint_as_float(words[k]);
  }
}

// Reads a window: zeros where the row ends. `row` is its first element, `first` the window's, which lies before the row
// where it is negative, and `end` is one past the row's last; 0 for a row that is not there.
//
// No vector waits for a branch: outside, the row's first one is read. Of single elements those of a window that is
// inside are read from one address.
__device__ __forceinline__ void load_window(Sum (&window)[kWindow], const Element* __restrict__ row, const Offset first,
                                            const Offset end) {
  if constexpr (P::vector > 1) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const Offset at = first + v * P::vector;
      const bool is_inside = at >= 0 && at < end;
      const uint4 elements = load_constant_16(row + (is_inside ? at : 0));
      const unsigned int words[4] = {is_inside ? elements.x : 0, is_inside ? elements.y : 0, is_inside ? elements.z : 0,
                                     is_inside ? elements.w : 0};
#pragma unroll
      for (int k = 0; k < P::vector; ++k) {
        window[v * P::vector + k] = element_of(words, k);
      }
    }
  } else if (first >= 0 && first + kWindow <= end) {
    const Element* from = row + first * kWindowStep;
#pragma unroll
    for (int i = 0; i < kWindow; ++i) {
      window[i] = widen(from[i * kWindowStep]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kWindow; ++i) {
      window[i] = first + i >= 0 && first + i < end ? widen(row[(first + i) * kWindowStep]) : static_cast<Sum>(0);
    }
  }
}
