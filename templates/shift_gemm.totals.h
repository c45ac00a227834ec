// Part of the template `shift_gemm`, which uses what stands above its line there: how the consumers of f32x3 multiply
// what the producers have split, and add sums up to totals.
#pragma once

// Puts a run's words where the products take them from: a word stands in two places. They are there before the fence,
// or the assembler makes them between the products. One of the two has `zero` added, which the compiler doesn't know to
// be zero: of registers that it knows to be copies it makes more for each product, and there are none to spare. Where
// products of the run `is_read` until now, by those of the chunk before, each word depends on what it was there, since
// else the assembler takes registers for others that products of an earlier turn of a loop still read. Operands that no
// tap takes are left out: their loads would be under way when the stage is given back.
__device__ __forceinline__ void arrange(Run& run, const Words& words, unsigned int zero, bool is_read) {
#pragma unroll
  for (int i = 0; i < kRun - 1; ++i) {
    if (kAllTaken || is_taken(i)) {
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
}

// Takes words of a thread's run of one staged row to registers, for one step: high parts, or `low` ones; with channels
// last both, which lie together. A thread has two adjacent channels of each half.
__device__ __forceinline__ void load_words(Words (&words)[2], const unsigned int* row, int low) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < kRun; i += kVector) {
      if (P::channels_last) {
        if (low == 1) {
          const uint2 v = *reinterpret_cast<const uint2*>(row + i * kPixelPitch + half * 2);
          words[0][half][i] = v.x;
          words[1][half][i] = v.y;
        }
      } else if (kVector == 4) {
        const uint4 v = *reinterpret_cast<const uint4*>(row + (half * 8 + low) * kChannelPitch + i);
        words[low][half][i] = v.x;
        words[low][half][i + 1] = v.y;
        words[low][half][i + 2] = v.z;
        words[low][half][i + 3] = v.w;
      } else {
        const uint2 v = *reinterpret_cast<const uint2*>(row + (half * 8 + low) * kChannelPitch + i);
        words[low][half][i] = v.x;
        words[low][half][i + 1] = v.y;
      }
    }
  }
}

// A word that waits for all loads of these words, which the compiler takes apart: an arrival at a barrier does not, but
// where what allows it takes the word, of which `zero` leaves nothing.
__device__ __forceinline__ unsigned int word_of_all(const Words& words) {
  unsigned int word = 0;
#pragma unroll
  for (int i = 0; i < kRun; ++i) {
    word |= words[0][i] | words[1][i];
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

// Rows of taps with input, of a chunk, and how many of them are summed up in a run, with at most kMostTerms products:
// with P::add_rows those of a chunk alone have more.
constexpr int kRows = kSteps * used_before(kOffsetsH);
__host__ __device__ constexpr int next_used(int offset) {
  int next = offset < kOffsetsH - 1 ? offset + 1 : 0;
  while (!is_used(next)) {
    next = next < kOffsetsH - 1 ? next + 1 : 0;
  }
  return next;
}
constexpr int kFirstOffset = next_used(kOffsetsH - 1);
constexpr int kRowsTogether = P::add_rows > 0 && kSplitsStaged ? P::add_rows
                                                               : kRows*(kTerms < kMostTerms ? kMostTerms / kTerms : 1);
// Whether sums hold one chunk, so that no products are under way before the next one's; whether all of a chunk's are
// done behind it.
constexpr bool kAlone = P::add_rows == 0 && (!kHasTotals || kRowsTogether == kRows);
constexpr bool kAllDone = kSplitsStaged && (kAlone || !P::ahead);
// A row may have taps of some phases alone, so that sums must be zero before the first of them.
constexpr bool kClears = P::add_rows > 0 && P::stride_h > 1 && kPhaseGroups == 1;

// What a thread's sums hold.
struct Held {
  int rows;      // of taps; 0: nothing, the next products begin them
  int exponent;  // of the scale that x has there, in image `lane % P::tile_n` of the tile
  bool added;    // whether the totals hold what was summed up before, of this tile
  int total;     // exponent of the scale that x has in them, in the thread's own image; without totals, of the smallest
                 // one that sums have had in this tile, in the same image as `exponent`
};

// The exponent of the thread's own image of the tile.
__device__ __forceinline__ int own_exponent(const Held& held, int image) {
  return P::tile_n == 1 ? held.exponent : __shfl_sync(0xffffffffu, held.exponent, image);
}

// The low parts of infinities mean nothing: where a sum of high parts is no finite number, that is the result. In a
// product what isn't finite in x makes all of its row so, and in the weights all of its column: a row and a column
// tell.
__device__ __forceinline__ void drop_low_of_infinite(Sums (&sums)[kSums][kTiles]) {
  int finite = 1;
#pragma unroll
  for (int part = 0; part < kPhaseSums; ++part) {
#pragma unroll
    for (int column = 0; column < kProductColumns / 4; ++column) {
      finite &= is_finite(sums[part][0][column / 2 * 4 + column % 2]) ? 1 : 0;
    }
#pragma unroll
    for (int row = 1; row < 2 * kTiles; ++row) {
      finite &= is_finite(sums[part][row / 2][row % 2 * 2]) ? 1 : 0;
    }
  }
  if (finite == 0) {
#pragma unroll
    for (int part = 0; part < kPhaseSums; ++part) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < kProductColumns / 2; ++i) {
          sums[kPhaseSums + part][tile][i] = is_finite(sums[part][tile][i]) ? sums[kPhaseSums + part][tile][i] : 0;
        }
      }
    }
  }
}

