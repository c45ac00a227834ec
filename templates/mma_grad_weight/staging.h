// Part of the template `mma_grad_weight`: how stages come to shared memory, by asynchronous copies of channels of a
// pixel or of elements of a row, or through registers by units of channels.
// Needs: Element, P, Source, Tile
#pragma once

#include "device/async_copy.h"
#include "device/element.h"
#include "device/memory.h"
#include "grad_weight/split_unit.h"
#include "layout.h"

// ---- Places ----

constexpr int kCopy = larger(P::copy_bytes, kElementBytes) / kElementBytes;  // elements

// The pixel, and the piece of its channels, that a thread brings in a turn. NCHW: adjacent threads bring adjacent
// pixels, else pieces of one pixel.
__device__ __forceinline__ unsigned int pixel_of(int turn, int thread, const int pixels, const int pieces) {
  const unsigned int index = turn * kThreads + thread;
  return !P::channels_last        ? index % pixels
         : kThreads % pieces == 0 ? turn * (kThreads / pieces) + static_cast<unsigned int>(thread) / pieces
                                  : index / pieces;
}
__device__ __forceinline__ unsigned int piece_of(int turn, int thread, const int pixels, const int pieces) {
  const unsigned int index = turn * kThreads + thread;
  return !P::channels_last        ? index / pixels
         : kThreads % pieces == 0 ? static_cast<unsigned int>(thread) % pieces
                                  : index % pieces;
}
// Whether there is such a piece, where threads have so many turns.
__device__ __forceinline__ bool is_piece(int turn, int thread, const int turns, const int pixels, const int pieces) {
  return turns * kThreads == pixels * pieces || turn * kThreads + thread < pixels * pieces;
}

// Where a piece lies in a stage.
__device__ __forceinline__ int input_place(int pixel, int piece) {
  return pixel * kInputPixelPitch +
         (kPlanar ? piece * (kInputRun * kInputChannelPitch)
                  : piece / kUnitPiecesIn * kInputUnitPitch + piece % kUnitPiecesIn * P::copy_bytes);
}
__device__ __forceinline__ int window_place(int pixel, int piece) {
  return kInputBytes + pixel * kWindowPixelPitch +
         (kPlanar ? piece * (kWindowRun * kWindowChannelPitch)
                  : piece / kUnitPiecesOut * kWindowUnitPitch + piece % kUnitPiecesOut * P::copy_bytes);
}

// A span of whole rows of the window: the pixel of one of its columns, counted from the first one of its row in memory;
// and whether the window has it.
__device__ __forceinline__ int spanned_pixel(unsigned int span, const int column) {
  const unsigned int of_plane = span % kPlaneSpans;
  if constexpr (kPlanar && kColumnPlanes == 1) {
    return static_cast<int>(span / kWindowRowSpans) * kWindowPitch +
           static_cast<int>(of_plane % kWindowRowSpans) * kWindowSpan / kPositionStep;
  }
  const int of_row = static_cast<int>(of_plane % kWindowRowSpans) * kWindowSpan + column - kSpanShift;
  const bool is_pair = kPlanesW == 2 && kWindowSpan == 2;
  const int plane = is_pair ? (column + kSpanShift) % 2 : of_row % kPlanesW;
  const int position =
      is_pair ? static_cast<int>(of_plane % kWindowRowSpans) + (column - kSpanShift - plane) / 2 : of_row / kPlanesW;
  return (static_cast<int>(span / kPlaneSpans) * kPlanesW + plane) * kPlanePixels +
         static_cast<int>(of_plane / kWindowRowSpans) * kWindowPitch + position;
}
__device__ __forceinline__ bool is_spanned(unsigned int span, const int column) {
  const int of_row = static_cast<int>(span % kWindowRowSpans) * kWindowSpan + column - kSpanShift;
  return (kSpanShift == 0 || column == 1 || of_row >= 0) &&
         ((kSpannedColumns + kSpanShift) % 2 == 0 || column == 0 || of_row < kSpannedColumns);
}

