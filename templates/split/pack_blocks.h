// How the packing of weights that are split is shared among blocks.
// Needs: kChannelTiles, kColumnPhases, kKBlocks, kKSteps, kPackers, P
#pragma once

// Of a column; a channel has kColumnPhases of them.

constexpr int kKernelTaps = P::kernel_d * P::kernel_h * P::kernel_w / kColumnPhases;
constexpr int kAllKSteps = kKBlocks * kKSteps;
constexpr int kLaneValues =
    kAllKSteps * kKernelTaps * 4;  // a column's items: each lane's four weights of a k-step and tap
constexpr int kMadeColumns = P::groups * kChannelTiles * P::block_n;

// Whether more blocks should share the work, where each packs a part of some columns. A thread is to have eight items.
__host__ __device__ constexpr bool shares_more(int columns, int parts) {
  return kMadeColumns / columns * parts < 512 && kLaneValues * columns > 8 * kPackers * parts;
}

// How many adjacent columns a block packs: few where the layer has few. But loads are to read whole sectors.
constexpr int pack_columns() {
  const int fewest = kColumnPhases > 1 ? 8 : !P::weight_channels_last && kKernelTaps >= 8 ? 1 : 2;
  int columns = 8;
  while (columns > fewest && shares_more(columns, 1)) {
    columns /= 2;
  }
  return columns;
}
constexpr int kPackColumns = pack_columns();

// How many blocks pack a part of the same columns each.
constexpr int pack_parts() {
  int parts = 1;
  while (parts < 4 && shares_more(kPackColumns, parts)) {
    parts *= 2;
  }
  return parts;
}
constexpr int kPackParts = pack_parts();
constexpr int kPackBlocks = kMadeColumns / kPackColumns * kPackParts;
constexpr int kColumnMaxima = 8 * kPackParts;  // of a column: one for each warp of its blocks
