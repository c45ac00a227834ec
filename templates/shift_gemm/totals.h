// Part of the template `shift_gemm`, which uses what stands above its line there: how the consumers of f32x3 multiply
// what the producers have split, and add sums up to totals.
#pragma once

// Puts a run's words where products take them from, before the fence: each in two places, in one with `zero` added: of
// copies that are known to be equal more are made. Where the run `is_read` until now, words depend on what they were.
//
// The compiler doesn't know `zero` to be 0. Made behind the fence, they would be made between the products; and there
// are no registers to spare for copies. What depends on nothing would be put where products of an earlier turn of a
// loop still read. Operands that no tap takes are left out: their loads would be under way when the stage is given
// back.
__device__ __forceinline__ void arrange(Run& run, const Words& words, unsigned int zero, bool is_read) {
#pragma unroll
  for (int i = 4 * kFirstTaken; i < 4 * kTakenEnd; ++i) {
    if (kTakenTogether || is_taken(i / 4)) {
      unsigned int& word = run[i / 4][i % 4];
      word = words[i % 4 / 2][i / 4 + i % 2] | (is_read ? word & zero : i % 2 == 1 ? zero : 0);
      wgmma_pin_operand(word);
    }
  }
}

// `zero` as it is known behind a wait alone: a load brings it, which no assembler moves to before the wait. What reads
// the registers of products that were in flight when the chunk began then stays behind the wait too (arrange()).
//
// `weights` are any words in shared memory.
__device__ inline unsigned int zero_behind_wait(const unsigned char* weights, unsigned int zero) {
  return kOwnChunks == 1 ? zero : *reinterpret_cast<const unsigned int*>(weights) & zero;
}

// Takes words of a thread's run of one staged row to registers, for one step: high parts, or `low` ones.
//
// With channels last it takes both, which lie together. A thread has two adjacent channels of each half.
__device__ __forceinline__ void load_words(Words (&words)[2], const unsigned int* row, int low) {
  if (P::channels_last && low == 0) {
    return;
  }
#pragma unroll
  for (int i = 0; i < 2 * kRun; ++i) {
    if (!P::channels_last) {
      words[low][i / kRun][i % kRun] = row[(i / kRun * 8 + low) * kChannelPitch + i % kRun];
    } else {
      words[0][i / kRun][i % kRun] = row[i % kRun * kPixelPitch + i / kRun * 2];
      words[1][i / kRun][i % kRun] = row[i % kRun * kPixelPitch + i / kRun * 2 + 1];
    }
  }
}

// A word of which `zero` leaves nothing: what allows an arrival takes it, and so waits for the loads of these words.
//
// The compiler takes loads apart, and an arrival at a barrier waits for none of them by itself.
__device__ __forceinline__ unsigned int word_of_all(const Words& words) {
  unsigned int word = 0;
#pragma unroll
  for (int i = 0; i < kRun; ++i) {
    word |= words[0][i] | words[1][i];
  }
  return word;
}

// A tap's products of the low parts of x with high weights, or of its `high` parts with both parts of the weights.
//
// The former come first: of the sums of their phase where `accumulate` is 0.
__device__ __forceinline__ void multiply_part(Sums (&sums)[kSums][kTiles], int part, const Run& run, int shift,
                                              unsigned long long weights, int accumulate, bool high) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    wgmma_rs(kProductType, kWgmmaMajorK, sums[high ? part : kPhaseSums + part][tile], run[2 * tile + shift], weights,
             accumulate);
    if (high) {
      wgmma_rs(kProductType, kWgmmaMajorK, sums[kPhaseSums + part][tile], run[2 * tile + shift],
               moved(weights, kOperandSize), 1);
    }
  }
}

// Rows of taps with input, of a chunk, and how many of them are summed up in a run, with at most kMostTerms products:
// with P::add_rows those of a chunk alone have more.
constexpr int kRows = kSteps * used_before(kOffsetsH);
constexpr int kRowsTogether = P::add_rows > 0 && kSplitsStaged ? P::add_rows
                                                               : kRows*(kTerms < kMostTerms ? kMostTerms / kTerms : 1);
// Whether a chunk begins when no products are under way, as where sums hold no more than one; whether all of a chunk's
// are done behind it.
constexpr bool kAlone = P::add_rows == 0 && (!kHasTotals || kRowsTogether == kRows || kGivesBack);
constexpr bool kAllDone = kSplitsStaged && (kAlone || !P::ahead);
// A row may have taps of some phases alone, so that sums must be zero before the first of them.
constexpr bool kClears = P::add_rows > 0 && P::stride_h > 1 && kPhaseGroups == 1;

// What a thread's sums hold: how many `rows` of taps (0: the next products begin them), and the `exponent` of x's scale
// there in the lane's image; whether sums were `added` to totals, of exponent `total` (without totals: the least yet).
//
// `total` is of the scale in the thread's own image.
struct Held {
  int rows;
  int exponent;
  bool added;
  int total;
  float4* totals;
};

