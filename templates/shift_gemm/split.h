// Part of the template `shift_gemm`, which uses what stands above its line there: how the producers of f32x3 choose
// scales, and split what was staged.
//
// Where the values of two channels of a position were, their high and their low parts come to stand: with channels
// first a word of high parts in the first channel's row, one of low parts in the second's; with channels last the two
// words of a pair take its place. All of an image's part of a stage has one scale.
#pragma once

// The threads that work on an image, each on pieces of some lines: those of two channels, or of a pixel.
constexpr int kSplitters = kByImages ? 32 : kProducers;
constexpr int kSplitImages = kByImages ? P::tile_n / (kProducers / 32) : P::tile_n;  // of a thread
constexpr int kLines = P::channels_last ? kImagePlane : P::chunk / 2;
constexpr int kLinePitch = P::channels_last ? kPixelPitch : 2 * kChannelPitch;
constexpr int kImagePitch = P::channels_last ? kImagePlane * kPixelPitch : kImagePlane;
constexpr int kWide = P::channels_last || kImagePlane % 4 == 0 ? 4 : 2;  // elements that are read together
constexpr int kLinePieces = (P::channels_last ? P::chunk : kImagePlane) / kWide;
constexpr int kTogether = P::channels_last          ? (kLinePieces < kSplitters ? kLinePieces : kSplitters)
                          : kSplitters / kLines > 8 ? kSplitters / kLines
                                                    : 8;  // threads of a line
constexpr int kLinesAtOnce = kSplitters / kTogether;
constexpr int kTurns = ceil_div(kLinePieces, kTogether);  // of a thread in a line
constexpr int kPieces = ceil_div(kLines, kLinesAtOnce) * kTurns;
static_assert(kSplitters % kTogether == 0, "a line's threads are all there");

constexpr int kPieceValues = P::channels_last ? 4 : 2 * kWide;
// A thread's piece: adjacent positions of two channels, with channels last four channels of a position.
using Piece = float[kPieceValues];

// Where the thread's i-th piece begins, behind its first one.
__host__ __device__ constexpr int place_of_piece(int i) {
  return kTurns == kPieces ? i * (kTogether * kWide)
                           : i / kTurns * kLinesAtOnce * kLinePitch + i % kTurns * kTogether * kWide;
}
// Whether there is one. By the remainders the compiler knows that each thread has all of them but the last.
__device__ __forceinline__ bool has_piece(int i, int thread) {
  return i < kPieces &&
         (kLines % kLinesAtOnce == 0 || i / kTurns * kLinesAtOnce + thread / kTogether % kLinesAtOnce < kLines) &&
         (kLinePieces % kTogether == 0 ||
          (kTurns == kPieces ? i : i % kTurns) * kTogether + thread % kTogether < kLinePieces);
}

// Pieces that are read together: registers. Whether each thread has all of them.
constexpr int kMostBatch = kWideProducers ? 2 : 4;
constexpr int kBatch = ceil_div(kPieces, ceil_div(kPieces, kMostBatch));
constexpr int kLookBatch = kSplitsStaged ? kBatch : kPieces > 4 ? 2 : kPieces;
constexpr bool kAllThere =
    kPieces % kBatch == 0 && kPieces % kLookBatch == 0 && kLines % kLinesAtOnce == 0 && kLinePieces % kTogether == 0;

// Takes the i-th of a thread's pieces to registers; zeros where there is none.
__device__ __forceinline__ void load_piece(Piece& piece, const float* own, int i, int thread) {
  if (!kAllThere) {
#pragma unroll
    for (int v = 0; v < kPieceValues; ++v) {
      piece[v] = 0;
    }
  }
  if (kAllThere || has_piece(i, thread)) {
#pragma unroll
    for (int v = 0; v < kPieceValues; ++v) {
      piece[v] = own[place_of_piece(i) + (P::channels_last ? v : v / kWide * kChannelPitch + v % kWide)];
    }
  }
}

// Splits a piece, and puts its parts where it was.
__device__ __forceinline__ void store_piece_split(float* own, int i, const Piece& piece, float scale) {
  unsigned int* words = reinterpret_cast<unsigned int*>(own + place_of_piece(i));
  if (P::channels_last) {
    const SplitPair first = split_pair(piece[0], piece[1], scale, false);
    const SplitPair second = split_pair(piece[2], piece[3], scale, false);
    *reinterpret_cast<uint4*>(words) = make_uint4(first.high, first.low, second.high, second.low);
  } else {
    SplitPair pairs[kWide];
#pragma unroll
    for (int i = 0; i < kWide; ++i) {
      pairs[i] = split_pair(piece[i], piece[kWide + i], scale, false);
    }
    if (kWide == 4) {
      *reinterpret_cast<uint4*>(words) = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
      *reinterpret_cast<uint4*>(words + kChannelPitch) =
          make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
    } else {
      *reinterpret_cast<uint2*>(words) = make_uint2(pairs[0].high, pairs[1].high);
      *reinterpret_cast<uint2*>(words + kChannelPitch) = make_uint2(pairs[0].low, pairs[1].low);
    }
  }
}

// Where nothing else comes of what is read, one value of each load is taken before the next of any, or the assembler
// waits for one load after the other: of the i-th value that is looked at in a batch, the piece and the place there.
__host__ __device__ constexpr int piece_looked_at(int i) {
  return kSplitsStaged ? i / kPieceValues : i % kLookBatch;
}
__host__ __device__ constexpr int value_looked_at(int i) {
  return kSplitsStaged      ? i % kPieceValues
         : P::channels_last ? i / kLookBatch
                            : i / kLookBatch % 2 * kWide + i / kLookBatch / 2;
}