// Where a pixel lies: how many images after the first one of its tile, its row and column; and whether there is one.
// A span's first pixel has the others next to it.
struct Pixel {
  int image;
  int row;
  int column;
  bool is_inside;
};

// How many images after the tile's first one a row is, counted from that image's first row.
__device__ __forceinline__ int images_before(int row, const int in_h) {
  return kFewImages ? (row >= in_h + kHaloH ? 1 : 0) : row / (in_h + kHaloH);
}

__device__ __forceinline__ Pixel input_pixel(unsigned int span, const Tile& tile, const int planes, const int in_h,
                                             const int in_w) {
  const int row = tile.row + static_cast<int>(span / kInputRowSpans);
  Pixel place;
  place.image = images_before(row, in_h);
  place.row = row - place.image * (in_h + kHaloH);
  place.column = tile.column + static_cast<int>(span % kInputRowSpans) * kInputSpan;
  place.is_inside = tile.image + place.image < planes && (kHaloH == 0 || place.row < in_h) && place.column < in_w;
  return place;
}
// The same of grad_y.
__device__ __forceinline__ Pixel window_pixel(unsigned int span, const Source& source, const Tile& tile,
                                              const int planes, const int in_h, const int out_h, const int out_w) {
  const int plane_index = static_cast<int>(span / kPlaneSpans);
  const unsigned int of_plane = span % kPlaneSpans;
  const int row = tile.row + static_cast<int>(of_plane / kWindowRowSpans);
  const int column = static_cast<int>(of_plane % kWindowRowSpans);
  constexpr int kPlanesOfRow = kRowsAreWhole ? 1 : kPlanesW;
  Pixel place;
  place.image = images_before(row, in_h);
  place.row = (row - place.image * (in_h + kHaloH)) * P::stride_h + plane_index / kPlanesOfRow * P::dilation_h +
              source.origin_h;
  place.column = kRowsAreWhole ? tile.column * P::stride_w + column * kWindowSpan - kSpanShift + source.origin_w
                               : (tile.column + column) * P::stride_w + plane_index % kPlanesOfRow * P::dilation_w +
                                     source.origin_w;
  place.is_inside = tile.image + place.image < planes && static_cast<unsigned int>(place.row) < out_h &&
                    static_cast<unsigned int>(place.column) < out_w;
  return place;
}

// Elements from the first channel of the tile's first image to that of a pixel, which is inside.
__device__ __forceinline__ long long offset_of(const Pixel& pixel, const int channels, const int height,
                                               const int width) {
  if (kShort) {
    return pixel.image * (channels * height * width) +
           (pixel.row * width + pixel.column) * (P::channels_last ? channels : 1);
  }
  return pixel.image * (channels * (static_cast<long long>(height) * width)) +
         (static_cast<long long>(pixel.row) * width + pixel.column) * (P::channels_last ? channels : 1);
}

// The same from the first channel of all volumes, of a pixel{with z:  in a plane `z` of its volume}.
__device__ __forceinline__ long long offset_in_volume(const Pixel& pixel, int volume, int z, const int channels,
                                                      const int depth, const int height, const int width) {
  const long long pixels = static_cast<long long>(height) * width;
  const long long of_volume = z * pixels + (static_cast<long long>(pixel.row) * width + pixel.column);
  return volume * (channels * (depth * pixels)) + of_volume * (P::channels_last ? channels : 1);
}

// ---- Tables of pixels ----

// The table of a stage, which is this one of the slice.
__device__ __forceinline__ unsigned char* table_of(unsigned char* shared, int stage) {
  return shared + (kTableOffset + stage % 2 * kTableBytes);
}

// Where there is no pixel: a multiple of all vectors.
constexpr unsigned long long kOutside = kShort ? 0xfffffff0ull : 0xfffffffffffffff0ull;

