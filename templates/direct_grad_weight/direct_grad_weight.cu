// Gradient of the weights by definition, with that of the bias: FMA arithmetic, a tile of x and the window of grad_y
// that it reaches in shared memory.
//
// The gradient of a weight adds up, over all images and input positions (iy, ix), x there times grad_y at
// iy * stride - padding + kh * dilation (and as much along the row, and with three axes along the depth). The positions
// are cut into tiles, and these into slices. A block computes a tile of weights, by some input channels, output
// channels and taps, over one slice. A second kernel adds the slices in their order, so that results have the same bits
// in each call.
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

#include "device/weight_order.h"

constexpr int kThreads = P::threads_in * P::threads_out * P::threads_pixels;
constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kGroupIn = P::in_channels / P::groups;
constexpr int kGroupOut = P::out_channels / P::groups;
constexpr long long kWeights = static_cast<long long>(P::in_channels) * kGroupOut * kTaps * P::kernel_d;

// The weights of a block.
constexpr int kTileIn = P::threads_in * P::in_per_thread;
constexpr int kTileOut = P::threads_out * P::out_per_thread;
constexpr int kInTiles = ceil_div(kGroupIn, kTileIn);  // of one group
constexpr int kOutTiles = ceil_div(kGroupOut, kTileOut);
constexpr int kTapGroupsW = ceil_div(P::kernel_w, P::taps_w);
constexpr int kTapGroups = ceil_div(P::kernel_h, P::taps_h) * kTapGroupsW;
constexpr bool kSameGroups = kTaps > 256;  // all groups are as if whole: a statement for each tap would be too many
constexpr int kSliceBlocks = P::groups * kInTiles * kOutTiles * kTapGroups * P::kernel_d;
constexpr bool kWholeIn = kGroupIn % kTileIn == 0;  // no tile of channels is ragged
constexpr bool kWholeOut = kGroupOut % kTileOut == 0;

// What a thread sums: taps of a group by input and output channels.
constexpr int kThreadTaps = P::taps_h * P::taps_w;
constexpr int kThreadPairs = P::in_per_thread * P::out_per_thread;
constexpr int kSums = kThreadTaps * kThreadPairs;
constexpr int kPairThreads = P::threads_in * P::threads_out;

// The window of grad_y that the taps of a group reach from a tile of positions. Odd pitches of channels spread them
// over the banks of shared memory.
constexpr int kTilePixels = P::tile_rows * P::tile_columns;
constexpr int kInputPitch = kTilePixels / 2 * 2 + 1;
constexpr int kStagedRows = (P::tile_rows - 1) * P::stride_h + P::dilation_h * (P::taps_h - 1) + 1;
constexpr int kStagedColumns = (P::tile_columns - 1) * P::stride_w + P::dilation_w * (P::taps_w - 1) + 1;
constexpr int kStagedPixels = kStagedRows * kStagedColumns;
constexpr int kWindowPitch = kStagedPixels / 2 * 2 + 1;

// Shared memory: the size of struct Shared. The planner finds how large tiles may be by it.
constexpr long long kStageBytes =
    static_cast<long long>(sizeof(Sum)) *
    (static_cast<long long>(kTileIn) * kInputPitch +
     static_cast<long long>(kTileOut) * (static_cast<long long>(kStagedRows) * kStagedColumns / 2 * 2 + 1));
constexpr long long kTotalBytes = static_cast<long long>(sizeof(Sum)) * kSums * kThreads;
constexpr long long kSharedBytes = kStageBytes + kTotalBytes;

static_assert(P::in_channels % P::groups == 0 && P::out_channels % P::groups == 0, "groups divide the channels");
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a block is whole warps");

// ---- Elements ----
#include "device/scalar.h"

// ---- Staging ----

struct Shared {
  Sum x[kTileIn][kInputPitch];
  Sum grad_y[kTileOut][kWindowPitch];
  Sum totals[kSums][kThreads];
};

