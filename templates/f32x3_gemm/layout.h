// The layout of `f32x3_gemm`: threads, shared memory, packed weights.
#pragma once

#include "device/float_element.h"
#include "forward_gemm/problem.h"

constexpr int kBytes = 4;             // of an element
constexpr int kVector = 16 / kBytes;  // elements of a 16-byte vector
constexpr int kParts = 2;             // f16 operands that an element makes: high and low
constexpr int kInstructionK = 16;     // channels of one product, which is of f16
constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kTileWarps = kConsumers / 32;  // consumer warps of a tile
constexpr int kThreadChannels = P::block_n / 4;
constexpr int kAdjacentChannels = P::adjacent_channels;  // of a thread

// An image without a halo may be one row of positions. Other rows are whole 16-byte vectors.
constexpr bool kFlat = P::bulk && !P::channels_last && P::tile_h == 1 && kRowOfKnownSize &&
                       P::height * P::width * kBytes % 16 == 0 && kPointwise;
constexpr bool kSkewed = false;
static_assert(!P::bulk || (!P::channels_last && P::copy_bytes == 16 && P::tile_w * kBytes % 16 == 0 &&
                           (kFlat || (P::width >= 0 && P::width * kBytes % 16 == 0))),
              "rows are whole 16-byte vectors");

// Columns from a thread's first position to the next thread's.
constexpr int kThreadColumns = P::thread_positions * P::input_stride_w;
// Elements that a thread loads together, and those of one copy.
constexpr int kLoadVector = P::channels_last ? 1 : greatest_common_divisor(kThreadColumns, 4);
constexpr int kCopy = P::copy_bytes / kBytes;

// Staged rows and columns of an image, with the halo. Columns begin where a copy and a load may begin.
constexpr int kColumnAlign = P::channels_last ? 1 : kCopy > kLoadVector ? kCopy : kLoadVector;
constexpr int kFirstColumn = floor_div(kLeastOffsetW, kColumnAlign) * kColumnAlign;
constexpr int kStagedRows = P::tile_h + kOffsetsH - 1;
constexpr int kStagedColumns =
    ceil_div((P::tile_w - 1) * P::input_stride_w + 1 + kMostOffsetW - kFirstColumn, kColumnAlign) * kColumnAlign;

// What a thread loads of a staged row: columns from its first position on, with the halo, in whole vectors.
constexpr int kLoadStart = P::channels_last ? 0 : (kLeastOffsetW - kFirstColumn) / kLoadVector * kLoadVector;
constexpr int kLoadedColumns =
    ceil_div((P::thread_positions - 1) * P::input_stride_w + 1 + kMostOffsetW - kFirstColumn - kLoadStart,
             kLoadVector) *
    kLoadVector;
// The loaded columns from the first that begins a fragment to the last.
constexpr int kFragmentColumns = (P::thread_positions - 2) * P::input_stride_w + 1 + kMostOffsetW - kLeastOffsetW;

// Registers of a consumer that hold accumulators and, of high and of low parts, the fragments of a row of taps.
// Products of more than kMostRegisters are serialised by the assembler (C7512).
constexpr int kMostRegisters = 168;
constexpr int kAccumulatorRegisters = kParts * kPhases * kMTiles * P::block_n / 2;
constexpr int kRowRegisters = kAccumulatorRegisters + 8 * kFragmentColumns;

// With input strides adjacent positions share no fragments. Where registers can't hold those of a row of taps, with the
// next values of consumers that split them, consumers hold those of two pairs of taps (pair_taps.h).
constexpr bool kStrided = P::input_stride_h * P::input_stride_w > 1;
constexpr bool kSharesLittle = kOffsetsH == 1 && kLoadedColumns <= 2 * kThreadColumns;
constexpr bool kHoldsPairs = P::input_stride_w > 1 && P::promote_rows == 0 &&
                             kRowRegisters + (kSharesLittle ? 4 * kLoadedColumns : 0) > kMostRegisters;
constexpr int kPairRegisters = kAccumulatorRegisters + 2 * kParts * 8 * kMTiles;
constexpr int kHeldRegisters = kHoldsPairs ? kPairRegisters : kRowRegisters;

