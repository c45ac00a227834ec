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
__device__ __forceinline__ void multiply_chunk(Sums (&sums)[kSums][kTiles], const Element* rows,
                                               unsigned long long weights, int later, unsigned long long* previous,
                                               const Place& place, const int in_w) {
  Run runs[kRuns];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const Element* step_rows = rows + step * kStepPitch;
    const unsigned long long step_weights = moved(weights, step * kProductBytes);
    const int begun = step > 0 ? 1 : later;
    CONVTGEN_UNROLL
    for (int offset = 0; offset < kOffsetsH; ++offset) {
      if (is_used(offset)) {
        const int at = kUsedRows > 1 ? used_before(offset) : step % kRuns;
        load_run(runs[at], step_rows + staged_row(0, offset) + (kSkewed ? (place.piece + offset * in_w) % kPiece : 0),
                 place, in_w);
        wgmma_fence();
        CONVTGEN_UNROLL
        for (int kh = 0; kh < kBlockTapRows; ++kh) {
          if (offset_of_row(kh) == offset) {
            CONVTGEN_UNROLL
            for (int kw = 0; kw < P::kernel_w; kw += kMerged) {
              multiply_tap(sums, sums_of_tap(kh, kw), runs[at], shift_of_tap(kw),
                           moved(step_weights, operand_of_tap(kh, kw, 0)),
                           is_first(kh, kw) ? begun : 1);  // tap ({kh}, {kw})
            }
          }
        }
        wgmma_commit();
        wgmma_wait(1);  // the run before may be overwritten
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
