// Part of the template `shift_gemm`, which uses what stands above its line there: what f32x3 has of its own.
#pragma once

// The larger one of `most` and the magnitudes of a copy, whose NaN don't count, nor infinities where `finite`.
__device__ __forceinline__ float larger(float most, float value, bool finite) {
  return finite ? larger_finite(most, value) : fmaxf(most, fabsf(value));
}
__device__ __forceinline__ float largest_copied(float most, const float* from, bool finite) {
  if (kCopy == 4) {
    const float4 v = *reinterpret_cast<const float4*>(from);
    return larger(larger(larger(larger(most, v.x, finite), v.y, finite), v.z, finite), v.w, finite);
  } else if (kCopy == 2) {
    const float2 v = *reinterpret_cast<const float2*>(from);
    return larger(larger(most, v.x, finite), v.y, finite);
  } else {
    return larger(most, *from, finite);
  }
}

// What bulk copies bring is looked at in pieces of 16 bytes: those of the whole stage, or, where a tile has several
// images, of an image in each channel. All of a thread's lie at constant distances from its first.
constexpr bool kLooksAtAll = P::tile_n == 1;
constexpr int kLookPieces = (kLooksAtAll ? P::chunk * kChannelPitch : kImagePlane) / 4;  // adjacent ones
constexpr int kLookPlanes = kLooksAtAll ? 1 : P::chunk;
constexpr int kLookAtOnce = kLookPieces < kProducers ? kProducers / kLookPieces : 1;  // planes
constexpr int kLookRow = ceil_div(kLookPieces, kProducers);                           // of a thread in one plane
constexpr int kLooks = ceil_div(kLookPlanes, kLookAtOnce) * kLookRow;
constexpr int kLookBatch = ceil_div(kLooks, ceil_div(kLooks, 9));  // loads under way, four registers each
__device__ __forceinline__ float largest_of_pieces(const float* staged, int image, int thread) {
  const int plane = kLookAtOnce > 1 ? thread / kLookPieces % kLookAtOnce : 0;  // threads too many look twice
  const int piece = kLookAtOnce > 1 ? thread % kLookPieces : thread;
  const float* from = staged + plane * kChannelPitch + image * kImagePlane + piece * 4;
  float most[4] = {0, 0, 0, 0};
#pragma unroll
  for (int batch = 0; batch < kLooks; batch += kLookBatch) {
    float4 values[kLookBatch];
#pragma unroll
    for (int i = 0; i < kLookBatch; ++i) {
      const int first = (batch + i) / kLookRow * kLookAtOnce;
      const int further = (batch + i) % kLookRow * kProducers;
      const bool exists = (kLookPlanes % kLookAtOnce == 0 || first + plane < kLookPlanes) &&
                          (kLookAtOnce > 1 || further + kProducers <= kLookPieces || piece + further < kLookPieces);
      values[i] = batch + i < kLooks && exists
                      ? *reinterpret_cast<const float4*>(from + first * kChannelPitch + further * 4)
                      : make_float4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < kLookBatch; ++i) {
      most[0] = fmaxf(most[0], fabsf(values[i].x));
      most[1] = fmaxf(most[1], fabsf(values[i].y));
      most[2] = fmaxf(most[2], fabsf(values[i].z));
      most[3] = fmaxf(most[3], fabsf(values[i].w));
    }
  }
  return fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3]));
}

// The same of what is finite, which is seldom asked for: piece by piece.
__device__ __forceinline__ float largest_finite_of_pieces(const float* staged, int image, int thread) {
  float most = 0;
#pragma unroll 1
  for (int i = thread; i < kLookPlanes * kLookPieces; i += kProducers) {
    most = largest_copied(most, staged + i / kLookPieces * kChannelPitch + image * kImagePlane + i % kLookPieces * 4,
                          true);
  }
  return most;
}

