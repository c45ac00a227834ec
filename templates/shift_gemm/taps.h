// Part of the template `shift_gemm`, which uses what stands above its line there: where each tap reads, what it adds
// to.
#pragma once

// Whether some tap reads the staged rows of this offset, and of how many offsets before it that is so.
__host__ __device__ constexpr bool is_used(int offset) {
  bool used = kPhaseGroups > 1;
  for (int kh = 0; kh < P::kernel_h; ++kh) {
    used = used || offset_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h) - kLeastOffsetH == offset;
  }
  return used;
}
__host__ __device__ constexpr int used_before(int offset) {
  int count = 0;
  for (int i = 0; i < offset; ++i) {
    count += is_used(i) ? 1 : 0;
  }
  return count;
}

// Each staged row has registers of its own, which it overwrites a step later; a row alone has two in turn.
constexpr int kUsedRows = used_before(kOffsetsH);
constexpr int kRuns = kUsedRows > 1 ? kUsedRows : 2;
constexpr int kRunSets = P::split ? 2 : kRuns;  // f32x3: of low and of high parts
static_assert(P::split || kUsedRows > 1 || kSteps % kRuns == 0, "each chunk begins with the same run");

// Whether a tap is the first of its phase in its row.
__host__ __device__ constexpr bool is_first_of_row(int kw) {
  bool first = true;
  for (int k = 0; k < kw; ++k) {
    first = first && phase_of_tap(k, P::stride_w, P::padding_w, P::dilation_w) !=
                         phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
  }
  return first;
}

// Whether a tap is the first of its phase that multiply_chunk() comes to: rows come by falling taps.
__host__ __device__ constexpr bool is_first(int kh, int kw) {
  bool first = is_first_of_row(kw);
  for (int k = kh + 1; k < kBlockTapRows; ++k) {
    first = first && kPhaseGroups == 1 &&
            phase_of_tap(k, P::stride_h, P::padding_h, P::dilation_h) !=
                phase_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h);
  }
  return first;
}

// Of a tap: the staged rows that it reads, the sums of its phase, its place in a run, its operand in a chunk's weights.
__host__ __device__ constexpr int offset_of_row(int kh) {
  return kPhaseGroups > 1 ? kBlockTapRows - 1 - kh
                          : offset_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h) - kLeastOffsetH;
}
__host__ __device__ constexpr int sums_of_tap(int kh, int kw) {
  const int phase_h = kPhaseGroups > 1 ? 0 : phase_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h);
  return (phase_h * P::stride_w + phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w)) / kMerged;
}
// The first sums of a row's phases, and a tap's behind them.
__host__ __device__ constexpr int sums_of_row(int kh) {
  return kPhaseGroups > 1 ? 0 : phase_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h) * (P::stride_w / kMerged);
}
__host__ __device__ constexpr int sums_of_column(int kw) {
  return phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w) / kMerged;
}
__host__ __device__ constexpr int shift_of_tap(int kw) {
  return offset_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w) - kFirstColumn - kRunStart;
}
// Whether some tap takes the operand of a run whose first position is this one.
__host__ __device__ constexpr bool is_operand(int place) {
  bool taken = false;
  CONVTGEN_UNROLL
  for (int kw = 0; kw < P::kernel_w; kw += kMerged) {
    for (int tile = 0; tile < kTiles; ++tile) {
      taken = taken || place == 2 * tile + shift_of_tap(kw);
    }
  }
  return taken;
}
// The operands of a run that some tap takes, each by the bit of its first position.
static_assert(!P::split || kRun <= 32, "a bit for each operand");
__host__ __device__ constexpr unsigned int taken_operands() {
  unsigned int taken = 0;
  for (int kw = 0; kw < P::kernel_w; kw += kMerged) {
    for (int tile = 0; tile < kTiles; ++tile) {
      taken |= 1u << (2 * tile + shift_of_tap(kw)) % 32;
    }
  }
  return taken;
}
constexpr unsigned int kTaken = taken_operands();
constexpr int kFirstTaken = lowest_bit(kTaken);
constexpr int kTakenEnd = highest_bit(kTaken) + 1;
constexpr bool kTakenTogether = kTaken == (1u << kTakenEnd % 32) - (1u << kFirstTaken % 32);
// Whether some tap takes the operand whose first position is this one of a run.
__device__ inline bool is_taken(int place) {
  return (kTaken >> place & 1u) != 0;
}

__host__ __device__ constexpr int operand_of_tap(int kh, int kw, int step) {
  return ((kh * P::kernel_w + kw) / kMerged * kSteps + step) * kProductBytes;
}

// Where a thread reads of the staged input, from its own first position and channel.
constexpr int kStepPitch = P::channels_last ? kDepth : kDepth * kChannelPitch;
__host__ __device__ constexpr int staged_row(int step, int offset) {
  return P::channels_last && P::bulk ? offset * (kRowPitch / P::run) * kRunPitch + step * kDepth
         : P::channels_last          ? (offset * kRowPitch + kRunStart) * kPixelPitch + step * kDepth
                                     : step * kDepth * kChannelPitch + offset * kRowPitch + kRunStart;
}

// Whether any tap makes outputs of a phase of the block; the others are bias alone.
__host__ __device__ constexpr bool has_taps(int phase) {
  bool rows = kPhaseGroups > 1;
  for (int k = 0; k < P::kernel_h; ++k) {
    rows = rows || phase_of_tap(k, P::stride_h, P::padding_h, P::dilation_h) == phase / P::stride_w;
  }
  bool columns = false;
  for (int k = 0; k < P::kernel_w; ++k) {
    columns = columns || phase_of_tap(k, P::stride_w, P::padding_w, P::dilation_w) == phase % P::stride_w;
  }
  return rows && columns;
}

__host__ __device__ constexpr bool all_have_taps() {
  bool all = true;
  for (int phase = 0; phase < kPhases; ++phase) {
    all = all && has_taps(phase);
  }
  return all;
}
constexpr bool kAllHaveTaps = all_have_taps();

// The descriptor with its start moved by `bytes`, a multiple of 16.
__device__ inline unsigned long long moved(unsigned long long descriptor, int bytes) {
  return descriptor + bytes / 16;
}