// Takes sums to a scale of 2^difference times theirs, in two factors where one would be no float.
__device__ __forceinline__ void scale_sums(Sums (&sums)[kSums][kTiles], int difference) {
  const float first = power_of_two(difference / 2);
  const float second = power_of_two(difference - difference / 2);
#pragma unroll
  for (int part = 0; part < kSums; ++part) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < kProductColumns / 2; ++i) {
        sums[part][tile][i] = sums[part][tile][i] * first * second;
      }
    }
  }
}

// Gives sums and totals one scale, the smaller one of theirs. It is undone in two factors where one would be no float.
__device__ __forceinline__ void bring_together(Sums (&sums)[kSums][kTiles], float4* totals, int& exponent, int& total) {
  const int less = min(exponent, total);
  scale_sums(sums, less - exponent);
  const float third = power_of_two((less - total) / 2);
  const float fourth = power_of_two(less - total - (less - total) / 2);
#pragma unroll 4
  for (int i = 0; i < kPhases * kTiles * P::columns / 8; ++i) {
    const float4 value = totals[i * kConsumers];
    totals[i * kConsumers] = make_float4(value.x * third * fourth, value.y * third * fourth, value.z * third * fourth,
                                         value.w * third * fourth);
  }
  exponent = less;
  total = less;
}

// Joins the sums of high and of low parts, and adds the totals where there are any: into the place of the sums of high
// parts. Returns the exponent of the scale that x has there. `totals` are the thread's.
constexpr int kSumQuads = kProductColumns / 8;
__device__ __forceinline__ int join_all(Sums (&sums)[kSums][kTiles], Held& held, float4* totals, int image) {
  int exponent = own_exponent(held, image);
  drop_low_of_infinite(sums);
  if (kHasTotals && held.added && exponent != held.total) {
    bring_together(sums, totals, exponent, held.total);
  }
#pragma unroll
  for (int part = 0; part < kPhaseSums; ++part) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int quad = 0; quad < kSumQuads; ++quad) {
        float* high = &sums[part][tile][quad * 4];
        const float* low = &sums[kPhaseSums + part][tile][quad * 4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          high[i] = join_sums(high[i], low[i]);
        }
        if (kHasTotals && held.added) {
          const float4 before = totals[((part * kTiles + tile) * kSumQuads + quad) * kConsumers];
          high[0] += before.x;
          high[1] += before.y;
          high[2] += before.z;
          high[3] += before.w;
        }
      }
    }
  }
  return exponent;
}

// Makes totals of the sums, once no products are under way; the next ones begin them anew.
__device__ __forceinline__ void put_away(Sums (&sums)[kSums][kTiles], Held& held, float4* totals, int image) {
  if (!kAllDone) {
    wgmma_wait(0);
  }
  pin(sums);
  held.total = join_all(sums, held, totals, image);
#pragma unroll
  for (int part = 0; part < kPhaseSums; ++part) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int quad = 0; quad < kSumQuads; ++quad) {
        const float* high = &sums[part][tile][quad * 4];
        totals[((part * kTiles + tile) * kSumQuads + quad) * kConsumers] =
            make_float4(high[0], high[1], high[2], high[3]);
      }
    }
  }
  held.rows = 0;
  held.added = true;
}