// Copies a tile of positions of some input channels to shared memory: zeros where the image or the group ends.
// `x` is the first channel of the group in this image.
__device__ __forceinline__ void stage_input(Shared& shared, const Element* __restrict__ x, int first_in, int first_row,
                                            int first_column, const int in_d, const int in_h, const int in_w) {
#pragma unroll 2
  for (int i = threadIdx.x; i < kTileIn * kTilePixels; i += kThreads) {
    // Adjacent threads read adjacent memory.
    const int channel = P::channels_last ? i % kTileIn : i / kTilePixels;
    const int pixel = P::channels_last ? i / kTileIn : i % kTilePixels;
    const int ci = first_in + channel;
    const int iy = first_row + pixel / P::tile_columns;
    const int ix = first_column + pixel % P::tile_columns;
    Sum value = 0;
    if ((kWholeIn || ci < kGroupIn) && iy < in_h && ix < in_w) {
      if (P::channels_last) {
        value = widen(x[(static_cast<Offset>(iy) * in_w + ix) * P::x_channels + ci]);
      } else {
        value = widen(x[(static_cast<Offset>(ci) * in_d * in_h + iy) * in_w + ix]);
      }
    }
    shared.x[channel][pixel] = value;
  }
}

// The same for the window that the tile's taps reach, of some output channels. `grad_y` is the first channel of the
// group in this image.
__device__ __forceinline__ void stage_window(Shared& shared, const Element* __restrict__ grad_y, int first_out,
                                             int first_row, int first_column, const int out_d, const int out_h,
                                             const int out_w) {
#pragma unroll 2
  for (int i = threadIdx.x; i < kTileOut * kStagedPixels; i += kThreads) {
    const int channel = P::channels_last ? i % kTileOut : i / kStagedPixels;
    const int pixel = P::channels_last ? i / kTileOut : i % kStagedPixels;
    const int co = first_out + channel;
    const int oy = first_row + pixel / kStagedColumns;
    const int ox = first_column + pixel % kStagedColumns;
    Sum value = 0;
    if ((kWholeOut || co < kGroupOut) && (P::padding_h == 0 || oy >= 0) && oy < out_h &&
        (P::padding_w == 0 || ox >= 0) && ox < out_w) {
      if (P::channels_last) {
        value = widen(grad_y[(static_cast<Offset>(oy) * out_w + ox) * P::y_channels + co]);
      } else {
        value = widen(grad_y[(static_cast<Offset>(co) * out_d * out_h + oy) * out_w + ox]);
      }
    }
    shared.grad_y[channel][pixel] = value;
  }
}

// ---- Products ----

// One thread's accumulators, of each tap.
using Accumulators = Sum[kThreadTaps][kThreadPairs];

// One tap at one position: an element of x for each input channel times one of grad_y for each output channel.
__device__ __forceinline__ void multiply_add(Sum (&acc)[kThreadPairs], const Sum (&x)[P::in_per_thread],
                                             const Sum* grad_y) {
#pragma unroll
  for (int out = 0; out < P::out_per_thread; ++out) {
    const Sum value = grad_y[out * kWindowPitch];
#pragma unroll
    for (int in = 0; in < P::in_per_thread; ++in) {
      acc[in * P::out_per_thread + out] = fma(x[in], value, acc[in * P::out_per_thread + out]);
    }
  }
}