// Finds the pixels of a stage: those of x, then those of the window. All threads share them. An offset is odd where a
// row ends within the span.
__device__ __forceinline__ void find_pixels(unsigned char* table, const Source& source, const Tile& tile, int kd,
                                            int thread, const int planes, const int in_d, const int in_h,
                                            const int in_w, const int out_d, const int out_h, const int out_w) {
#pragma unroll 1
  for (int span = thread; span < kSpans; span += kThreads) {
    const bool is_input = span < kInputSpans;
    const Pixel place = is_input ? input_pixel(span, tile, planes, in_h, in_w)
                                 : window_pixel(span - kInputSpans, source, tile, planes, in_h, out_h, out_w);
    bool is_inside = place.is_inside;
    long long offset = 0;
    if constexpr (kDeep) {
      const int plane = tile.image + place.image;
      const int volume = plane / in_d;
      const int iz = plane % in_d;
      const int oz = iz * P::stride_d + (P::dilation_d * kd - P::padding_d);
      is_inside = is_inside && (is_input || (oz >= 0 && oz < out_d));
      offset = is_input ? offset_in_volume(place, volume, iz, P::x_channels, in_d, in_h, in_w)
                        : offset_in_volume(place, volume, oz, P::y_channels, out_d, out_h, out_w);
    } else {
      offset = is_input ? offset_of(place, P::x_channels, in_h, in_w) : offset_of(place, P::y_channels, out_h, out_w);
    }
    unsigned long long found = is_inside ? static_cast<unsigned long long>(offset) * kElementBytes : kOutside;
    if (!kPlanar && (is_input ? kInputSpan > 1 && !kInputIsEven : kWindowSpan > 1 && !kWindowIsEven)) {
      const bool is_cut = place.column + 1 == (is_input ? in_w : out_w);
      found |= is_inside && is_cut ? 1 : 0;
    }
    if constexpr (kShort) {
      *reinterpret_cast<unsigned int*>(table + span * 4) = static_cast<unsigned int>(found);
    } else {
      *reinterpret_cast<unsigned long long*>(table + span * 8) = found;
    }
  }
}

// What was found, in bytes.
__device__ __forceinline__ unsigned long long pixel_offset(const unsigned char* table, int span) {
  if constexpr (kShort) {
    return *reinterpret_cast<const unsigned int*>(table + span * 4);
  } else {
    return *reinterpret_cast<const unsigned long long*>(table + span * 8);
  }
}

// The elements of a pixel.
__device__ __forceinline__ const Element* at_pixel(const Element* first, unsigned long long offset) {
  return reinterpret_cast<const Element*>(reinterpret_cast<const unsigned char*>(first) + offset);
}

// What a stage is read from: its first image.
__device__ __forceinline__ const Element* input_of(const Source& source, int image, const int in_h, const int in_w) {
  return kDeep ? source.x : source.x + image * (P::x_channels * (static_cast<long long>(in_h) * in_w));
}
__device__ __forceinline__ const Element* window_of(const Source& source, int image, const int out_h, const int out_w) {
  return kDeep ? source.grad_y : source.grad_y + image * (P::y_channels * (static_cast<long long>(out_h) * out_w));
}

// ---- Asynchronous copies ----

// One asynchronous copy of 4, 8 or 16 bytes: `bytes` from memory, and zeros for the rest of it.
__device__ __forceinline__ void copy(void* to, const Element* from, const int whole, int bytes) {
  if (whole == 16) {
    async_copy_16(to, from, bytes);
  } else if (whole == 8) {
    async_copy_8(to, from, bytes);
  } else {
    async_copy_4(to, from, bytes);
  }
}

// Copies a span of some adjacent channels of a planar stage{with step: , `step` apart in memory}.
__device__ __forceinline__ void copy_run(const int channels, unsigned char* to, const int channel_pitch,
                                         const Element* from, const long long step, const int whole, bool is_inside,
                                         int left, const bool is_whole) {
#pragma unroll
  for (int c = 0; c < channels; ++c) {
    copy(to + c * channel_pitch, from + c * step, whole, is_inside && (is_whole || c < left) ? whole : 0);
  }
}