// Makes a tile's results of its sums, in their place. `scales` undo those of the weights, in two factors each; they and
// the `biases` are those of the thread's first column and channel, and of what is behind.
__device__ __forceinline__ void undo_scales(Sums (&sums)[kSums][kTiles], Held& held, float4* totals,
                                            const float2* scales, const float* biases, int image) {
  const int undone = -join_all(sums, held, totals, image);
  const float first = power_of_two(undone / 2);
  const float second = power_of_two(undone - undone / 2);
#pragma unroll
  for (int columns = 0; columns < P::columns / 8; ++columns) {
    const float4 two = *reinterpret_cast<const float4*>(scales + columns * 8);
    const float factors[2][2] = {{two.x * first, two.y * second}, {two.z * first, two.w * second}};
    float shifts[2] = {0, 0};
    if (P::has_bias && !kShifts) {
      shifts[0] = biases[own_channel(0, columns * 2)];
      shifts[1] = biases[own_channel(0, columns * 2 + 1)];
    }
#pragma unroll
    for (int part = 0; part < kPhaseSums; ++part) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4 * kMerged; ++i) {
          float& value = sums[part][tile][i / 4 * (P::columns / 2) + columns * 4 + i % 4];
          value = P::has_bias && !kShifts ? fmaf(value * factors[i % 2][0], factors[i % 2][1], shifts[i % 2])
                                          : value * factors[i % 2][0] * factors[i % 2][1];
        }
      }
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
  scale_sums(sums, P::tile_n == 1 ? difference : __shfl_sync(0xffffffffu, difference, image));
  held.exponent = exponent;
  held.total = min(held.total, exponent);
}

// Before a stage's products: where x has another scale in it than in the sums, for any image, these are put away, as
// those of terms enough are, or without totals brought to that scale.
__device__ __forceinline__ void choose_scale(Sums (&sums)[kSums][kTiles], Held& held, const unsigned char* stage,
                                             float4* totals, int image) {
  const int own = threadIdx.x % P::tile_n;  // image of the lane
  const int exponent = kSplitsRead
                           ? next_exponent(largest_found(reinterpret_cast<const float*>(stage + kLargestOffset), own),
                                           held.exponent, held.rows == 0)
                           : reinterpret_cast<const int*>(stage + kExponentsOffset)[own];
  if (kChunks > 1 || kHasTotals) {
    const bool fits = (!kHasTotals || held.rows < kRowsTogether) && exponent == held.exponent;
    if (__ballot_sync(0xffffffffu, held.rows > 0 && !fits ? 1 : 0) != 0) {
      if (kHasTotals) {
        put_away(sums, held, totals, image);
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
                                               const unsigned int* rows, const unsigned char* weights, float4* totals,
                                               int image, bool first, unsigned long long* empty,
                                               unsigned long long* previous, unsigned int zero) {
  const unsigned long long operands = wgmma_descriptor(weights, kProductColumns * 16, 128, 0);
  int later = kHasTotals && held.rows > 0 ? 1 : 0;
  Words words[2];
  CONVTGEN_UNROLL
  for (int step = 0; step < kSteps; ++step) {
    CONVTGEN_UNROLL
    for (int offset = 0; offset < kOffsetsH; ++offset) {
      if (is_used(offset)) {
        const int row = step * used_before(kOffsetsH) + used_before(offset);
        if (P::add_rows > 0) {
          if (row > 0 && held.rows == kRowsTogether) {
            put_away(sums, held, totals, image);
          }
          later = held.rows > 0 ? 1 : 0;
          ++held.rows;
          if (kClears && later == 0) {
            clear(sums);
            pin(sums);
          }
        }
        CONVTGEN_UNROLL
        for (int part = 0; part < 2; ++part) {
          if (P::ahead || part == 0) {
            if (row == 0 && part == 0) {
              load_words(words, rows + staged_row(0, offset), 1);
            }
            arrange(runs[part], words[1 - part], zero, P::ahead && !kAlone && part == 1 && row == 0);
            if (!P::ahead) {
              load_words(words, rows + staged_row(step, offset), 0);
              arrange(runs[1], words[0], zero, false);
            }
            if (P::resident && row == kRows - 1 && (!P::ahead || part == 1)) {
              const unsigned int loaded = word_of_all(words[0]) | (P::ahead ? 0 : word_of_all(words[1]));
              release(empty, ((loaded | static_cast<unsigned int>(held.exponent)) & zero) == 0);
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
            const bool gives_back = P::ahead && !P::resident && row == 0 && part == 0;
            if (gives_back) {  // before loads that it needn't wait for
              wgmma_wait(1);
              release(previous, !first);
            }
            // What comes next is loaded while these products run, where there are registers for it.
            if (!P::ahead) {
              wgmma_wait(0);
            }
            if (P::ahead && part == 0) {
              load_words(words, rows + staged_row(step, offset), 0);
            } else if (row < kRows - 1) {
              load_words(words,
                         rows + staged_row(step + (next_used(offset) == kFirstOffset ? 1 : 0), next_used(offset)), 1);
            }
            if (P::ahead && !gives_back && (!kAlone || row != (part == 0 ? 0 : kRows - 1))) {
              wgmma_wait(1);  // the run of the other part may be overwritten
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