// A thread's positions of the staged tile, with all taps of a group. The channels are the thread's first ones.
__device__ __forceinline__ void add_products(Accumulators& acc, const int tap_group, const Shared& shared,
                                             const int first_pixel, const int in_channel, const int out_channel) {
#pragma unroll 1
  for (int pixel = first_pixel; pixel < kTilePixels; pixel += P::threads_pixels) {
    Sum x[P::in_per_thread];
#pragma unroll
    for (int in = 0; in < P::in_per_thread; ++in) {
      x[in] = shared.x[in_channel + in][pixel];
    }
    const Sum* window = &shared.grad_y[out_channel][pixel / P::tile_columns * (P::stride_h * kStagedColumns) +
                                                    pixel % P::tile_columns * P::stride_w];
    if (kSameGroups) {
      CONVTGEN_UNROLL
      for (int row = 0; row < P::taps_h; ++row) {
        CONVTGEN_UNROLL
        for (int column = 0; column < P::taps_w; ++column) {
          multiply_add(acc[row * P::taps_w + column], x,
                       window + (P::dilation_h * row * kStagedColumns + P::dilation_w * column));
        }
      }
    } else {
      CONVTGEN_UNROLL
      for (int kh = 0; kh < P::kernel_h; ++kh) {
        CONVTGEN_UNROLL
        for (int kw = 0; kw < P::kernel_w; ++kw) {
          if (kh / P::taps_h * kTapGroupsW + kw / P::taps_w == tap_group) {
            const int row = kh % P::taps_h;
            const int column = kw % P::taps_w;
            multiply_add(acc[row * P::taps_w + column], x,
                         window + (P::dilation_h * row * kStagedColumns + P::dilation_w * column));  // tap ({kh}, {kw})
          }
        }
      }
    }
  }
}

// ---- Epilogue ----

// Adds the sums of the threads that share pairs of channels, in their order, and stores them.
__device__ __forceinline__ void store(const Shared& shared, Sum* __restrict__ partial,
                                      Element* __restrict__ grad_weight, int slice, int group, int first_in,
                                      int first_out, int kd, int first_kh, int first_kw) {
  for (int i = threadIdx.x; i < kSums * kPairThreads; i += kThreads) {
    const int sum_index = i / kPairThreads;
    const int thread = i % kPairThreads;
    const int tap = sum_index / kThreadPairs;
    const int kh = first_kh + tap / P::taps_w;
    const int kw = first_kw + tap % P::taps_w;
    const int ci =
        first_in + thread / P::threads_out * P::in_per_thread + sum_index / P::out_per_thread % P::in_per_thread;
    const int co = first_out + thread % P::threads_out * P::out_per_thread + sum_index % P::out_per_thread;
    if (kh < P::kernel_h && kw < P::kernel_w && (kWholeIn || ci < kGroupIn) && (kWholeOut || co < kGroupOut)) {
      Sum sum = 0;
#pragma unroll 4
      for (int other = thread; other < kThreads; other += kPairThreads) {
        sum += shared.totals[sum_index][other];
      }
      const long long weight =
          weight_offset_at(static_cast<long long>(group) * kGroupIn + ci, co, kd * P::kernel_h + kh, kw, kGroupOut,
                           P::kernel_d * P::kernel_h, P::kernel_w);
      if (P::slices == 1) {
        grad_weight[weight] = narrow(sum);
      } else {
        partial[slice * kWeights + weight] = sum;
      }
    }
  }
}

// ---- Kernels ----
#include "device/channel_sums.h"

#include "device/add_slices.h"

