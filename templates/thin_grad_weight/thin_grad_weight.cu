// Gradient of the weights of layers whose groups have few output channels, with that of the bias: FMA arithmetic,
// windows of grad_y in registers.
//
// The gradient of a weight adds up, over all images and input positions (iy, ix), x there times grad_y at
// iy * stride - padding + kh * dilation (and as much along the row, and with three axes along the depth). The positions
// are cut into tiles, and these into slices. A block makes some kernel rows of some input channels over one slice. A
// thread has adjacent columns of a tile at a time. It reads x there, and of each of its kernel rows the window of
// grad_y that the taps reach, by vectors, from global memory: threads of a block that read the same find it in L1. All
// taps of the window are added up in registers. In the end the threads' sums are added in a fixed order, and a second
// kernel adds the slices in theirs, so that results have the same bits in each call.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/memory.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;
using Sum = P::Sum;
using Offset = P::Offset;
using WeightIndex = long long;

// ---- Elements ----
#include "device/scalar.h"
#include "device/weight_order.h"
#include "thin/window.h"

constexpr long long kWeights = static_cast<long long>(P::in_channels) * kGroupOut * kTaps * P::kernel_d;

// The weights of a block: a thread sums these of its slot.
constexpr int kTapRows = ceil_div(P::kernel_h, P::taps_h);
constexpr int kRowSums = P::taps_w * kOuts * P::channels_per_thread;
constexpr int kSums = P::taps_h * kRowSums;
constexpr int kSliceBlocks = kSlotTiles * kTapRows * kTapTiles * kWindows * P::kernel_d;

// Shared memory: some sums of all threads at a time, and what several threads add up of them.
constexpr int kLanes = P::threads_x * P::threads_y;  // threads of a slot
constexpr int kPass = kSums < 16 ? kSums : 16;
constexpr int kPassWeights = kPass * P::threads_c;
constexpr int kParts = kThreads / kPassWeights > kLanes ? kLanes
                       : kThreads / kPassWeights > 0    ? kThreads / kPassWeights
                                                        : 1;
constexpr long long kSharedBytes =
    static_cast<long long>(sizeof(Sum)) *
    (static_cast<long long>(kPass) * kThreads + static_cast<long long>(kPassWeights) * kParts);

// How many elements of x are read at once: of a pixel's channels, or of a row.
constexpr int kAlignment = P::vector > 1 || P::x_vector > 1 ? 16 : 0;
static_assert(P::x_vector == 1 || P::x_vector * sizeof(Element) == 16, "vectors have 16 bytes");
static_assert((P::channels_last ? P::channels_per_thread : P::columns_per_thread) % P::x_vector == 0,
              "a thread reads whole vectors");

// ---- Products ----

// One thread's x: its channels at its columns.
using Inputs = Sum[P::channels_per_thread][P::columns_per_thread];

// Reads x: zeros where the row or the group ends, for which the first element is read. `x` is the slot's first channel
// at the thread's first column; what is inside are so many channels and columns.
__device__ __forceinline__ void load_inputs(Inputs& inputs, const Element* __restrict__ x, const int channels,
                                            const int columns, const Offset in_pixels) {
  if constexpr (P::x_vector > 1) {
    constexpr int kOthers = P::channels_last ? P::columns_per_thread : P::channels_per_thread;
    constexpr int kAlong = P::channels_last ? P::channels_per_thread : P::columns_per_thread;
#pragma unroll
    for (int other = 0; other < kOthers; ++other) {
#pragma unroll
      for (int along = 0; along < kAlong; along += P::x_vector) {
        const int channel = P::channels_last ? along : other;
        const int column = P::channels_last ? other : along;
        const bool is_inside = (kWholeChannels || channel < channels) && (kWholeColumns || column < columns);
        const Offset place =
            P::channels_last ? static_cast<Offset>(column) * P::x_channels + channel : channel * in_pixels + column;
        const uint4 elements = load_constant_16(x + (is_inside ? place : 0));
        const unsigned int words[4] = {is_inside ? elements.x : 0, is_inside ? elements.y : 0,
                                       is_inside ? elements.z : 0, is_inside ? elements.w : 0};
#pragma unroll
        for (int k = 0; k < P::x_vector; ++k) {
          inputs[channel + (P::channels_last ? k : 0)][column + (P::channels_last ? 0 : k)] = element_of(words, k);
        }
      }
    }
  } else {
#pragma unroll
    for (int channel = 0; channel < P::channels_per_thread; ++channel) {
#pragma unroll
      for (int column = 0; column < P::columns_per_thread; ++column) {
        const bool is_inside = (kWholeChannels || channel < channels) && (kWholeColumns || column < columns);
        const Offset place =
            P::channels_last ? static_cast<Offset>(column) * P::x_channels + channel : channel * in_pixels + column;
        const Sum value = widen(x[is_inside ? place : 0]);
        inputs[channel][column] = is_inside ? value : static_cast<Sum>(0);
      }
    }
  }
}

