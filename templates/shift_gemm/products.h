// Part of the template `shift_gemm`, which uses what stands above its line there: a thread's sums, the products of a
// chunk but for those of f32x3, and how stages go round.
#pragma once

constexpr int kTileSums = kTiles * kProductColumns / 2;  // of phases that one product makes
// The i-th of a thread's sums.
__device__ __forceinline__ float& sum_at(Sums (&sums)[kSums][kTiles], int i) {
  return sums[i / kTileSums][i / (kProductColumns / 2) % kTiles][i % (kProductColumns / 2)];
}

// Keeps the compiler from moving a tile's sums across the waits for its products, or the fences before them.
__device__ __forceinline__ void pin(Sums (&sums)[kSums][kTiles]) {
#pragma unroll
  for (int i = 0; i < kSums * kTileSums; ++i) {
    wgmma_pin(sum_at(sums, i));
  }
}

// Says for a warp that it has read or filled a stage, if that is so.
__device__ __forceinline__ void release(unsigned long long* barrier, bool is_done) {
  __syncwarp();
  if (is_done && threadIdx.x % 32 == 0) {
    mbarrier_arrive(barrier);
  }
}

// A tap's products, for all tiles: the first of their sums where `accumulate` is 0.
__device__ __forceinline__ void multiply_tap(Sums (&sums)[kSums][kTiles], int part, const Run& run, int shift,
                                             unsigned long long weights, int accumulate) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    wgmma_rs(P::type, kWgmmaMajorK, sums[part][tile], run[2 * tile + shift], weights, accumulate);
  }
}

// All products of one chunk, from the thread's first position in the staged input on. In a tile's first chunk `later`
// is 0; in others the stage of `previous` is free as soon as its products are done.
__device__ __forceinline__ void multiply_chunk(Sums (&sums)[kSums][kTiles], Run (&runs)[kRunSets], const Element* rows,
                                               unsigned long long weights, int later, unsigned long long* previous,
                                               unsigned int zero, const Place& place, const int in_w) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const Element* step_rows = rows + step * kStepPitch;
    const unsigned long long step_weights = moved(weights, step * kProductBytes);
    const int begun = step > 0 ? 1 : later;
    CONVTGEN_UNROLL
    for (int offset = 0; offset < kOffsetsH; ++offset) {
      if (is_used(offset)) {
        const int at = kUsedRows > 1 ? used_before(offset) : step % kRuns;
        load_run(runs[at],
                 step_rows + staged_row(0, offset) + (kSkewed ? (place.piece + offset * (in_w % kPiece)) % kPiece : 0),
                 runs[kRunSets - 1], kUsedRows > 1 ? step == 0 && used_before(offset) == 1 : step == 1,
                 step == kSteps - 1 && used_before(offset) == kUsedRows - 1, zero, place, in_w);
        wgmma_fence();
        CONVTGEN_UNROLL
        for (int kh = 0; kh < kBlockTapRows; ++kh) {
          if (offset_of_row(kh) == offset) {
            CONVTGEN_UNROLL
            for (int kw = 0; kw < P::kernel_w; kw += kMerged) {
              const int part = sums_of_tap(kh, kw);
              const int shift = shift_of_tap(kw);
              const int operand = operand_of_tap(kh, kw, 0);
              const bool begins = is_first(kh, kw);
              const int row = kh * kPhaseGroups;
              const int last = kw + kMerged - 1;
              if (kPhaseGroups == 1 && kMerged == 1) {
                multiply_tap(sums, part, runs[at], shift, moved(step_weights, operand),
                             begins ? begun : 1);  // tap ({kh}, {kw})
              } else if (kPhaseGroups == 1) {
                multiply_tap(sums, part, runs[at], shift, moved(step_weights, operand),
                             begins ? begun : 1);  // taps ({kh}, {kw} to {last})
              } else if (kMerged == 1) {
                multiply_tap(sums, part, runs[at], shift, moved(step_weights, operand),
                             begins ? begun : 1);  // tap ({row} + r, {kw})
              } else {
                multiply_tap(sums, part, runs[at], shift, moved(step_weights, operand),
                             begins ? begun : 1);  // taps ({row} + r, {kw} to {last})
              }
            }
          }
        }
        wgmma_commit();
        wgmma_wait(1);  // the run before may be overwritten
        if (kKeptByStores && step == 0 && used_before(offset) == 0) {
          keep_run(runs[kRunSets - 1], zero);
        }
        if (!P::resident && used_before(offset) == 0 && step == 0) {
          release(previous, later == 1);
        }
      }
    }
  }
}

// Goes on to the next stage.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  stage = stage == P::stages - 1 ? 0 : stage + 1;
  parity ^= stage == 0 ? 1 : 0;
}