// Infinities have no low parts: where a sum of high parts isn't finite, it is the result. A row and a column show it.
//
// What isn't finite in x makes all of its row so, and in the weights all of its column.
__device__ __forceinline__ void drop_low_of_infinite(Sums (&sums)[kSums][kTiles]) {
  bool finite = true;
#pragma unroll
  for (int part = 0; part < kPhaseSums; ++part) {
#pragma unroll
    for (int i = 0; i < kProductColumns / 4; ++i) {
      finite &= is_finite(sums[part][0][i / 2 * 4 + i % 2]);
    }
#pragma unroll
    for (int i = 1; i < 2 * kTiles; ++i) {
      finite &= is_finite(sums[part][i / 2][i % 2 * 2]);
    }
  }
  if (!finite) {
#pragma unroll
    for (int i = 0; i < kPhaseSums * kTileSums; ++i) {
      float& low = sum_at(sums, kPhaseSums * kTileSums + i);
      low = is_finite(sum_at(sums, i)) ? low : 0;
    }
  }
}

// The i-th of a thread's totals, of which four lie together.
__device__ __forceinline__ float& total_at(float4* totals, int i) {
  return reinterpret_cast<float*>(totals + i / 4 * kConsumers)[i % 4];
}

constexpr int kJoined = kPhaseSums * kTileSums;
// Joins sums of low parts, and totals if there are any, to the sums of high parts. Returns their scale's exponent.
__device__ __forceinline__ int join_all(Sums (&sums)[kSums][kTiles], Held& held, int image) {
  int exponent = P::tile_n == 1 ? held.exponent : __shfl_sync(0xffffffffu, held.exponent, image);  // of its own image
  drop_low_of_infinite(sums);
  if (kHasTotals && held.added && exponent != held.total) {
    const int less = min(exponent, held.total);  // they get the smaller one's scale
#pragma unroll
    for (int i = 0; i < kSums * kTileSums; ++i) {
      sum_at(sums, i) = scaled_by(sum_at(sums, i), less - exponent);
    }
#pragma unroll 16
    for (int i = 0; i < kJoined; ++i) {
      total_at(held.totals, i) = scaled_by(total_at(held.totals, i), less - held.total);
    }
    exponent = less;
  }
#pragma unroll
  for (int i = 0; i < kJoined; ++i) {
    sum_at(sums, i) = fmaf(sum_at(sums, kJoined + i), 1 / kLowScale, sum_at(sums, i));
  }
  if (kHasTotals && held.added) {
#pragma unroll
    for (int i = 0; i < kJoined; ++i) {
      sum_at(sums, i) += total_at(held.totals, i);
    }
  }
  return exponent;
}

// Makes totals of the sums, once no products are under way; the next ones begin them anew.
__device__ __forceinline__ void put_away(Sums (&sums)[kSums][kTiles], Held& held, int image) {
  if (!kAllDone) {
    wgmma_wait(0);
  }
  pin(sums);
  held.total = join_all(sums, held, image);
#pragma unroll
  for (int i = 0; i < kJoined; ++i) {
    total_at(held.totals, i) = sum_at(sums, i);
  }
  held.rows = 0;
  held.added = true;
}

constexpr int kRunPairs = ceil_div(P::channel_run, 2);  // of adjacent channels that a thread has
// Makes a tile's results of its sums. `scales`, in two factors each, undo those of the weights, from its column on.
//
// `biases` are those from the thread's first channel on.
__device__ __forceinline__ void undo_scales(Sums (&sums)[kSums][kTiles], Held& held, const float2* scales,
                                            const float* biases, int image) {
  const float2 own = factors_of(-join_all(sums, held, image));
#pragma unroll
  for (int columns = 0; columns < P::columns / 8; ++columns) {
    const float4 two = *reinterpret_cast<const float4*>(scales + columns * 8);
    const float factors[2][2] = {{two.x * own.x, two.y * own.y}, {two.z * own.x, two.w * own.y}};
    const float* shifts =
        biases +
        (P::channel_run == 1 ? columns * 8 : columns / kRunPairs * (4 * P::channel_run) + columns % kRunPairs * 2);
#pragma unroll
    for (int i = 0; i < 4 * kPhases * kTiles; ++i) {
      float& value = sum_at(sums, i / 4 * (P::columns / 2) + columns * 4 + i % 4);
      value = P::has_bias && !kShifts
                  ? fmaf(value * factors[i % 2][0], factors[i % 2][1], shifts[P::channel_run == 1 ? i % 2 * 4 : i % 2])
                  : value * factors[i % 2][0] * factors[i % 2][1];
    }
  }
  held.rows = 0;
  held.added = false;
}

