// Staging of a k-block place by place, by all threads of a block: for templates that multiply one number at a time. The
// template has struct Stage, and stage_pixel() and stage_weight() for one place of its rows and weights.
// Needs: Element, kPlacesOfThread, kStagedColumns, kStagedRows, kTaps, kThreads, kTileChannels, P, Stage,
//   stage_pixel(), stage_weight()
#pragma once

// Places that a block stages at once. Loops are unrolled by hand: what the compiler does before an unrolled loop has
// places of its own, which registers keep from k-block to k-block.
constexpr int kPlacesOfTurn = kPlacesOfThread * kThreads;
constexpr int kRowPlaces = !P::staged ? 0 : P::block_k * kStagedRows * kStagedColumns;
constexpr int kRowPlacesInTurns = kRowPlaces / kPlacesOfTurn * kPlacesOfTurn;
constexpr int kWeightPlaces = !P::staged ? 0 : P::block_k * kTileChannels * kTaps;
constexpr int kWeightPlacesInTurns = kWeightPlaces / kPlacesOfTurn * kPlacesOfTurn;

// Copies a k-block of channels to shared memory, with all that the tile's taps read. `image` is the first channel of
// the group in this image; channel, row and column are the first that are staged.
__device__ __forceinline__ void stage_rows(Stage& stage, const Element* __restrict__ image, int first_channel,
                                           int first_row, const int first_column, const int depth, const int height,
                                           const int width) {
  if constexpr (kRowPlacesInTurns > 0) {
#pragma unroll 1
    for (int first = threadIdx.x; first < kRowPlacesInTurns; first += kPlacesOfTurn) {
#pragma unroll
      for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
        stage_pixel(stage, first + i, image, first_channel, first_row, first_column, depth, height, width);
      }
    }
  }
#pragma unroll 1
  for (int i = kRowPlacesInTurns + threadIdx.x; i < kRowPlaces; i += kThreads) {
    stage_pixel(stage, i, image, first_channel, first_row, first_column, depth, height, width);
  }
}

// Copies the weights of a k-block to shared memory, the tile's channels innermost. `weight` is the first input channel
// of the group.
__device__ __forceinline__ void stage_weights(Stage& stage, const Element* __restrict__ weight, int first_channel,
                                              const int first_of_tile, const int kd) {
  if constexpr (kWeightPlacesInTurns > 0) {
#pragma unroll 1
    for (int first = threadIdx.x; first < kWeightPlacesInTurns; first += kPlacesOfTurn) {
#pragma unroll
      for (int i = 0; i < kPlacesOfTurn; i += kThreads) {
        stage_weight(stage, first + i, weight, first_channel, first_of_tile, kd);
      }
    }
  }
#pragma unroll 1
  for (int i = kWeightPlacesInTurns + threadIdx.x; i < kWeightPlaces; i += kThreads) {
    stage_weight(stage, i, weight, first_channel, first_of_tile, kd);
  }
}
