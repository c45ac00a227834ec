// Stores in nchw: a warp puts what it has of eight channels and a phase row (a turn) into its place in shared memory,
// as rows, and stores these by vectors, whatever outputs its lanes have.
// Needs: acc_of(), Accumulators, columns_to(), Element, first_column(), first_row(), kAlongRow, kBytes, kChannelPitch,
//   kFlat, kGroupOut, kOutputColumns, kOutputRowPitch, kOutputRows, kOutputSpan, kPut, kShift, kTurnChannels, kVolume,
//   kWarpChannels, narrow(), P, rows_to(), store_staged_vector(), word_of()
#pragma once

#include "device/epilogue.h"
#include "device/warp.h"
#include "window/tile.h"

// Whole vectors of a row, and of all rows of a channel. Where these are few, lanes store several channels at once.
constexpr int kWholeVectors = kOutputColumns / P::store - (kShift > 0 ? 1 : 0);
constexpr int kChannelVectors = kOutputRows * kWholeVectors;
constexpr int kAtOnce = kChannelVectors < 32 ? smaller(32 / kChannelVectors, kTurnChannels) : 1;
constexpr int kRounds = ceil_div(kChannelVectors, 32);
constexpr int kChannelPieces = ceil_div(kTurnChannels, kAtOnce);  // of a round
// How many channels are read together without bank conflicts: each begins 16 bytes after the one before, modulo 128, so
// these are as far apart as one is long.
constexpr int kChannelSpan = kOutputRows * kOutputRowPitch * kBytes / 16;  // vectors
constexpr int kTogether =
    kTurnChannels % kChannelSpan == 0 && kTurnChannels % kAtOnce == 0 && kAtOnce % (kTurnChannels / kChannelSpan) == 0
        ? kTurnChannels / kChannelSpan
        : kTurnChannels;
// The n-th channel of a turn in the order in which they are stored.
__host__ __device__ constexpr int stored_channel(int n) {
  return n % kTogether * (kTurnChannels / kTogether) + n / kTogether;
}
// Which of them is the lane's first.
__device__ __forceinline__ int first_stored(int lane) {
  return kChannelVectors < 32 ? lane / kChannelVectors : 0;
}
// Where vectors begin before a row and end after it, a row has as many single elements as a vector, at both its ends.
constexpr int kSingles = kShift > 0 ? kTurnChannels* kOutputRows* P::store : 0;  // of a turn

// What a lane stores in each round: the offset in y of its first channel in the first turn and phase row, and its
// output row; a row far outside of the image where it stores nothing. Other channels and phase rows lie at constant
// distances, so no register keeps their addresses.
struct Stored {
  long long offset[kRounds];
  int row[kRounds];
};
constexpr int kNoRow = -(1 << 30);

__device__ __forceinline__ void find_stored(Stored& stored, const Tile& tile, int place, int lane, int channel,
                                            const int phase_row, const int batch, const int in_h, const int in_w,
                                            const int out_d, const int out_h, const int out_w) {
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int index = kChannelVectors < 32 ? lane % kChannelVectors : lane + 32 * round;
    const bool any = kChannelVectors < 32 ? lane < kAtOnce * kChannelVectors
                                          : (round + 1) * 32 <= kChannelVectors || index < kChannelVectors;
    const int column = (index % kWholeVectors + (kShift > 0 ? 1 : 0)) * P::store - kShift;  // of the warp's
    const int at = kFlat ? tile.m_x + first_column(place) + column / P::stride_w : 0;       // in the sequence
    const int image = kFlat ? tile.image + at / ((in_h + kGapH) * (in_w + kGapW)) : tile.image;
    const int m_y = kFlat ? at / (in_w + kGapW) % (in_h + kGapH) : tile.m_y + first_row(place) + index / kWholeVectors;
    const int first_x = (kFlat ? at % (in_w + kGapW) : tile.m_x + first_column(place)) * P::stride_w - P::padding_w;
    const int ox = first_x + (kFlat ? column % P::stride_w : column);
    const int oy = m_y * P::stride_h + phase_row - P::padding_h;
    const bool inside = any && ox >= 0 && ox < out_w && (!kFlat || image < batch);
    stored.offset[round] =
        (((static_cast<long long>(image) * P::y_channels + (channel + stored_channel(first_stored(lane)))) * out_d +
          (kVolume ? tile.plane : 0)) *
             out_h +
         oy) *
            out_w +
        ox;
    stored.row[round] = inside ? oy : kNoRow;
  }
}

// Puts adjacent outputs, aligned to all of them, into shared memory in one piece.
__device__ __forceinline__ void put_together(Element* to, const float (&values)[kPut]) {
  if constexpr (kPut == 1) {
    *to = narrow(values[0]);
  } else {
    unsigned int words[kPut * kBytes / 4];
#pragma unroll
    for (int word = 0; word < kPut * kBytes / 4; ++word) {
      words[word] = word_of(values + word * (4 / kBytes));
    }
    if constexpr (kPut * kBytes == 16) {
      *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
    } else if constexpr (kPut * kBytes == 8) {
      *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    } else {
      *reinterpret_cast<unsigned int*>(to) = words[0];
    }
  }
}