// Gives sums the scale of what is added next, once no products are under way. It is at most 2^kMostRaise times the
// smallest that they have had in the tile, so that they stay finite.
constexpr int kMostRaise = 80;
__device__ __forceinline__ void rescale(Sums (&sums)[kSums][kTiles], Held& held, int wanted, int image) {
  const int exponent = min(wanted, held.total + kMostRaise);
  const int difference = exponent - held.exponent;
  wgmma_wait(0);
  pin(sums);
  const int own = P::tile_n == 1 ? difference : __shfl_sync(0xffffffffu, difference, image);
#pragma unroll
  for (int i = 0; i < kSums * kTileSums; ++i) {
    sum_at(sums, i) = scaled_by(sum_at(sums, i), own);
  }
  held.exponent = exponent;
  held.total = min(held.total, exponent);
}

// Before a stage's products: puts away sums of terms enough, or where any image of x has another scale than in them.
//
// Without totals these are brought to that scale.
__device__ __forceinline__ void choose_scale(Sums (&sums)[kSums][kTiles], Held& held, const unsigned char* stage,
                                             int image) {
  const int own = threadIdx.x % P::tile_n;  // image of the lane
  const int exponent = kSplitsRead
                           ? next_exponent(largest_found(stage + kLargestOffset, own), held.exponent, held.rows == 0)
                           : reinterpret_cast<const int*>(stage + kExponentsOffset)[own];
  if (kChunks > 1 || kHasTotals) {
    const bool fits = (!kHasTotals || held.rows < kRowsTogether) && exponent == held.exponent;
    if (__ballot_sync(0xffffffffu, held.rows > 0 && !fits ? 1 : 0) != 0) {
      if (kHasTotals) {
        put_away(sums, held, image);
      } else {
        rescale(sums, held, exponent, image);
      }
    }
  }
  if (kHasTotals || held.rows == 0) {
    held.exponent = exponent;
    if (!kHasTotals) {
      held.total = exponent;
    }
  }
}

__device__ __forceinline__ void clear(Sums (&sums)[kSums][kTiles]) {
#pragma unroll
  for (int i = 0; i < kSums * kTileSums; ++i) {
    sum_at(sums, i) = 0;
  }
}

// The offset of the row-th staged row that some tap reads; whether these follow one another in equal distances.
__host__ __device__ constexpr int offset_of_used(int row) {
  int offset = 0;
  while (!is_used(offset) || used_before(offset) != row) {
    ++offset;
  }
  return offset;
}
__host__ __device__ constexpr bool are_even() {
  bool even = true;
  for (int row = 0; row < kUsedRows; ++row) {
    even = even && offset_of_used(row) * (kUsedRows - 1) == row * (kOffsetsH - 1);
  }
  return even;
}
constexpr bool kEven = are_even();
constexpr int kUsedPitch =
    (staged_row(0, 1) - staged_row(0, 0)) * (kUsedRows > 1 ? (kOffsetsH - 1) / (kUsedRows - 1) : 1);

// Where a thread reads the row-th of these, of all steps of a chunk, behind its first position and channel.
__device__ inline int place_of_row(int row) {
  const int first = staged_row(0, 0) + (kSteps == 1 ? 0 : row / kUsedRows * kStepPitch);
  const int used = kSteps == 1 ? row : row % kUsedRows;
  if (kEven) {
    return kUsedRows == 1 ? first : first + used * kUsedPitch;
  }
  int behind = 0;
  CONVTGEN_UNROLL
  for (int i = 1; i < kUsedRows; ++i) {
    if (used == i) {
      behind = staged_row(0, offset_of_used(i)) - staged_row(0, 0);
    }
  }
  return first + behind;
}

// Whether each of these has one row of taps, found by its number, and all of the same phase.
__host__ __device__ constexpr bool are_uniform() {
  bool uniform = kUsedRows == kBlockTapRows;
  for (int kh = 1; kh < kBlockTapRows; ++kh) {
    uniform = uniform && sums_of_row(kh) == sums_of_row(0);
  }
  return uniform;
}
constexpr bool kUniform = are_uniform();
constexpr int kTapRowBytes = P::kernel_w / kMerged * kSteps * kProductBytes;