// The ends of the channels' pitches, which no copy reaches, are looked at too.
__device__ __forceinline__ void clear_pitches(unsigned char* stages) {
  constexpr int kEnd = (kChannelPitch - kPlane) / 4;  // pieces
  for (int i = threadIdx.x; i < P::stages * P::chunk * kEnd; i += kThreads) {
    float* stage = reinterpret_cast<float*>(stages + i / (P::chunk * kEnd) * kStageBytes);
    *reinterpret_cast<float4*>(stage + i / kEnd % P::chunk * kChannelPitch + kPlane + i % kEnd * 4) =
        make_float4(0, 0, 0, 0);
  }
}

// The largest magnitude of a producer's part of an image in a stage: with bulk copies any part, else what a thread has
// copied itself, as stage_pixels() and stage_channels() do.
__device__ __forceinline__ float largest_staged(const float* staged, int image, int thread, bool finite) {
  float most = 0;
  if (P::bulk) {
    most = finite ? largest_finite_of_pieces(staged, image, thread) : largest_of_pieces(staged, image, thread);
  } else if (P::channels_last) {
    for (int pixel = thread / kCopies; pixel < kPlane; pixel += kAtOnce) {
      if (P::tile_n == 1 || pixel / kImagePlane == image) {
        most = largest_copied(most, staged + pixel * kPixelPitch + thread % kCopies * kCopy, finite);
      }
    }
  } else {
    const int first = kCopies < kProducers ? thread / kCopies : 0;
    for (int place = kCopies < kProducers ? thread % kCopies : thread; place < kCopies && first < kAtOnce;
         place += kProducers) {
      if (P::tile_n == 1 || place / (kCopies / P::tile_n) == image) {
#pragma unroll 4
        for (int channel = first; channel < P::chunk; channel += kAtOnce) {
          most = largest_copied(most, staged + channel * kChannelPitch + place * kCopy, finite);
        }
      }
    }
  }
  return most;
}

// How many stages' copies may be under way when the producers wait for a stage to be given back. Consumers give one
// back when they have the next one, so those before these two must have been finished.
constexpr int kUnderWay = P::bulk || P::stages < 5 ? P::stages - 2 : 2;

// Says what is largest in each image of the oldest stage under way, and that it is there; goes on to the next one.
// Where there are infinities, finite magnitudes are looked for anew.
__device__ __forceinline__ void finish_stage(unsigned char* stages, unsigned long long* full,
                                             unsigned long long* landed, int& oldest, unsigned int& parity,
                                             int thread) {
  unsigned char* finished = stages + oldest * kStageBytes;
  if (P::bulk) {
    mbarrier_wait(&landed[oldest], parity);
  }
  for (int image = 0; image < P::tile_n; ++image) {
    const float* staged = reinterpret_cast<const float*>(finished);
    float most = largest_of_warp(largest_staged(staged, image, thread, false));
    if (most == __int_as_float(0x7f800000)) {
      most = largest_of_warp(largest_staged(staged, image, thread, true));
    }
    if (thread % 32 == 0) {
      reinterpret_cast<float*>(finished + kLargestOffset)[image * (kProducers / 32) + thread / 32] = most;
    }
  }
  release(&full[oldest], true);
  next_stage(oldest, parity);
}

// Puts a run's words where the products take them from: a word stands in two places. They are there before the fence,
// or the assembler makes them between the products. One of the two has `zero` added, which the compiler doesn't know to
// be zero: of registers that it knows to be copies it makes more for each product, and there are none to spare. Where
// products of the run `is_read` until now, by those of the chunk before, each word depends on what it was there, since
// else the assembler takes registers for others that products of an earlier turn of a loop still read.
__device__ __forceinline__ void arrange(Run& run, const Words& words, unsigned int zero, bool is_read) {
#pragma unroll
  for (int i = 0; i < kRun - 1; ++i) {
    run[i][0] = words[0][i] | (is_read ? run[i][0] & zero : 0);
    run[i][1] = words[0][i + 1] | (is_read ? run[i][1] & zero : zero);
    run[i][2] = words[1][i] | (is_read ? run[i][2] & zero : 0);
    run[i][3] = words[1][i + 1] | (is_read ? run[i][3] & zero : zero);
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      wgmma_pin_operand(run[i][word]);
    }
  }
}

