// Part of the template `shift_gemm`, which uses what stands above its line there: f32x3 where rows of taps share no
// input. Consumers split what they read themselves, 16 channels at a time.
#pragma once

using Values = float[4][kRun];  // of a thread's channels

// Takes a thread's run to registers, for one step: two adjacent channels of each half of a product's depth, with
// channels last all four in one piece.
__device__ __forceinline__ void load_values(Values& values, const float* row) {
#pragma unroll
  for (int i = 0; i < kRun; i += kVector) {
    if (P::channels_last) {
      const float4 v = *reinterpret_cast<const float4*>(row + i * kPixelPitch);
      values[0][i] = v.x;
      values[1][i] = v.y;
      values[2][i] = v.z;
      values[3][i] = v.w;
    } else {
#pragma unroll
      for (int channel = 0; channel < 4; ++channel) {
        const float* from = row + (channel / 2 * 8 + channel % 2) * kChannelPitch + i;
        if (kVector == 4) {
          const float4 v = *reinterpret_cast<const float4*>(from);
          values[channel][i] = v.x;
          values[channel][i + 1] = v.y;
          values[channel][i + 2] = v.z;
          values[channel][i + 3] = v.w;
        } else {
          const float2 v = *reinterpret_cast<const float2*>(from);
          values[channel][i] = v.x;
          values[channel][i + 1] = v.y;
        }
      }
    }
  }
}

// The words of all high parts first, so that none waits for its low part.
__device__ __forceinline__ void split_values(Words (&words)[2], const Values& values, float scale) {
#pragma unroll
  for (int i = 0; i < 2 * kRun; ++i) {
    const int half = i / kRun * 2;
    words[0][i / kRun][i % kRun] = floats_to_half2(values[half][i % kRun] * scale, values[half + 1][i % kRun] * scale);
  }
#pragma unroll
  for (int i = 0; i < 2 * kRun; ++i) {
    const int half = i / kRun * 2;
    words[1][i / kRun][i % kRun] =
        low_parts(values[half][i % kRun] * scale, values[half + 1][i % kRun] * scale, words[0][i / kRun][i % kRun]);
  }
}

// All products of one chunk, into the sums of those before. `row` is the thread's first position in the stage, `values`
// what it reads there first. The stage is given back at `empty`; or the one before at `previous`, if not at a `first`.
__device__ __forceinline__ void multiply_read(Sums (&sums)[kSums][kTiles], Run (&runs)[kRunSets], Held& held,
                                              Values& values, const float* row, const unsigned char* weights, int image,
                                              bool first, unsigned long long* empty, unsigned long long* previous,
                                              unsigned int zero) {
  unsigned long long operands = wgmma_descriptor(weights, kProductColumns * 16, 128, 0);
  const float scale = power_of_two(P::tile_n == 1 ? held.exponent : __shfl_sync(0xffffffffu, held.exponent, image));
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int later = held.rows > 0 ? 1 : 0;
    ++held.rows;
    Words words[2];
    split_values(words, values, scale);
    if (P::resident && step == kSteps - 1) {
      release(empty, (word_of_all(words[1]) & zero) == 0);
    }
    arrange(runs[0], words[1], zero, false);
    wgmma_fence();
    multiply_taps(sums, runs[0], operands, 0, later, false);
    wgmma_commit();
    wgmma_wait(1);  // the run of the other part may be overwritten
    if (!P::resident && step == 0) {
      release(previous, !first);
    }
    if (step < kSteps - 1) {
      row += kStepPitch;  // what comes next is loaded while these products run
      load_values(values, row);
    }
    arrange(runs[1], words[0], zero_behind_wait(weights, zero), true);
    wgmma_fence();
    multiply_taps(sums, runs[1], operands, 0, later, true);
    wgmma_commit();
    wgmma_wait(1);
    operands = moved(operands, kProductBytes);
  }
}
