// Part of the template `patch_gemm`: a k-block's weights get the order of columns.h. Rows stay where they are.
#pragma once

#include "columns.h"
#include "device/barrier.h"
#include "device/matrix_load.h"

// Where a column of a row is, in bytes.
__device__ inline unsigned int weight_place(unsigned int row, unsigned int column) {
  const unsigned int moved = row * kRowBytes / 128 % (kRowBytes / 16);
  return column / kBoxColumns * kWeightBoxBytes + row * kRowBytes + ((column % kBoxColumns * kBytes) ^ (moved * 16));
}

// Where the taps of a channel follow one another, rows of matrices are vectors of 16 bytes: eight taps of a channel, or
// four of two. Transposed, a matrix gives a lane two channels of a tap, and four matrices those of the four threads
// that share a group of columns. A thread has kOwnVectors of a row; where these are less than eight, a matrix takes
// other rows too, as many apart, so that what is read together lies in different banks.
constexpr int kOwnVectors = kTurned ? 1 : kColumns / 32;
constexpr int kPieceVectors = kTurned ? 1 : kOwnVectors / kPieces;

// The first column, as they come, of a thread's vector.
__device__ inline int vector_column(int quarter, int vector) {
  const int first = channel_of(vector / kPieceVectors, quarter);
  return kTaps == 4   ? (first + vector % kPieceVectors * 2) * 4
         : kTaps == 8 ? (first + vector) * 8
                      : (first + vector % 4) * 16 + vector / 4 * 8;
}

// The group of columns that gets this element of an even vector and of the next one.
__device__ inline int vector_group(int vector, int element) {
  return kTaps == 4   ? group_of(element % 4, vector / kPieceVectors, vector % kPieceVectors * 2 + element / 4)
         : kTaps == 8 ? group_of(element, 0, vector)
                      : group_of(vector / 4 * 8 + element, 0, vector % 4);
}

// The row, counted from the first one of four matrices, of this vector of a thread.
__device__ inline int row_of(int vector) {
  return vector / kOwnVectors * kOwnVectors;
}

// Four matrices, of a warp.
using Matrices = unsigned int[4];
constexpr int kMatrices = P::block_k * kOwnVectors / 8;    // of a k-block, each four
constexpr int kHeld = kMatrices < 16 ? kMatrices / 4 : 4;  // of a warp, which are read together

__device__ inline int first_row_of(int number) {
  return number / kOwnVectors * 8 + number % kOwnVectors;
}
__device__ __forceinline__ void read_matrices(Matrices& words, const unsigned char* weights, int number) {
  const int lane = threadIdx.x % 32;
  matrix_load_x4_transposed(words, weights + weight_place(first_row_of(number) + row_of(lane % 8),
                                                          vector_column(lane / 8, lane % 8 % kOwnVectors)));
}
__device__ __forceinline__ void write_matrices(unsigned char* weights, const Matrices& words, int number) {
  const int vector = threadIdx.x % 4 * 2;
  *reinterpret_cast<uint4*>(weights + weight_place(first_row_of(number) + row_of(vector),
                                                   vector_group(vector % kOwnVectors, threadIdx.x % 32 / 4) * 8)) =
      make_uint4(words[0], words[1], words[2], words[3]);
}

// Arranges a k-block's rows, by a warpgroup.
__device__ __forceinline__ void arrange_matrices(unsigned char* weights) {
  const int warp = threadIdx.x % 128 / 32;
#pragma unroll
  for (int first = 0; first < kMatrices; first += kHeld * 4) {
    Matrices words[kHeld];
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
      read_matrices(words[held], weights, first + held * 4 + warp);
    }
    __syncwarp();
#pragma unroll
    for (int held = 0; held < kHeld; ++held) {
      write_matrices(weights, words[held], first + held * 4 + warp);
    }
  }
}

// Arranges a row's words of a pair of channels, where the channels of a tap follow one another.
__device__ __forceinline__ void arrange_words(unsigned char* weights, int row, int channel) {
  const int piece = channel / kPieceChannels;
  const int quarter = (channel / P::store % 4) ^ piece;
  unsigned int words[kTaps];
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    words[tap] = *reinterpret_cast<const unsigned int*>(weights + weight_place(row, tap * P::block_c + channel));
  }
  __syncwarp();
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    *reinterpret_cast<unsigned int*>(
        weights + weight_place(row, group_of(tap, piece, channel % P::store) * 8 + quarter * 2)) = words[tap];
  }
}

// Arranges a k-block's weights, by a warpgroup, for its products and those of others.
__device__ __forceinline__ void arrange_weights(unsigned char* weights) {
  if (kTurned) {
    constexpr int kPairs = P::block_c / 2;
    const int thread = threadIdx.x % 128;
#pragma unroll 1
    for (int row = thread / kPairs; row < P::block_k; row += 128 / kPairs) {
      arrange_words(weights, row, thread % kPairs * 2);
    }
  } else {
    arrange_matrices(weights);
  }
  fence_proxy_async();
}