// The products of taps that read the row-th of these. In the first row a phase's first begin its sums if not `later`.
__device__ __forceinline__ void multiply_taps(Sums (&sums)[kSums][kTiles], const Run& run, unsigned long long weights,
                                              const int row, int later, bool high) {
  const int used = kSteps == 1 ? row : row % kUsedRows;
  const int step_bytes = kSteps == 1 ? 0 : row / kUsedRows * kProductBytes;
  if (kUniform && kUsedRows > 1) {
    weights += ((kUsedRows - 1 - used) * kTapRowBytes + step_bytes) / 16;  // descriptors count pieces of 16 bytes
  } else if (kSplitsStaged && kSteps > 1) {
    weights += step_bytes / 16;
  }
  const int begun = !kClears && (P::add_rows > 0 || (kUniform ? row == 0 : kSteps == 1 || row < kUsedRows)) ? later : 1;
  CONVTGEN_UNROLL
  for (int read = 0; read < (kUniform ? 1 : kUsedRows); ++read) {
    if (kUniform || kUsedRows == 1 || used == read) {
      CONVTGEN_UNROLL
      for (int kh = 0; kh < (kUniform ? 1 : kBlockTapRows); ++kh) {
        if (kUniform || used_before(offset_of_row(kh)) == read) {
          const bool may_begin = P::add_rows > 0 || kUniform || is_first(kh, 0);
          if (P::stride_w == 1 && P::kernel_w > 2) {
#pragma unroll
            for (int kw = 0; kw < P::kernel_w; ++kw) {
              multiply_part(sums, sums_of_row(kh), run, shift_of_tap(0) - kw * P::dilation_w,
                            moved(weights, operand_of_tap(kh, 0, 0) + kw * (kSteps * kProductBytes)),
                            may_begin && kw == 0 ? begun : 1, high);
            }
          } else {
            CONVTGEN_UNROLL
            for (int kw = 0; kw < P::kernel_w; kw += kMerged) {
              const int part = sums_of_row(kh) + sums_of_column(kw);
              const int shift = shift_of_tap(kw);
              const int operand = operand_of_tap(kh, kw, 0);
              const bool begins = may_begin && is_first_of_row(kw);
              const int last = kw + kMerged - 1;
              if (kMerged == 1) {
                multiply_part(sums, part, run, shift, moved(weights, operand), begins ? begun : 1,
                              high);  // tap {kw} of a row
              } else {
                multiply_part(sums, part, run, shift, moved(weights, operand), begins ? begun : 1,
                              high);  // taps {kw} to {last} of a row
              }
            }
          }
        }
      }
    }
  }
}

// All products of one chunk, into the sums of those before. `rows` is the thread's first position in the stage. This is
// given back at `empty`; or the one before at `previous`, when its products are done, if this isn't a tile's `first`.
//
// With resident weights a stage is given back as soon as it has been read.
__device__ __forceinline__ void multiply_split(Sums (&sums)[kSums][kTiles], Run (&runs)[kRunSets], Held& held,
                                               const unsigned int* rows, const unsigned char* weights, int image,
                                               bool first, unsigned long long* empty, unsigned long long* previous,
                                               unsigned int zero) {
  const unsigned long long operands = wgmma_descriptor(weights, kProductColumns * 16, 128, 0);
  int later = kHasTotals && held.rows > 0 ? 1 : 0;
  Words words[2];
  load_words(words, rows + staged_row(0, 0), 1);
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (P::add_rows > 0) {
      if (row != 0) {
        if (held.rows == kRowsTogether) {
          put_away(sums, held, image);
        }
        later = held.rows > 0 ? 1 : 0;
      }
      ++held.rows;
      if (kClears && later == 0) {
        clear(sums);
        pin(sums);
      }
    }
    arrange(runs[0], words[1], zero, false);
    if (P::ahead) {
      wgmma_fence();
      multiply_taps(sums, runs[0], operands, row, later, false);
      wgmma_commit();
      if (!P::resident && !kAllDone && row == 0) {
        wgmma_wait(1);  // before loads that it needn't wait for
        release(previous, !first);
      }
    }
    load_words(words, rows + place_of_row(row), 0);  // while these products run, where there are registers for it
    if (P::ahead && ((P::resident && !kAlone) || row != 0)) {
      wgmma_wait(1);  // the run of the other part may be overwritten
    }
    const bool reads_before = P::ahead && !kAlone && row == 0;
    arrange(runs[1], words[0], reads_before ? zero_behind_wait(weights, zero) : zero, reads_before);
    if (P::resident && row == kRows - 1) {
      release(empty, ((word_of_all(words[0]) | (P::ahead ? 0 : word_of_all(words[1])) | held.exponent) & zero) == 0);
    }
    wgmma_fence();
    if (!P::ahead) {
      multiply_taps(sums, runs[0], operands, row, later, false);
    }
    multiply_taps(sums, runs[1], operands, row, later, true);
    wgmma_commit();
    if (!P::ahead) {
      wgmma_wait(0);
    }
    if (row != kRows - 1) {
      load_words(words, rows + place_of_row(row + 1), 1);
    }
    if (P::ahead && (!kAlone || row != kRows - 1)) {
      wgmma_wait(1);
    }
  }
  if (P::ahead && kAlone) {
    wgmma_wait(0);
  }
  if (P::add_rows == 0) {
    held.rows += kRows;
  }
  if (!P::resident && kAllDone) {
    release(empty, true);
  }
}