// Takes a thread's run of one staged row to registers, for one step, in two parts. A thread has two adjacent channels
// of each half, with channels last all four in one piece.
__device__ __forceinline__ void load_split(Words (&words)[2], const float* row, float scale) {
#pragma unroll
  for (int i = 0; i < kRun; i += kVector) {
    float values[4][kVector];
    if (P::channels_last) {
      const float4 v = *reinterpret_cast<const float4*>(row + i * kPixelPitch);
      values[0][0] = v.x;
      values[1][0] = v.y;
      values[2][0] = v.z;
      values[3][0] = v.w;
    } else {
#pragma unroll
      for (int channel = 0; channel < 4; ++channel) {
        const float* from = row + (channel / 2 * 8 + channel % 2) * kChannelPitch + i;
        if (kVector == 4) {
          const float4 v = *reinterpret_cast<const float4*>(from);
          values[channel][0] = v.x;
          values[channel][1] = v.y;
          values[channel][2] = v.z;
          values[channel][3] = v.w;
        } else {
          const float2 v = *reinterpret_cast<const float2*>(from);
          values[channel][0] = v.x;
          values[channel][1] = v.y;
        }
      }
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const SplitPair pair = split_pair(values[2 * half][v], values[2 * half + 1][v], scale);
        words[0][half][i + v] = pair.high;
        words[1][half][i + v] = pair.low;
      }
    }
  }
}

// A word that waits for all loads of what was split, into these low parts: an arrival at a barrier does not, but where
// its address takes the word, of which `zero` leaves nothing.
__device__ __forceinline__ unsigned int word_of_all(const Words& low) {
  unsigned int word = 0;
#pragma unroll
  for (int i = 0; i < kRun; i += kVector) {
    word |= low[0][i] | low[1][i];
  }
  return word;
}

// A tap's products of the low parts of x with the high parts of the weights, the first of the sums of their phase where
// `accumulate` is 0.
__device__ __forceinline__ void multiply_low(Sums (&sums)[kSums][kTiles], int part, const Run& run, int shift,
                                             unsigned long long weights, int accumulate) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    wgmma_rs(kProductType, kWgmmaMajorK, sums[kPhaseSums + part][tile], run[2 * tile + shift], weights, accumulate);
  }
}

// Those of the high parts of x with the high and the low parts of the weights, behind those above.
__device__ __forceinline__ void multiply_high(Sums (&sums)[kSums][kTiles], int part, const Run& run, int shift,
                                              unsigned long long weights, int accumulate) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    wgmma_rs(kProductType, kWgmmaMajorK, sums[part][tile], run[2 * tile + shift], weights, accumulate);
    wgmma_rs(kProductType, kWgmmaMajorK, sums[kPhaseSums + part][tile], run[2 * tile + shift],
             wgmma_descriptor_move(weights, kOperandSize), 1);
  }
}

// Rows of taps with input, of a chunk, and how many of them are summed up in a run: in sums of a phase no more than 16
// products of 16 channels follow one another, since each addition truncates. With P::add_rows the rows of a chunk alone
// are more.
constexpr int kRows = kSteps * used_before(kOffsetsH);
constexpr int kRowTerms = ceil_div(P::kernel_w, P::stride_w / greatest_common_divisor(P::stride_w, P::dilation_w));
constexpr int kTerms =
    kSteps * kRowTerms * ceil_div(P::kernel_h, P::stride_h / greatest_common_divisor(P::stride_h, P::dilation_h));
constexpr int kMostTerms = 16;
constexpr int kRowsTogether = P::add_rows > 0 ? P::add_rows : kRows*(kTerms < kMostTerms ? kMostTerms / kTerms : 1);
// Whether sums hold one chunk, so that no products are under way before the next one's; whether all of a chunk's are
// done behind it.
constexpr bool kAlone = P::add_rows == 0 && (!kHasTotals || kRowsTogether == kRows);
constexpr bool kAllDone = P::split && (kAlone || !P::ahead);
// A row may have taps of some phases alone, so that sums must be zero before the first of them.
constexpr bool kClears = P::add_rows > 0 && P::stride_h > 1 && kPhaseGroups == 1;