// The products of all weights: (slice, tile of weights).
extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    direct_grad_weight(const Element* __restrict__ x, const Element* __restrict__ grad_y, Sum* __restrict__ partial,
                       Element* __restrict__ grad_weight, int batch, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_d = output_depth(in_d);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int tiles_y = (in_h + (P::tile_rows - 1)) / P::tile_rows;
  const int tiles_x = (in_w + (P::tile_columns - 1)) / P::tile_columns;
  const long long tiles = static_cast<long long>(batch) * in_d * tiles_y * tiles_x;

  // The block's place: weights vary fastest, so that blocks which read the same positions run together.
  const int block = blockIdx.x;
  const int slice = P::slices == 1 ? 0 : block / kSliceBlocks;
  const int tap_group = block % kTapGroups;
  const int out_tile = block / kTapGroups % kOutTiles;
  const int in_tile = block / (kTapGroups * kOutTiles) % kInTiles;
  const int group = P::groups == 1 ? 0 : block / (kTapGroups * kOutTiles * kInTiles) % P::groups;
  const int kd = block / (kTapGroups * kOutTiles * kInTiles * P::groups) % P::kernel_d;
  const int first_kh = tap_group / kTapGroupsW * P::taps_h;
  const int first_kw = tap_group % kTapGroupsW * P::taps_w;

  // The thread's place in the block: its first position, and the first of its channels.
  const int thread = threadIdx.x;
  const int first_pixel = thread / kPairThreads;
  const int in_channel = thread / P::threads_out % P::threads_in * P::in_per_thread;
  const int out_channel = thread % P::threads_out * P::out_per_thread;

  // Bases are 64-bit; every offset from them fits its type.
  const long long in_pixels = static_cast<long long>(in_h) * in_w * in_d;
  const long long out_pixels = static_cast<long long>(out_h) * out_w * out_d;

  Shared& shared = *static_cast<Shared*>(shared_memory());
#pragma unroll 1
  for (int i = 0; i < kSums; ++i) {
    shared.totals[i][thread] = 0;
  }
  const long long end = tiles * (slice + 1) / P::slices;
#pragma unroll 1
  for (long long tile = tiles * slice / P::slices; tile < end; ++tile) {
    const int tile_x = static_cast<int>(tile % tiles_x);
    const int tile_y = static_cast<int>(tile / tiles_x % tiles_y);
    const long long image = tile / tiles_x / tiles_y / in_d;
    const int iz = static_cast<int>(tile / tiles_x / tiles_y % in_d);
    const int oz = iz * P::stride_d + (P::dilation_d * kd - P::padding_d);
    if (oz >= 0 && oz < out_d) {
      const Element* x_group = x +
                               (P::channels_last ? image * P::x_channels * in_pixels + group * kGroupIn
                                                 : (image * P::x_channels + group * kGroupIn) * in_pixels) +
                               static_cast<long long>(iz) * in_h * in_w * (P::channels_last ? P::x_channels : 1);
      const Element* y_group = grad_y +
                               (P::channels_last ? image * P::y_channels * out_pixels + group * kGroupOut
                                                 : (image * P::y_channels + group * kGroupOut) * out_pixels) +
                               static_cast<long long>(oz) * out_h * out_w * (P::channels_last ? P::y_channels : 1);
      __syncthreads();  // all threads have read the tile before
      stage_input(shared, x_group, in_tile * kTileIn, tile_y * P::tile_rows, tile_x * P::tile_columns, in_d, in_h,
                  in_w);
      stage_window(shared, y_group, out_tile * kTileOut,
                   tile_y * P::tile_rows * P::stride_h - P::padding_h + P::dilation_h * first_kh,
                   tile_x * P::tile_columns * P::stride_w - P::padding_w + P::dilation_w * first_kw, out_d, out_h,
                   out_w);
      __syncthreads();  // the tile is staged
      Accumulators acc = {};
      if (kSameGroups) {
        add_products(acc, 0, shared, first_pixel, in_channel, out_channel);
      } else {
        CONVTGEN_UNROLL
        for (int g = 0; g < kTapGroups; ++g) {
          if (kTapGroups == 1 || tap_group == g) {
            add_products(acc, g, shared, first_pixel, in_channel, out_channel);
          }
        }
      }
      // A sum over all tiles has as many terms as the batch has positions: few at a time keep it accurate.
#pragma unroll
      for (int i = 0; i < kSums; ++i) {
        shared.totals[i][thread] += acc[i / kThreadPairs][i % kThreadPairs];
      }
    }
  }
  __syncthreads();
  store(shared, partial, grad_weight, slice, group, in_tile * kTileIn, out_tile * kTileOut, kd, first_kh, first_kw);
}