// Pitches in elements. Reads of the consumers are free of bank conflicts, except that with pairs of taps a bank is
// wanted twice.
constexpr int kRowPitch = kStagedColumns;
constexpr int kImagePlane = kStagedRows * kRowPitch;
constexpr int kPlane = P::tile_n * kImagePlane;
constexpr int kChannelPitch =
    kPlane + (kHoldsPairs ? floor_mod((kThreadColumns % 8 == 0 ? 4 : 8) - kPlane, 32) : floor_mod(4 - kPlane, 16));
// With channels first, a word has the values of two channels: adjacent ones, or with pairs of taps one of each half of
// a stage, this far apart.
constexpr bool kPairsHalves = kHoldsPairs && !P::channels_last;
constexpr int kPartnerPitch = P::block_k / 2 * kChannelPitch;
constexpr int kPixelPitch =
    P::block_k + (kThreadColumns > 2 ? floor_mod(4 - P::block_k, 8) : floor_mod(8 - P::block_k, 16));
// Where a staged pixel lies.
__host__ __device__ constexpr int staged_pixel(int pixel) {
  return pixel * kPixelPitch;
}
constexpr int kInputElements = !P::channels_last ? P::block_k * kChannelPitch : kPlane * kPixelPitch;
constexpr int kInputBytes = kInputElements * kBytes;  // the input of a stage
static_assert(kInputBytes % 16 == 0 && kStagedColumns % kLoadVector == 0, "stages are aligned");

// Distances to the next row offset and k-step.
constexpr int kRowOffsetPitch = P::channels_last ? kRowPitch * kPixelPitch : kRowPitch;
constexpr int kKStepPitch = P::channels_last ? kInstructionK : kInstructionK / (kPairsHalves ? 2 : 1) * kChannelPitch;

// A set for the products of high parts and, after all of these, one for products with low parts.
constexpr int kAccumulatorSets = kParts * kPhaseSets;
constexpr int kMostAccumulators = 256;  // of two threads
static_assert(kParts * kPhases * kMTiles * P::block_n <= kMostAccumulators, "the accumulators fit the registers");

// Who splits values into high and low parts. The producers split what is staged, once for all taps that share it. Where
// rows of taps share no input, and threads load little halo, the consumers split what they load.
constexpr bool kConsumersSplit = kSharesLittle && !kHoldsPairs;
constexpr bool kProducersSplit = !kConsumersSplit;
// With three stages or fewer, release each stage right after its last read: no products are in flight then.
constexpr bool kReleasesAtOnce = kProducersSplit && !P::resident && P::stages <= 3 && P::promote_rows == 0;
// Two producer warpgroups if the consumers need at most 136 registers (with input strides 104), or if many small copies
// are to be issued and the consumers keep nothing for products in flight.
constexpr bool kFewRegisters =
    kHeldRegisters + (kHoldsPairs ? 8 * kMTiles : 4 * kLoadedColumns) <= (kStrided ? 104 : 136);
constexpr bool kTwoProducers =
    kProducersSplit && (kFewRegisters || (kReleasesAtOnce && !P::bulk && !P::channels_last && !kStrided));
constexpr int kProducers = kTwoProducers ? 256 : 128;  // threads
// Registers of a thread. Producers take more of them where they keep the rows and columns of pixels, or the places of
// many pixels, and for rows of strided inputs.
constexpr int kProducerRegisters = kTwoProducers ? (kFewRegisters && !(P::channels_last && P::kernel_h > 1) ? 56 : 64)
                                   : P::channels_last ? (kPlane > 224 ? 104 : 88)
                                   : kStrided         ? 88
                                                      : 72;
constexpr int kConsumerRegisters = kTwoProducers ? 256 - kProducerRegisters : (504 - kProducerRegisters) / 2;
#include "device/roles.h"

