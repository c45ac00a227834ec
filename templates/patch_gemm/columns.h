// Part of the template `patch_gemm`: the order that the weights' columns get, which gives each thread adjacent
// channels.
//
// Of the accumulators of a pixel a thread has two of each eight columns, and four threads share the eight.
#pragma once

#include "layout.h"

// A tap's channels are split into groups of 4 * P::store; each thread of a quad has P::store adjacent ones.
constexpr int kPieceChannels = 4 * P::store;
constexpr int kPieces = P::block_c / kPieceChannels;

// The first of a piece's channels that a thread has, the `quarter`-th of four. In the second piece adjacent threads
// change their places, so that what they read together lies in different banks.
__device__ inline int channel_of(int piece, int quarter) {
  return piece * kPieceChannels + (quarter ^ piece) * P::store;
}

// Whether 16 bytes of the weights are four taps of two channels. So a thread's two are every second channel then.
constexpr bool kInPairs = !kTurned && kTaps == 4;

// Where a thread has a channel, the `channel`-th of its own, of a tap and piece: the group of eight columns, and which
// of its two there. Taps that are written together go to different banks.
__device__ inline int group_of(int tap, int piece, int channel) {
  return (tap * P::block_c + piece * kPieceChannels) / 8 +
         (kInPairs ? channel / 4 * 2 + (channel ^ tap) % 2 : channel / 2);
}
__device__ inline int place_in_group(int channel) {
  return kInPairs ? channel / 2 % 2 : channel % 2;
}
