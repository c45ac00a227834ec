// Part of the template `shift_gemm`, which uses what stands above its line there: f32x3 where rows of taps share no
// input. Consumers split what they read themselves, 16 channels at a time, with a scale for each warp, or for each
// image that it reads.
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

// The largest magnitude in a chunk of what the lanes read that have the same image, of the finite ones where `finite`.
// NaN don't count. Collective.
constexpr int kImageLanes = P::tile_h * P::tile_w / P::run < 8 ? P::tile_h * P::tile_w / P::run * 4 : 32;
__device__ __forceinline__ float largest_read(const float* row, bool finite) {
  float most = 0;
#pragma unroll 4
  for (int step = 0; step < kSteps; ++step) {
    Values values;
    load_values(values, row + step * kStepPitch);
#pragma unroll
    for (int channel = 0; channel < 4; ++channel) {
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        const float value = values[channel][i];
        most = finite ? larger_finite(most, value) : fmaxf(most, fabsf(value));
      }
    }
  }
  if (kImageLanes == 32) {
    return largest_of_warp(most);
  }
#pragma unroll
  for (int distance = kImageLanes / 2; distance > 0; distance /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
  }
  return most;
}

// Before a chunk's products: x keeps the scale that it has in the sums, if that brings the largest magnitude to at
// least 2^13 and not beyond what f16 has, or there is none; else sums are put away, as those of terms enough are, and
// the chunk's own scale is taken. The warps of a warpgroup do so together, since their products are: each says at
// `asked` whether it has to.
__device__ __forceinline__ void choose_scale_read(Sums (&sums)[kSums][kTiles], Held& held, const float* row, int* asked,
                                                  float4* totals, const int* exponents) {
  float largest = largest_read(row, false);
  if (__ballot_sync(0xffffffffu, largest == __int_as_float(0x7f800000) ? 1 : 0) != 0) {
    largest = largest_read(row, true);
  }
  if (kHasTotals && held.rows > 0) {
    const float scaled = largest * power_of_two(held.exponent);
    const bool fits = held.rows < kRowsTogether && (largest == 0 || (scaled >= 8192 && scaled <= 65504));
    const unsigned int unfit = __ballot_sync(0xffffffffu, fits ? 0 : 1);
    if (threadIdx.x % 32 == 0) {
      asked[threadIdx.x / 32] = unfit != 0 ? 1 : 0;
    }
    named_barrier_sync(1 + warp_uniform(threadIdx.x / 128), 128);
    const int4 all = reinterpret_cast<const int4*>(asked)[threadIdx.x / 128];
    if ((all.x | all.y | all.z | all.w) != 0) {
      put_away(sums, held, totals, exponents, 0);
    }
  }
  if (held.rows == 0) {
    held.exponent = scale_exponent(largest);
  }
}

// The words of all high parts first, so that none waits for its low part.
__device__ __forceinline__ void split_values(Words (&words)[2], const Values& values, float scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      words[0][half][i] = floats_to_half2(values[2 * half][i] * scale, values[2 * half + 1][i] * scale);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      words[1][half][i] = low_parts(values[2 * half][i] * scale, values[2 * half + 1][i] * scale, words[0][half][i]);
    }
  }
}

// All products of one chunk, into the sums of those before. `row` is the thread's first position in the staged input.
// With resident weights it says at `empty` that the stage has been read; else at `previous`, as soon as the products of
// the stage before are done, that this one has been, unless the chunk is the `first` of a tile.
__device__ __forceinline__ void multiply_read(Sums (&sums)[kSums][kTiles], Run (&runs)[2], Held& held, const float* row,
                                              const unsigned char* weights, bool first, unsigned long long* empty,
                                              unsigned long long* previous, unsigned int zero) {
  unsigned long long operands = wgmma_descriptor(weights, kProductColumns * 16, 128, 0);
  const float scale = power_of_two(held.exponent);
  Values values;
  load_values(values, row);
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
    if (step < kSteps - 1) {  // what comes next is loaded while these products run
      row += kStepPitch;
      load_values(values, row);
    }
    arrange(runs[1], words[0], zero, true);
    wgmma_fence();
    multiply_taps(sums, runs[1], operands, 0, later, true);
    wgmma_commit();
    wgmma_wait(1);
    operands = wgmma_descriptor_move(operands, kProductBytes);
  }
}