// Packed weights (forward_gemm/weights.h), in bytes: a product's B operand of a k-step, first of high parts, then of
// low parts; a k-block's; an N tile's; all. After all k-blocks of an N tile come the exponents of the channels' scales,
// and the maxima of parts of each channel.
constexpr int kProducts = kBlockTaps / kFusedPhases;
constexpr int kOperandBytes = kInstructionN * 32;                        // a B operand of high or of low parts
constexpr int kProductBytes = kParts * kOperandBytes;                    // high parts, then low parts
constexpr int kKBlockWeightBytes = kProducts * kKSteps * kProductBytes;  // a k-block's B operands
constexpr int kWeightBytes = kKBlocks * kKBlockWeightBytes;         // all k-blocks; exponents of their scales follow
constexpr int kPackedMaximaOffset = kWeightBytes + P::block_n * 4;  // of weights, written while they are packed
constexpr int kPackedTileBytes = kPackedMaximaOffset + P::block_n * 32;  // of an N tile
constexpr long long kPackedBytes = static_cast<long long>(kNTiles) * kPackedTileBytes;

// A stage: input, weights, what each producer warp found to be the maximum, the exponents of the input's scales.
constexpr int kResidentBytes = P::resident ? kWeightBytes : 0;  // the weights, at 0; the stages follow
constexpr int kMaximaOffset = kInputBytes + (P::resident ? 0 : kKBlockWeightBytes);  // in a stage: one a producer warp
constexpr int kExponentsOffset = kMaximaOffset + P::tile_n * (kProducers / 32) * 4;  // in a stage: scales of x
constexpr int kStageBytes = kExponentsOffset + ceil_div(P::tile_n, 4) * 16;  // input, weights, maxima, exponents

// Each addition on tensor cores truncates, so at most 16 products of 16 channels follow one another in an accumulator.
// Accumulators are promoted to fp32 totals where there are more, or where another scale is needed. Consumers that split
// what they load rescale the accumulators instead, where one accumulator holds all terms.
constexpr int kMostTerms = 16;
constexpr int kRowTerms = ceil_div(P::kernel_w, P::stride_w / greatest_common_divisor(P::stride_w, P::dilation_w));
constexpr int kKBlockTerms =
    kKSteps * kRowTerms *
    (kRowBlocks > 1 ? 1 : ceil_div(P::kernel_h, P::stride_h / greatest_common_divisor(P::stride_h, P::dilation_h)));
constexpr bool kHasTotals = P::promote_rows > 0 ||
                            (kConsumersSplit ? kKBlocks * kKBlockTerms > kMostTerms : kKBlocks > 1);

// Shared memory: resident weights, stages, totals, the weights' scales (two factors each) and biases, barriers.
constexpr int kTotalsOffset = kResidentBytes + P::stages * kStageBytes;  // fp32 totals of the accumulators
constexpr int kTotalsBytes = kHasTotals ? kPhases * kMTiles * P::block_n / 2 * 4 * kConsumers : 0;
constexpr int kScalesOffset = kTotalsOffset + kTotalsBytes;  // factors that undo the scales of the weights
constexpr int kBiasOffset = kScalesOffset + P::block_n * 8;  // one a channel
constexpr int kBarrierOffset = kBiasOffset + (P::has_bias ? P::block_n * 4 : 0);  // mbarriers
// Barriers: full, empty and landed ones of the stages; of resident weights.
constexpr int kSharedBytes = kBarrierOffset + 24 * P::stages + (P::resident ? 8 : 0);

// What the addresses of x and y are multiples of, for copies and stores.
constexpr int kAlignment = P::copy_bytes > P::store* kBytes ? P::copy_bytes : P::store* kBytes;

// The epilogue (forward_gemm/epilogue.h). unscale() has added the bias, unless outputs of some phases are bias alone.
// Addresses are found from the tile's first output, at constant distances where sizes are known: 1 to 4 % faster.
constexpr bool kAddsBias = P::has_bias && !kAllHaveTaps;
constexpr bool kStoresFromCorner = true;

static_assert(P::tile_n * P::tile_h * P::tile_w == 8 * kTileWarps * P::thread_positions &&
                  P::tile_w % P::thread_positions == 0,
              "the warps make the tile");
static_assert(P::tile_n <= 32, "a lane for each image");
static_assert(!kConsumersSplit || P::prefetch, "consumers split what they load while products run");
static_assert(!kHoldsPairs || P::prefetch, "pairs of taps are loaded while products run");