// The largest magnitude of a thread's pieces of an image. NaN don't count.
__device__ __forceinline__ float largest_of_pieces(const float* own, int thread) {
  float most[2] = {0, 0};
#pragma unroll
  for (int batch = 0; batch < kPieces; batch += kLookBatch) {
    Piece pieces[kLookBatch];
#pragma unroll
    for (int i = 0; i < kLookBatch; ++i) {
      load_piece(pieces[i], own, batch + i, thread);
    }
#pragma unroll
    for (int i = 0; i < kLookBatch * kPieceValues; ++i) {
      most[i % 2] = fmaxf(most[i % 2], fabsf(pieces[piece_looked_at(i)][value_looked_at(i)]));
    }
  }
  return fmaxf(most[0], most[1]);
}

// The same of what is finite, which is seldom asked for: piece by piece.
__device__ __forceinline__ float largest_finite_of_pieces(const float* own, int thread) {
  float most = 0;
#pragma unroll 1
  for (int i = 0; i < kPieces; ++i) {
    Piece piece;
    load_piece(piece, own, i, thread);
#pragma unroll
    for (int v = 0; v < kPieceValues; ++v) {
      most = larger_finite(most, piece[v]);
    }
  }
  return most;
}

// Splits a thread's pieces of an image.
__device__ __forceinline__ void split_pieces(float* own, int thread, float scale) {
#pragma unroll
  for (int batch = 0; batch < kPieces; batch += kBatch) {
    Piece pieces[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      load_piece(pieces[i], own, batch + i, thread);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (kAllThere || has_piece(batch + i, thread)) {
        store_piece_split(own, batch + i, pieces[i], scale);
      }
    }
  }
}

// Producers finish a stage as soon as it has come, and while none is empty that they could ask for. Small copies take
// long to ask for: stages behind so many are finished each time.
constexpr int kUnderWay = P::stages < 5 ? P::stages - 2 : 2;
// Stages of bulk copies are finished as they come, which warps see at different times: then in one place of the code.
constexpr bool kDrains = P::split && P::bulk;

// Whether the phase of this parity is complete, for all of a warp.
__device__ __forceinline__ bool has_come(unsigned long long* barrier, unsigned int parity) {
  return warp_uniform(mbarrier_test(barrier, parity) ? 1 : 0) == 1;
}

// How many stages were asked for and aren't finished; the oldest, and its chunk; exponents that the one before `kept`.
//
// Lane i keeps that of the warp's i-th image.
struct Asked {
  int stages;
  int oldest;
  unsigned int parity;
  int chunk;
  int kept;
};

// The i-th image of a thread whose first is this one.
__device__ inline int number_of(int first, int i) {
  return first + i * (kByImages ? kProducers / 32 : 1);
}

// Finishes the oldest of them: looks for its largest finite magnitudes, splits it if consumers don't, and hands it on.
//
// Finite ones are looked for anew, where there is an infinity.
__device__ __forceinline__ void finish_stage(unsigned char* stages, unsigned long long* full,
                                             unsigned long long* landed, Asked& asked, int thread) {
  unsigned char* finished = stages + asked.oldest * kStageBytes;
  mbarrier_wait(&landed[asked.oldest], asked.parity);
  const int first = kByImages ? thread / 32 : 0;
  const int own = kByImages ? thread % 32 : thread;
  float* pieces =
      reinterpret_cast<float*>(finished) + first * kImagePitch + own / kTogether * kLinePitch + own % kTogether * kWide;
  float* found = reinterpret_cast<float*>(finished + kLargestOffset);
  for (int i = 0; i < kSplitImages; ++i) {
    const float* image = pieces + i * (kByImages ? kProducers / 32 : 1) * kImagePitch;
    float most = largest_of_warp(largest_of_pieces(image, own));
    if (!is_finite(most)) {
      most = largest_of_warp(largest_finite_of_pieces(image, own));
    }
    if (thread % 32 == 0) {
      found[i * (kProducers / 32) + thread / 32] = most;
    }
  }
  if (kSplitsStaged) {
    if (kByImages) {
      __syncwarp();
    } else {
      named_barrier_sync(1, kProducers);
    }
    int* exponents = reinterpret_cast<int*>(finished + kExponentsOffset);
    for (int i = 0; i < kSplitImages; ++i) {
      const int exponent =
          next_exponent(largest_found(finished + kLargestOffset, number_of(first, i)),
                        kSplitImages == 1 ? asked.kept : __shfl_sync(0xffffffffu, asked.kept, i), asked.chunk == 0);
      asked.kept = kSplitImages == 1 || thread % 32 == i ? exponent : asked.kept;
      if (own == 0) {
        exponents[number_of(first, i)] = exponent;
      }
      split_pieces(pieces + i * (kByImages ? kProducers / 32 : 1) * kImagePitch, own, power_of_two(exponent));
    }
    if (P::bulk) {
      fence_proxy_async();  // the next bulk copies to these places come behind it
    }
  }
  release(&full[asked.oldest], true);
  next_stage(asked.oldest, asked.parity);
  asked.chunk = asked.chunk == kChunks - 1 ? 0 : asked.chunk + 1;
  --asked.stages;
}