// What a thread's sums hold.
struct Held {
  int rows;      // of taps; 0: nothing, the next products begin them
  int exponent;  // of the scale that x has there, in image `lane % P::tile_n` of the tile
  bool added;    // whether the totals hold what was summed up before, of this tile
};

// Takes sums back to units of the result and adds the totals of those before. That becomes the totals; or, `last` in a
// tile, it is put into the place of the sums. `totals` are the thread's; `exponent` is of the input's scale,
// `exponents` are of the weights', of its first column and those behind.
__device__ __forceinline__ void add_up(Sums (&sums)[kSums][kTiles], float4* totals, int exponent, const int* exponents,
                                       bool added, bool last) {
#pragma unroll
  for (int columns = 0; columns < P::columns / 8; ++columns) {
    // What undoes the scales is no float where both are small or large, so it comes in two factors.
    float factors[2][2];
    const int2 weight = *reinterpret_cast<const int2*>(exponents + columns * 8);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int undone = -exponent - (i == 0 ? weight.x : weight.y);
      factors[i][0] = power_of_two(undone / 2);
      factors[i][1] = power_of_two(undone - undone / 2);
    }
#pragma unroll
    for (int part = 0; part < kPhaseSums; ++part) {
#pragma unroll
      for (int merged = 0; merged < kMerged; ++merged) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const int first = merged * (P::columns / 2) + columns * 4;
          const int place = ((part * kMerged + merged) * kTiles + tile) * (P::columns / 8) + columns;
          float4* total = totals + place * kConsumers;
          float values[4] = {};
          if (kHasTotals && added) {
            const float4 before = *total;
            values[0] = before.x;
            values[1] = before.y;
            values[2] = before.z;
            values[3] = before.w;
          }
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float sum = join_sums(sums[part][tile][first + i], sums[kPhaseSums + part][tile][first + i]);
            values[i] = fmaf(sum * factors[i % 2][0], factors[i % 2][1], values[i]);
            if (last) {
              sums[part][tile][first + i] = values[i];
            }
          }
          if (!last) {
            *total = make_float4(values[0], values[1], values[2], values[3]);
          }
        }
      }
    }
  }
}

// The exponent of the thread's own image of the tile.
__device__ __forceinline__ int own_exponent(const Held& held, int image) {
  return P::tile_n == 1 ? held.exponent : __shfl_sync(0xffffffffu, held.exponent, image);
}

// Adds the sums to the totals; the next products begin them anew.
__device__ __forceinline__ void put_away(Sums (&sums)[kSums][kTiles], Held& held, float4* totals, const int* exponents,
                                         int image) {
  if (!kAllDone) {
    wgmma_wait(0);
  }
  pin(sums);
  add_up(sums, totals, own_exponent(held, image), exponents, held.added, false);
  held.rows = 0;
  held.added = true;
}

// Before a stage's products: x keeps the scale that it has in the sums, if that brings the largest magnitude of each
// image to at least 2^13 and not beyond what f16 has, or there is none; else sums are put away, as those of terms
// enough are, and the stage's own scale is taken. All threads decide alike, for all images.
__device__ __forceinline__ void choose_scale(Sums (&sums)[kSums][kTiles], Held& held, const unsigned char* stage,
                                             float4* totals, const int* exponents, int image) {
  const float4 found =
      *reinterpret_cast<const float4*>(stage + kLargestOffset + static_cast<int>(threadIdx.x % P::tile_n) * 16);
  const float largest = fmaxf(fmaxf(found.x, found.y), fmaxf(found.z, found.w));
  if (kHasTotals) {
    const float scaled = largest * power_of_two(held.exponent);
    const bool fits = largest == 0 || (scaled >= 8192 && scaled <= 65504);
    if (__ballot_sync(0xffffffffu, held.rows > 0 && (held.rows >= kRowsTogether || !fits) ? 1 : 0) != 0) {
      put_away(sums, held, totals, exponents, image);
    }
  }
  if (held.rows == 0) {
    held.exponent = scale_exponent(largest);
  }
}