// Some taps of a kernel row: each element of the window times x of each channel.
__device__ __forceinline__ void multiply_add(Sum (&acc)[kRowSums], const Inputs& inputs, const Sum (&window)[kWindow]) {
#pragma unroll
  for (int column = 0; column < P::columns_per_thread; ++column) {
#pragma unroll
    for (int kw = 0; kw < P::taps_w; ++kw) {
#pragma unroll
      for (int out = 0; out < kOuts; ++out) {
        const Sum value = window[kShift + (column * P::stride_w + P::dilation_w * kw) * kPixel + out];
#pragma unroll
        for (int channel = 0; channel < P::channels_per_thread; ++channel) {
          const int i = (kw * kOuts + out) * P::channels_per_thread + channel;
          acc[i] = fma(inputs[channel][column], value, acc[i]);
        }
      }
    }
  }
}

// ---- Epilogue ----

// Which weights a block makes: its first slot, and the first taps and output channel.
struct Made {
  int slice;
  int first_slot;
  int kd;
  int first_kh;
  int first_kw;
  int first_out;
};

// Adds some sums of the threads of each slot, in a fixed order, and stores them. `totals` are those of the threads{with
// first: , from the sum of index `first` on}.
__device__ __forceinline__ void store_sums(const Sum* __restrict__ totals, Sum* __restrict__ parts, const int first,
                                           const Made& made, Sum* __restrict__ partial,
                                           Element* __restrict__ grad_weight) {
  for (int i = threadIdx.x; i < kPassWeights * kParts; i += kThreads) {
    // Adjacent threads read adjacent sums.
    const int slot = P::lanes_of_channels ? i % P::threads_c : i / kParts % P::threads_c;
    const int part = P::lanes_of_channels ? i / P::threads_c % kParts : i % kParts;
    const int index = i / (P::threads_c * kParts);
    Sum sum = 0;
#pragma unroll 4
    for (int lane = part; lane < kLanes; lane += kParts) {
      sum += totals[index * kThreads + (P::lanes_of_channels ? lane * P::threads_c + slot : slot * kLanes + lane)];
    }
    parts[(index * P::threads_c + slot) * kParts + part] = sum;
  }
  __syncthreads();  // all parts are there
  for (int i = threadIdx.x; i < kPassWeights; i += kThreads) {
    const int slot = made.first_slot + i % P::threads_c;
    const int index = first + i / P::threads_c;
    const int channel = slot % kSlotsOfGroup * P::channels_per_thread + index % P::channels_per_thread;
    const int out = made.first_out + index / P::channels_per_thread % kOuts;
    const int kw = made.first_kw + index / (P::channels_per_thread * kOuts) % P::taps_w;
    const int kh = made.first_kh + index / kRowSums;
    if ((kSums % kPass == 0 || index < kSums) && (kWholeSlots || slot < kSlots) &&
        (kWholeChannels || channel < kGroupIn) && (P::kernel_h % P::taps_h == 0 || kh < P::kernel_h)) {
      Sum sum = 0;
#pragma unroll 8
      for (int part = 0; part < kParts; ++part) {
        sum += parts[i * kParts + part];
      }
      const long long weight =
          weight_offset_at(static_cast<long long>(slot / kSlotsOfGroup) * kGroupIn + channel, out,
                           made.kd * P::kernel_h + kh, kw, kGroupOut, P::kernel_d * P::kernel_h, P::kernel_w);
      if (P::slices == 1) {
        grad_weight[weight] = narrow(sum);
      } else {
        partial[made.slice * kWeights + weight] = sum;
      }
    }
  }
}

// ---- Kernels ----
#include "device/channel_sums.h"

#include "device/add_slices.h"