// Of a batch.
constexpr int kCopiedInputs = kCopiesInput ? kInputBatch : 0;
constexpr int kCopiedWindows = kCopiesWindow ? kWindowBatch : 0;

// Issues a batch of the thread's copies of a stage: zeros where the images or the channels end.
__device__ __forceinline__ void copy_batch(unsigned char* to, const Source& source, int image,
                                           const unsigned char* table, int batch_index, int thread, const int in_d,
                                           const int in_h, const int in_w, const int out_d, const int out_h,
                                           const int out_w) {
  const Element* x = input_of(source, image, in_h, in_w);
  const Element* grad_y = window_of(source, image, out_h, out_w);
  const long long input_step = P::channels_last ? 1 : static_cast<long long>(in_h) * in_w * in_d;
  const long long window_step = P::channels_last ? 1 : static_cast<long long>(out_h) * out_w * out_d;
  // All offsets come from shared memory first, so that no copy waits for its own.
  unsigned long long offsets[kBatch];
#pragma unroll
  for (int i = 0; i < kCopiedInputs; ++i) {
    const int turn = batch_index * kInputBatch + i;
    if (is_piece(turn, thread, kInputBatch * kInputBatches, kInputSpans, kInputPieces)) {
      offsets[i] = pixel_offset(table, pixel_of(turn, thread, kInputSpans, kInputPieces));
    }
  }
#pragma unroll
  for (int i = 0; i < kCopiedWindows; ++i) {
    const int turn = batch_index * kWindowBatch + i;
    if (is_piece(turn, thread, kWindowBatch * kWindowBatches, kWindowSpans, kWindowPieces)) {
      offsets[kInputBatch + i] = pixel_offset(table, kInputSpans + pixel_of(turn, thread, kWindowSpans, kWindowPieces));
    }
  }
#pragma unroll
  for (int i = 0; i < kCopiedInputs; ++i) {
    const int turn = batch_index * kInputBatch + i;
    if (is_piece(turn, thread, kInputBatch * kInputBatches, kInputSpans, kInputPieces)) {
      const int piece = piece_of(turn, thread, kInputSpans, kInputPieces);
      const unsigned int span = pixel_of(turn, thread, kInputSpans, kInputPieces);
      if constexpr (kPlanar) {
        const int channel = piece * kInputRun;
        copy_run(kInputRun, to + input_place(span * kInputSpan, piece), kInputChannelPitch,
                 at_pixel(x + channel * input_step, offsets[i]), input_step, kInputCopy * kElementBytes,
                 offsets[i] != kOutside, source.ins - channel, kGroupIn % P::block_in == 0);
      } else {
        const bool any = offsets[i] != kOutside && (kGroupIn % P::block_in == 0 || piece * kCopy < source.ins);
        copy(to + input_place(span, piece), at_pixel(x + piece * kCopy, offsets[i]), P::copy_bytes,
             any ? kCopy * kElementBytes : 0);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kCopiedWindows; ++i) {
    const int turn = batch_index * kWindowBatch + i;
    if (is_piece(turn, thread, kWindowBatch * kWindowBatches, kWindowSpans, kWindowPieces)) {
      const unsigned long long offset = offsets[kInputBatch + i];
      const int piece = piece_of(turn, thread, kWindowSpans, kWindowPieces);
      const unsigned int span = pixel_of(turn, thread, kWindowSpans, kWindowPieces);
      if constexpr (kPlanar) {
        const int channel = piece * kWindowRun;
        copy_run(kWindowRun, to + window_place(kRowsAreWhole ? spanned_pixel(span, 0) : static_cast<int>(span), piece),
                 kWindowChannelPitch, at_pixel(grad_y + channel * window_step, offset), window_step,
                 kWindowCopy * kElementBytes, offset != kOutside, source.outs - channel, kGroupOut % P::block_out == 0);
      } else {
        const bool any = offset != kOutside && (kGroupOut % P::block_out == 0 || piece * kCopy < source.outs);
        copy(to + window_place(span, piece), at_pixel(grad_y + piece * kCopy, offset), P::copy_bytes,
             any ? kCopy * kElementBytes : 0);
      }
    }
  }
}

// tf32: rounds in place what one of the thread's own copies has written.
__device__ __forceinline__ void round_piece(unsigned char* place) {
  if (P::copy_bytes == 16) {
    const uint4 v = *reinterpret_cast<const uint4*>(place);
    *reinterpret_cast<uint4*>(place) = make_uint4(operand(v.x), operand(v.y), operand(v.z), operand(v.w));
  } else if (P::copy_bytes == 8) {
    const uint2 v = *reinterpret_cast<const uint2*>(place);
    *reinterpret_cast<uint2*>(place) = make_uint2(operand(v.x), operand(v.y));
  } else {
    *reinterpret_cast<unsigned int*>(place) = operand(*reinterpret_cast<const unsigned int*>(place));
  }
}
__device__ __forceinline__ void round_stage(unsigned char* stage, int thread) {
#pragma unroll 4
  for (int turn = 0; turn < (kCopiesInput ? kInputTurns : 0); ++turn) {
    if (is_piece(turn, thread, kInputTurns, kInputPixels, kInputPieces)) {
      round_piece(stage + input_place(pixel_of(turn, thread, kInputPixels, kInputPieces),
                                      piece_of(turn, thread, kInputPixels, kInputPieces)));
    }
  }
#pragma unroll 4
  for (int turn = 0; turn < (kCopiesWindow ? kWindowTurns : 0); ++turn) {
    if (is_piece(turn, thread, kWindowTurns, kWindowPixels, kWindowPieces)) {
      round_piece(stage + window_place(pixel_of(turn, thread, kWindowPixels, kWindowPieces),
                                       piece_of(turn, thread, kWindowPixels, kWindowPieces)));
    }
  }
}

// ---- Through registers ----

// Of a batch.
constexpr int kLoadedInputs = kCopiesInput ? 0 : kInputBatch;
constexpr int kLoadedWindows = kCopiesWindow ? 0 : kWindowBatch;

// A batch in registers, on its way to shared memory: the words of each position of a turn. Of two elements of 16 bits
// that were loaded together the first position has both.
using Words = Word[kBatch][P::span][kWords];

// The word of an element, zero if it is not there.
__device__ __forceinline__ Word word_at(const Element* __restrict__ from, bool is_there) {
  if constexpr (kSplit) {
    return is_there ? *from : 0;
  } else {
    return is_there ? bits_of(*from) : 0;
  }
}

// Loads a unit's elements: zeros outside of the images and for channels past the last. {with step: `step` is from
// a channel to the next one.}
__device__ __forceinline__ void load_unit(Word (&words)[kWords], const Element* __restrict__ from, bool is_inside,
                                          int left, const bool is_whole, const long long step) {
#pragma unroll
  for (int c = 0; c < kWords; ++c) {
    words[c] = word_at(from + c * step, is_inside && (is_whole || c < left));
  }
}
// The same of whole units as they lie.
__device__ __forceinline__ void load_wide(Word (&words)[kWords], const Element* __restrict__ from, bool is_there) {
  if constexpr (kSplit) {
    load_channels(words, from, is_there);
  } else {
    const uint4 vector = is_there ? load_constant_16(from) : make_uint4(0, 0, 0, 0);
    words[0] = vector.x;
    words[1] = vector.y;
    words[2] = vector.z;
    words[3] = vector.w;
  }
}
// The same of two adjacent positions, which are one vector where rows are even. Where a row is cut it has the first.
__device__ __forceinline__ void load_span(Word (&words)[P::span][kWords], const Element* __restrict__ from,
                                          bool is_inside, bool is_cut, const bool is_even, int left,
                                          const bool is_whole, const long long step) {
#pragma unroll
  for (int c = 0; c < kWords; ++c) {
    const bool is_there = is_inside && (is_whole || c < left);
    const Element* at = from + c * step;
    if (is_even && kElementBytes == 2) {
      words[0][c] = is_there ? *reinterpret_cast<const unsigned int*>(at) : 0;
    } else if (is_even) {
      const uint2 two = is_there ? *reinterpret_cast<const uint2*>(at) : make_uint2(0, 0);
      if constexpr (kSplit) {
        words[0][c] = __uint_as_float(two.x);
        words[P::span - 1][c] = __uint_as_float(two.y);
      } else {
        words[0][c] = two.x;
        words[P::span - 1][c] = two.y;
      }
    } else {
      words[0][c] = word_at(at, is_there);
      words[P::span - 1][c] = word_at(at + 1, is_there && !is_cut);
    }
  }
}

// Loads a turn: a unit, or two of adjacent positions. `offset` is what was found of its pixel.
__device__ __forceinline__ void load_turn(Word (&words)[P::span][kWords], const Element* __restrict__ first,
                                          unsigned long long offset, const bool is_wide, const int span,
                                          const bool is_even, int left, const bool is_whole, const long long step) {
  const bool is_inside = offset != kOutside;
  if (is_wide) {
    load_wide(words[0], at_pixel(first, offset), is_inside && (is_whole || left > 0));
  } else if (span == 1) {
    load_unit(words[0], at_pixel(first, offset), is_inside, left, is_whole, step);
  } else {
    load_span(words, at_pixel(first, is_even ? offset : offset & ~1ull), is_inside, !is_even && offset % 2 == 1,
              is_even, left, is_whole, step);
  }
}

// Loads a batch of a stage.
__device__ __forceinline__ void load_batch(Words& words, const Source& source, int image, const unsigned char* table,
                                           int batch_index, int thread, const int in_d, const int in_h, const int in_w,
                                           const int out_d, const int out_h, const int out_w) {
  const Element* x = input_of(source, image, in_h, in_w);
  const Element* grad_y = window_of(source, image, out_h, out_w);
  const long long input_step = P::channels_last ? 1 : static_cast<long long>(in_h) * in_w * in_d;
  const long long window_step = P::channels_last ? 1 : static_cast<long long>(out_h) * out_w * out_d;
#pragma unroll
  for (int i = 0; i < kLoadedInputs; ++i) {
    const int turn = batch_index * kInputBatch + i;
    const bool is_there = is_piece(turn, thread, kInputBatch * kInputBatches, kInputSpans, kInputUnits);
    const int channel = piece_of(turn, thread, kInputSpans, kInputUnits) * kVector;
    const unsigned long long offset =
        is_there ? pixel_offset(table, pixel_of(turn, thread, kInputSpans, kInputUnits)) : kOutside;
    load_turn(words[i], x + channel * input_step, offset, P::wide_in, kInputSpan, kInputIsEven, source.ins - channel,
              kGroupIn % P::block_in == 0, input_step);
  }
#pragma unroll
  for (int i = 0; i < kLoadedWindows; ++i) {
    const int turn = batch_index * kWindowBatch + i;
    const bool is_there = is_piece(turn, thread, kWindowBatch * kWindowBatches, kWindowSpans, kWindowUnits);
    const int channel = piece_of(turn, thread, kWindowSpans, kWindowUnits) * kVector;
    const unsigned long long offset =
        is_there ? pixel_offset(table, kInputSpans + pixel_of(turn, thread, kWindowSpans, kWindowUnits)) : kOutside;
    load_turn(words[kInputBatch + i], grad_y + channel * window_step, offset, P::wide_out, kWindowSpan, kWindowIsEven,
              source.outs - channel, kGroupOut % P::block_out == 0, window_step);
  }
}

// Writes a unit to its place. {with scales: `scales` are those of its channels, of values that are split.}
__device__ __forceinline__ void store_unit(unsigned char* to, const int low_offset, const Word (&words)[kWords],
                                           const float* scales, const bool is_wide) {
  if constexpr (kSplit) {
    store_split(to, low_offset, words, scales);
  } else if constexpr (P::type == kWgmmaTf32) {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(operand(words[0]), operand(words[1]), operand(words[2]), operand(words[3]));
  } else if (is_wide) {
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  } else {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(low_halves(words[0], words[1]), low_halves(words[2], words[3]),
                   low_halves(words[kWords - 4], words[kWords - 3]), low_halves(words[kWords - 2], words[kWords - 1]));
  }
}

// Writes the units of two adjacent positions to their places, each if it is wanted{with is_turned: ; the second one
// first if `is_turned`}. Then half of the lanes write odd pixels while the others write even ones, which are in other
// banks.
__device__ __forceinline__ void store_span(unsigned char* first, unsigned char* second, bool has_first, bool has_second,
                                           bool is_turned, const bool is_even, const int low_offset,
                                           const Word (&words)[P::span][kWords], const float* scales) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool is_second = is_turned == (i == 0);
    unsigned char* to = is_second ? second : first;
    const bool is_wanted = is_second ? has_second : has_first;
    if constexpr (kElementBytes == 2) {
      unsigned int unit[4];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        constexpr int kLast = P::span - 1;
        const int even = 2 * c % kWords;
        const unsigned int low = low_halves(words[0][even], words[0][even + 1]);
        const unsigned int high = is_even ? high_halves(words[0][even], words[0][even + 1])
                                          : low_halves(words[kLast][even], words[kLast][even + 1]);
        unit[c] = is_second ? high : low;
      }
      if (is_wanted) {
        *reinterpret_cast<uint4*>(to) = make_uint4(unit[0], unit[1], unit[2], unit[3]);
      }
    } else {
      Word unit[kWords];
#pragma unroll
      for (int c = 0; c < kWords; ++c) {
        unit[c] = is_second ? words[P::span - 1][c] : words[0][c];
      }
      if (is_wanted) {
        store_unit(to, low_offset, unit, scales, false);
      }
    }
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* to, const Words& words, const float* scales, int batch_index,
                                            int thread) {
  const bool is_turned = thread / 4 % 2 == 1;
#pragma unroll
  for (int i = 0; i < kLoadedInputs; ++i) {
    const int turn = batch_index * kInputBatch + i;
    if (is_piece(turn, thread, kInputBatch * kInputBatches, kInputSpans, kInputUnits)) {
      const int unit = piece_of(turn, thread, kInputSpans, kInputUnits);
      const unsigned int span = pixel_of(turn, thread, kInputSpans, kInputUnits);
      if constexpr (kInputSpan == 1) {
        store_unit(to + input_place(span, unit), kInputPartBytes, words[i][0], scales + unit * kVector, P::wide_in);
      } else {
        const int pixel = static_cast<int>(span / kInputRowSpans * kInputPitch + span % kInputRowSpans * 2);
        store_span(to + input_place(pixel, unit), to + input_place(pixel + 1, unit), true, true, is_turned,
                   kInputIsEven, kInputPartBytes, words[i], scales + unit * kVector);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kLoadedWindows; ++i) {
    const int turn = batch_index * kWindowBatch + i;
    if (is_piece(turn, thread, kWindowBatch * kWindowBatches, kWindowSpans, kWindowUnits)) {
      const int unit = piece_of(turn, thread, kWindowSpans, kWindowUnits);
      const unsigned int span = pixel_of(turn, thread, kWindowSpans, kWindowUnits);
      const float* own_scales = scales + (P::block_in + unit * kVector);
      if constexpr (kWindowSpan == 1) {
        store_unit(to + window_place(span, unit), kWindowPartBytes, words[kInputBatch + i][0], own_scales, P::wide_out);
      } else {
        store_span(to + window_place(spanned_pixel(span, 0), unit), to + window_place(spanned_pixel(span, 1), unit),
                   is_spanned(span, 0), is_spanned(span, 1), kPlanesW == 1 && is_turned, kWindowIsEven,
                   kWindowPartBytes, words[kInputBatch + i], own_scales);
      }
    }
  }
}
