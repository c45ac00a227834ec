// The products of a k-block.
#pragma once

#include "device/printed.h"
#include "device/ring.h"
#include "forward_gemm/accumulators.h"
#include "forward_gemm/taps.h"
#include "fragments.h"
#include "layout.h"

// The accumulators of a tap's phase.
__host__ __device__ constexpr int set_of_tap(int kh, int kw) {
  const int phase_h = kPhaseGroups > 1 ? 0 : phase_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h);
  return (phase_h * P::stride_w + phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w)) / kFusedPhases;
}

// A tap's products, for all M tiles. They begin their accumulators where `accumulate` is 0.
__device__ __forceinline__ void multiply_tap(Accumulators& acc, int set, const Fragments& fragments, int first,
                                             unsigned long long weights, int accumulate) {
#pragma unroll
  for (int tile = 0; tile < kMTiles; ++tile) {
    wgmma_rs(P::type, kWgmmaMajorK, acc[set][tile], fragments[kTileFragments * tile + first], weights, accumulate);
  }
}

// All products of one k-block, from the thread's first position in the staged input on. {with later: In a tile's
// first k-block `later` is 0.} {with previous: The stage before, at `previous`, is released as soon as its products are
// done.}
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, Fragments (&fragments)[kFragmentSets],
                                                 const Element* rows, unsigned long long weights, int later,
                                                 unsigned long long* previous, unsigned int zero, const Place& place,
                                                 const int in_w) {
#pragma unroll
  for (int k_step = 0; k_step < kKSteps; ++k_step) {
    const Element* step_rows = rows + k_step * kKStepPitch;
    const unsigned long long step_weights = moved(weights, k_step * kProductBytes);
    const int begun = k_step > 0 ? 1 : later;
    CONVTGEN_UNROLL
    for (int offset = 0; offset < kOffsetsH; ++offset) {
      if (is_used(offset)) {
        CONVTGEN_UNROLL
        for (int part = 0; part < kTapParts; ++part) {
          const int batch = used_before(offset) * kTapParts + part;
          const int at = kBatches > 1 ? batch : k_step % kFragmentSets;
          load_fragments(fragments[at],
                         step_rows + staged_row(0, offset) +
                             (kSkewed ? (place.in_vector + offset * (in_w % kVector)) % kVector : 0),
                         part, fragments[kFragmentSets - 1], kBatches > 1 ? k_step == 0 && batch == 1 : k_step == 1,
                         k_step == kKSteps - 1 && batch == kBatches - 1, zero, place, in_w);
          wgmma_fence();
          CONVTGEN_UNROLL
          for (int kh = 0; kh < kBlockTapRows; ++kh) {
            if (offset_of_row(kh) == offset) {
              CONVTGEN_UNROLL
              for (int kw = part * kHeldTaps; kw < P::kernel_w && kw < (part + 1) * kHeldTaps; kw += kFusedPhases) {
                const int set = set_of_tap(kh, kw);
                const int first = fragment_of_tap(kw);
                const int operand = operand_of_tap(kh, kw, 0);
                const bool begins = is_first(kh, kw);
                const int row = kh * kRowGroups;
                const int last = kw + kFusedPhases - 1;
                if (kRowGroups == 1 && kFusedPhases == 1) {
                  multiply_tap(acc, set, fragments[at], first, moved(step_weights, operand),
                               begins ? begun : 1);  // tap ({kh}, {kw})
                } else if (kRowGroups == 1) {
                  multiply_tap(acc, set, fragments[at], first, moved(step_weights, operand),
                               begins ? begun : 1);  // taps ({kh}, {kw} to {last})
                } else if (kFusedPhases == 1) {
                  multiply_tap(acc, set, fragments[at], first, moved(step_weights, operand),
                               begins ? begun : 1);  // tap ({row} + r, {kw})
                } else {
                  multiply_tap(acc, set, fragments[at], first, moved(step_weights, operand),
                               begins ? begun : 1);  // taps ({row} + r, {kw} to {last})
                }
              }
            }
          }
          wgmma_commit();
          wgmma_wait(1);  // the fragments before may be overwritten
          if (kKeptByStores && k_step == 0 && batch == 0) {
            keep_fragments(fragments[kFragmentSets - 1], zero);
          }
          if (!P::resident && batch == 0 && k_step == 0) {
            warp_arrive(previous, later == 1);
          }
        }
      }
    }
  }
}