// The products of all weights: (slice, tile of weights).
extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    thin_grad_weight(const Element* __restrict__ x, const Element* __restrict__ grad_y, Sum* __restrict__ partial,
                     Element* __restrict__ grad_weight, int batch, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_d = output_depth(in_d);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int tiles_y = (in_h + (kTileRows - 1)) / kTileRows;
  const int tiles_x = (in_w + (kTileColumns - 1)) / kTileColumns;
  const long long tiles = static_cast<long long>(batch) * in_d * tiles_y * tiles_x;

  // The block's place: weights vary fastest, so that blocks which read the same positions run together.
  const int block = blockIdx.x;
  Made made;
  made.slice = P::slices == 1 ? 0 : block / kSliceBlocks;
  made.first_slot = block % kSlotTiles * P::threads_c;
  made.first_kh = block / kSlotTiles % kTapRows * P::taps_h;
  made.first_kw = block / (kSlotTiles * kTapRows) % kTapTiles * P::taps_w;
  made.first_out = block / (kSlotTiles * kTapRows * kTapTiles) % kWindows;
  const int kd = block / (kSlotTiles * kTapRows * kTapTiles * kWindows) % P::kernel_d;
  made.kd = kd;

  // The thread's place in the block.
  const int thread = threadIdx.x;
  const Worker worker = worker_of(thread);
  const int slot = made.first_slot + worker.slot;
  const int group = P::groups == 1 ? 0 : slot / kSlotsOfGroup;
  const int first_in = slot % kSlotsOfGroup * P::channels_per_thread;
  const bool works = worker.works && (kWholeSlots || slot < kSlots);

  // Bases are 64-bit; every offset from them fits its type.
  const long long in_pixels = static_cast<long long>(in_h) * in_w * in_d;
  const long long out_pixels = static_cast<long long>(out_h) * out_w * out_d;
  const Element* x_slot =
      x + (P::channels_last ? group * kGroupIn + first_in : (group * kGroupIn + first_in) * in_pixels);
  const Element* y_channel = grad_y + (P::channels_last ? group * kGroupOut + made.first_out
                                                        : (group * kGroupOut + made.first_out) * out_pixels);
  const Offset row_elements = static_cast<Offset>(out_w) * (P::channels_last ? P::y_channels : 1);
  const Offset row_end = static_cast<Offset>(out_w) * kPixel;

  // The tile, and how it moves on.
  const long long begin = tiles * made.slice / P::slices;
  const long long end = tiles * (made.slice + 1) / P::slices;
  int tile_x = static_cast<int>(begin % tiles_x);
  int tile_y = static_cast<int>(begin / tiles_x % tiles_y);
  int iz = P::depth == 1 ? 0 : static_cast<int>(begin / tiles_x / tiles_y % in_d);
  long long image = begin / tiles_x / tiles_y / in_d;

  Sum acc[P::taps_h][kRowSums] = {};
#pragma unroll 1
  for (long long tile = begin; tile < end; ++tile) {
    const int iy = tile_y * kTileRows + worker.row;
    const int ix = tile_x * kTileColumns + worker.column;
    const int oz = (P::depth == 1 ? 0 : iz) * P::stride_d + (P::dilation_d * kd - P::padding_d);
    if (works && iy < in_h && ix < in_w && oz >= 0 && oz < out_d) {
      Inputs inputs;
      load_inputs(inputs,
                  x_slot +
                      (image * P::x_channels * in_pixels + static_cast<long long>(P::depth == 1 ? 0 : iz) * in_h *
                                                               in_w * (P::channels_last ? P::x_channels : 1)) +
                      (static_cast<Offset>(iy) * in_w + ix) * (P::channels_last ? P::x_channels : 1),
                  kGroupIn - first_in, in_w - ix, static_cast<Offset>(in_pixels));
      const Element* y_plane =
          y_channel + (image * P::y_channels * out_pixels +
                       static_cast<long long>(oz) * out_h * out_w * (P::channels_last ? P::y_channels : 1));
      const Offset first_column =
          (static_cast<Offset>(ix) * P::stride_w - P::padding_w + P::dilation_w * made.first_kw) * kPixel - kShift;
#pragma unroll
      for (int row = 0; row < P::taps_h; ++row) {
        const int oy = iy * P::stride_h + (P::dilation_h * (made.first_kh + row) - P::padding_h);
        const bool is_there = oy >= 0 && oy < out_h;
        Sum window[kWindow];
        load_window(window, y_plane + (is_there ? oy * row_elements : 0), first_column, is_there ? row_end : 0);
        multiply_add(acc[row], inputs, window);
      }
    }
    if (++tile_x == tiles_x) {
      tile_x = 0;
      if (++tile_y == tiles_y) {
        tile_y = 0;
        if (P::depth == 1 || ++iz == in_d) {
          iz = 0;
          ++image;
        }
      }
    }
  }

  Sum* totals = static_cast<Sum*>(shared_memory());
#pragma unroll
  for (int first = 0; first < kSums; first += kPass) {
#pragma unroll
    for (int i = 0; i < kPass; ++i) {
      if (kSums % kPass == 0 || first + i < kSums) {
        const int row = P::taps_h > 1 ? (first + i) / kRowSums : 0;
        totals[i * kThreads + thread] = acc[row][first + i - row * kRowSums];
      }
    }
    __syncthreads();  // all threads' sums are there
    store_sums(totals, totals + kPass * kThreads, first, made, partial, grad_weight);
  }
}