__device__ __forceinline__ void clear(Sums (&sums)[kSums][kTiles]) {
#pragma unroll
  for (int part = 0; part < kSums; ++part) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < kProductColumns / 2; ++i) {
        sums[part][tile][i] = 0;
      }
    }
  }
}

// All products of one chunk, into the sums of those before. `rows` is the thread's first position in the staged input.
// With resident weights it says at `empty` that the stage has been read; else at `previous`, as soon as the products of
// the stage before are done, that this one has been, unless the chunk is the `first` of a tile.
__device__ __forceinline__ void multiply_split(Sums (&sums)[kSums][kTiles], Run (&runs)[2], Held& held,
                                               const float* rows, const unsigned char* weights, float4* totals,
                                               const int* exponents, int image, bool first, unsigned long long* empty,
                                               unsigned long long* previous, unsigned int zero) {
  const unsigned long long operands = wgmma_descriptor(weights, kProductColumns * 16, 128, 0);
  const float scale = power_of_two(own_exponent(held, image));
  int later = kHasTotals && held.rows > 0 ? 1 : 0;
  CONVTGEN_UNROLL
  for (int step = 0; step < kSteps; ++step) {
    CONVTGEN_UNROLL
    for (int offset = 0; offset < kOffsetsH; ++offset) {
      if (is_used(offset)) {
        const int row = step * used_before(kOffsetsH) + used_before(offset);
        if (P::add_rows > 0) {
          if (row > 0 && held.rows == kRowsTogether) {
            put_away(sums, held, totals, exponents, image);
          }
          later = held.rows > 0 ? 1 : 0;
          ++held.rows;
          if (kClears && later == 0) {
            clear(sums);
            pin(sums);
          }
        }
        Words words[2];
        load_split(words, rows + staged_row(step, offset), scale);
        if (P::resident && row == kRows - 1) {
          release(empty + (word_of_all(words[1]) & zero), true);
        }
        CONVTGEN_UNROLL
        for (int part = 0; part < 2; ++part) {
          if (P::ahead || part == 0) {
            arrange(runs[part], words[1 - part], zero, P::ahead && !kAlone && part == 1 && row == 0);
            if (!P::ahead) {
              arrange(runs[1], words[0], zero, false);
            }
            wgmma_fence();
          }
          CONVTGEN_UNROLL
          for (int kh = 0; kh < kBlockTapRows; ++kh) {
            if (offset_of_row(kh) == offset) {
              CONVTGEN_UNROLL
              for (int kw = 0; kw < P::kernel_w; kw += kMerged) {
                const int begins = kClears           ? 0
                                   : P::add_rows > 0 ? (is_first_of_row(kw) ? 1 : 0)
                                                     : (step == 0 && is_first(kh, kw) ? 1 : 0);
                if (part == 0) {
                  multiply_low(sums, sums_of_tap(kh, kw), runs[0], shift_of_tap(kw),
                               wgmma_descriptor_move(operands, operand_of_tap(kh, kw, step)),
                               begins == 1 ? later : 1);  // tap ({kh}, {kw})
                } else {
                  multiply_high(sums, sums_of_tap(kh, kw), runs[1], shift_of_tap(kw),
                                wgmma_descriptor_move(operands, operand_of_tap(kh, kw, step)),
                                begins == 1 ? later : 1);  // tap ({kh}, {kw})
                }
              }
            }
          }
          if (P::ahead || part == 1) {
            wgmma_commit();
            if (!P::ahead) {
              wgmma_wait(0);
            } else if (!kAlone || row != (part == 0 ? 0 : kRows - 1)) {
              wgmma_wait(1);  // the run of the other part may be overwritten
            }
            if (P::ahead && !P::resident && row == 0 && part == 0) {
              release(previous, !first);
            }
          }
        }
      }
    }
  }
  if (P::ahead && kAlone) {
    wgmma_wait(0);
  }
  if (P::add_rows == 0) {
    held.rows += kRows;
  }
  if (!P::ahead && !P::resident) {
    release(empty, true);
  }
}