// Puts the lane's outputs of two channels of a turn into the warp's place. {with bias: `bias` is that of the
// lane's first channel.}
__device__ __forceinline__ void put_outputs(Element* place, const Accumulators& acc, const float* bias, int lane,
                                            const int turn, const int phase_h) {
  float own_biases[2] = {};
  if (P::has_bias) {
    // Read once: a compiler reads them again after each write to shared memory, which might have changed them.
    own_biases[0] = bias[0];
    own_biases[1] = bias[1];
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int first = 0; first < P::warp_tiles; first += kAlongRow ? P::warp_tiles : 1) {
      const int row = rows_to(first, lane / 4 + half * 8);
      const int column = columns_to(first, lane / 4 + half * 8) * P::stride_w;
#pragma unroll
      for (int own = 0; own < 2; ++own) {
        Element* to = place + (lane % 4 * 2 + own) * kChannelPitch + row * kOutputRowPitch + kShift + column;
#pragma unroll
        for (int begin = 0; begin < kOutputSpan; begin += kPut) {
          float values[kPut];
#pragma unroll
          for (int v = 0; v < kPut; ++v) {
            values[v] = epilogue(acc_of(acc[first + (begin + v) / P::stride_w],
                                        phase_h * P::stride_w + (begin + v) % P::stride_w, turn * 2 + own, half),
                                 P::has_bias ? own_biases[own] : 0);
          }
          put_together(to + begin, values);
        }
      }
    }
  }
}

// Stores what a turn has put.{with channel:  `channel` is the first of the first turn.}{with left:  `left` is how many
// there are from there on.}
__device__ __forceinline__ void store_turn(Element* __restrict__ y, const Element* place, const Stored& stored,
                                           const Tile& tile, int first, int lane, int channel, int left, const int turn,
                                           const int phase_row, const int phase_h, const int out_d, const int out_h,
                                           const int out_w) {
  const int nth = first_stored(lane);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int index = kChannelVectors < 32 ? lane % kChannelVectors : lane + 32 * round;
    const Element* from = place + stored_channel(nth) * kChannelPitch + index / kWholeVectors * kOutputRowPitch +
                          (index % kWholeVectors + (kShift > 0 ? 1 : 0)) * P::store;
    const int oy = stored.row[round] + phase_h;
    if (oy >= 0 && oy < out_h) {
      constexpr bool kReadsAhead = P::store == 1;
      Element elements[kChannelPieces];
      if constexpr (kReadsAhead) {
        // All are read before one is stored: a store might have changed them.
#pragma unroll
        for (int i = 0; i < kChannelPieces; ++i) {
          elements[i] = kTurnChannels % kAtOnce == 0 || nth + i * kAtOnce < kTurnChannels
                            ? from[stored_channel(i * kAtOnce) * kChannelPitch]
                            : 0;
        }
      }
#pragma unroll
      for (int i = 0; i < kChannelPieces; ++i) {
        const int before = turn * kTurnChannels + stored_channel(i * kAtOnce);  // from the lane's first channel
        if ((kTurnChannels % kAtOnce == 0 || nth + i * kAtOnce < kTurnChannels) &&
            (kGroupOut % P::block_n == 0 || before < left - stored_channel(nth))) {
          Element* to =
              y + stored.offset[round] + (phase_h * out_w + static_cast<long long>(before) * out_d * out_h * out_w);
          if constexpr (kReadsAhead) {
            *to = elements[i];
          } else {
            store_staged_vector(to, from + stored_channel(i * kAtOnce) * kChannelPitch);
          }
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < ceil_div(kSingles, 32); ++i) {
    const int index = lane + 32 * i;
    const int single = index % P::store;
    const int row = index / P::store % kOutputRows;
    const int of_turn = index / (P::store * kOutputRows);
    const int own = turn * kTurnChannels + of_turn;  // from the first turn's first one
    const int element = single < P::store - kShift ? kShift + single : kOutputColumns - (P::store - kShift) + single;
    const int ox = (tile.m_x + first_column(first)) * P::stride_w - P::padding_w + element - kShift;
    const int oy = (tile.m_y + first_row(first) + row) * P::stride_h + phase_row + phase_h - P::padding_h;
    if ((kSingles % 32 == 0 || index < kSingles) && (kGroupOut % P::block_n == 0 || own < left) && ox >= 0 &&
        ox < out_w && oy >= 0 && oy < out_h) {
      const long long plane =
          (static_cast<long long>(tile.image) * P::y_channels + (channel + own)) * out_d + (kVolume ? tile.plane : 0);
      y[(plane * out_h + oy) * out_w + ox] = place[of_turn * kChannelPitch + row * kOutputRowPitch + element];
    }
  }
}

// Stores a warp's outputs. {with first: `first` is its first position in the block's tile, }`channel` its first channel
// of the block's, `y` the block's first channel of the first image{with left: , `left` how many channels there are from
// there on}.
__device__ __forceinline__ void store_planes(const Accumulators& acc, Element* __restrict__ y, Element* place,
                                             const float* bias, const Tile& tile, int first, int lane, int channel,
                                             int left, const int phase_row, const int batch, const int in_h,
                                             const int in_w, const int out_d, const int out_h, const int out_w) {
  Stored stored;
  find_stored(stored, tile, first, lane, channel, phase_row, batch, in_h, in_w, out_d, out_h, out_w);
#pragma unroll
  for (int turn = 0; turn < kWarpChannels / kTurnChannels; ++turn) {
#pragma unroll
    for (int phase_h = 0; phase_h < P::phase_rows; ++phase_h) {
      put_outputs(place, acc, bias + (channel + turn * kTurnChannels + lane % 4 * 2), lane, turn, phase_h);
      __syncwarp();
      store_turn(y, place, stored, tile, first, lane, channel, left - channel, turn, phase_row, phase_h, out_d, out_h,
                 out_w);
      // Between tiles blocks meet.
      if (kVolume || turn + 1 < kWarpChannels / kTurnChannels || phase_h + 1 < P::phase_rows) {
        __syncwarp();
      }
    }
  }
}
