// The layout of `shift_gemm`: threads, shared memory, packed weights.
#pragma once

#include "device/element.h"
#include "device/instruction.h"
#include "forward_gemm/problem.h"

using Element = P::Element;

constexpr int kKSteps = P::block_k / kInstructionK;

constexpr int kTileWarps = P::ping_pong ? 4 : 8;  // consumer warps of a tile
constexpr int kProducers = 128;                   // threads
constexpr int kProducerRegisters = 88;            // of a thread
constexpr int kConsumerRegisters = 208;
#include "device/roles.h"

// What each block of a cluster takes of a tile: k-blocks that it accumulates, output channels that it stores.
constexpr int kOwnKBlocks = kKBlocks / P::cluster;
constexpr int kStoredChannels = P::block_n / P::cluster;
constexpr int kThreadChannels = kStoredChannels / 4;
constexpr int kAdjacentChannels = P::adjacent_channels;  // of a thread

// An image may be one row of positions, where its own rows are not whole 16-byte vectors.
constexpr bool kFlat = P::bulk && !P::channels_last && P::width * kBytes % 16 != 0 && P::tile_h == 1 &&
                       !P::staged_epilogue && P::cluster == 1 && kRowOfKnownSize &&
                       P::height * P::width * kBytes % 16 == 0 && kPointwise;
// Bulk copies are whole 16-byte vectors. Rows of other widths begin anywhere in one (forward_gemm/bulk_rows.h).
constexpr bool kSkewed = P::bulk && !P::channels_last && !kFlat && (P::width < 0 || P::width * kBytes % 16 != 0);

// Columns from a thread's first position to the next thread's.
constexpr int kThreadColumns = P::thread_positions * P::input_stride_w;
// Elements that a thread loads together, and those of one copy.
constexpr int kMostLoaded = P::type == kWgmmaTf32 ? 4 : P::input_stride_w == 1 ? 2 : 8;
constexpr int kLoadVector = P::channels_last ? 1
                            : kSkewed        ? (P::width >= 0 && P::width % 2 == 0 ? 2 : 1)
                                             : greatest_common_divisor(kThreadColumns, kMostLoaded);
constexpr int kCopy = P::copy_bytes / kBytes;

// Pixels that come by bulk copies, or that positions skip, lie together in groups, of the columns of a thread's
// positions each.
constexpr bool kPixelGroups = P::channels_last && (P::bulk || P::input_stride_w > 1);

// Staged rows and columns of an image, with the halo. Columns begin where a copy and a load may begin.
constexpr int kFirstColumnAlign = P::channels_last ? 1 : !kSkewed && kCopy > kLoadVector ? kCopy : kLoadVector;
constexpr int kFirstColumn = floor_div(kLeastOffsetW, kFirstColumnAlign) * kFirstColumnAlign;
constexpr int kStagedRows = P::tile_h + kOffsetsH - 1;
constexpr int kStagedColumnsAlign = kPixelGroups ? kThreadColumns : kFirstColumnAlign;
constexpr int kStagedColumns =
    ceil_div((P::tile_w - 1) * P::input_stride_w + 1 + kMostOffsetW - kFirstColumn, kStagedColumnsAlign) *
    kStagedColumnsAlign;

// Pitches in elements. Reads of the consumers are free of bank conflicts: (thread in four) * pitch + 8 words each. With
// input strides a bank is wanted twice where a thread's columns are 8 words, or more than 16.
constexpr int kRowPitch =
    kSkewed ? ceil_div(kStagedColumns + kVector - kLoadVector, kVector) * kVector : kStagedColumns;
constexpr int kImagePlane = kStagedRows * kRowPitch;
constexpr int kPlane = P::tile_n * kImagePlane;
constexpr int kChannelPitch = kBytes == 4 ? kPlane + floor_mod((kThreadColumns % 16 == 0 ? 4 : 8) - kPlane, 32)
                                          : 2 * (kPlane / 2 + floor_mod(4 - kPlane / 2, 16));
constexpr int kPixelWords = P::block_k * kBytes / 4;
constexpr int kPixelPitch =
    (kPixelWords + floor_mod(4 - kPixelWords, 16 / (P::thread_positions > 2 ? 2 : 1))) * 4 / kBytes;
constexpr int kPixelGroupPitch = kThreadColumns * P::block_k + 32 / kBytes;
// Where a staged pixel lies: its group, and its place there.
__host__ __device__ constexpr int staged_group(int pixel) {
  return kPixelGroups ? pixel / kThreadColumns * kPixelGroupPitch : 0;
}
__host__ __device__ constexpr int staged_in_group(int pixel) {
  return kPixelGroups ? pixel % kThreadColumns * P::block_k : pixel * kPixelPitch;
}
__host__ __device__ constexpr int staged_pixel(int pixel) {
  return staged_group(pixel) + staged_in_group(pixel);
}
constexpr int kInputBytes =
    (P::channels_last ? staged_pixel(kPlane) : P::block_k * kChannelPitch) * kBytes;  // the input of a stage
static_assert(kInputBytes % 16 == 0 && kStagedColumns % kLoadVector == 0, "stages are aligned");

// What a thread loads of a staged row: columns from its first position on, with the halo, in whole vectors. And the
// distances to the next row offset and k-step.
constexpr int kLoadStart = P::channels_last ? 0 : (kLeastOffsetW - kFirstColumn) / kLoadVector * kLoadVector;
constexpr int kLoadedColumns =
    ceil_div((P::thread_positions - 1) * P::input_stride_w + 1 + kMostOffsetW - kFirstColumn - kLoadStart,
             kLoadVector) *
    kLoadVector;
constexpr int kRowOffsetPitch = P::channels_last ? staged_pixel(kRowPitch) : kRowPitch;
constexpr int kKStepPitch = P::channels_last ? kInstructionK : kInstructionK * kChannelPitch;

constexpr int kAccumulatorSets = kPhaseSets;
constexpr int kMostAccumulators = 256;  // of two threads
static_assert(kPhases * kMTiles * P::block_n <= kMostAccumulators, "the accumulators fit the registers");

// Packed weights (forward_gemm/weights.h), in bytes: a product's B operand of a k-step, a k-block's, an N tile's, all.
constexpr int kProducts = kBlockTaps / kFusedPhases;
constexpr int kProductBytes = kInstructionN * 32;                        // a B operand
constexpr int kKBlockWeightBytes = kProducts * kKSteps * kProductBytes;  // a k-block's B operands
constexpr int kPackedTileBytes = kKBlocks * kKBlockWeightBytes;          // of an N tile: all k-blocks
constexpr long long kPackedBytes = static_cast<long long>(kNTiles) * kPackedTileBytes;

// Shared memory: resident weights, stages, the staged epilogue, barriers.
constexpr int kResidentBytes = P::resident ? kPackedTileBytes : 0;  // the weights, at 0; the stages follow
constexpr int kStageBytes = kInputBytes + (P::resident ? 0 : kKBlockWeightBytes);  // input; weights if not resident
constexpr int kEpilogueOffset = kResidentBytes + P::stages * kStageBytes;          // each warp stages its outputs there
// The staged epilogue: a warp's adjacent outputs in a row, for eight channels. The pitch keeps writes free of bank
// conflicts.
constexpr int kWarpOutputs = 8 * P::thread_positions * P::stride_w;
constexpr int kOutPitch = kWarpOutputs + floor_mod(kVector - kWarpOutputs, 4 * kVector);
constexpr int kWarpEpilogueBytes = P::staged_epilogue ? 8 * kOutPitch * kBytes : 0;  // a warp's part
constexpr int kUsedBytes = kEpilogueOffset + kConsumers / 32 * kWarpEpilogueBytes;
// What the blocks of a cluster send to one of them takes the stages' place.
constexpr int kReceivedBytes = P::cluster > 1 ? kPhases* kMTiles* P::block_n / 2 * 4 * kConsumers : 0;
constexpr int kBarrierOffset = kReceivedBytes > kUsedBytes ? kReceivedBytes : kUsedBytes;  // mbarriers
// Barriers: full and empty ones of the stages; of resident weights; of each ping-pong warpgroup.
constexpr int kSharedBytes = kBarrierOffset + 16 * P::stages + (P::resident ? 8 : 0) + (P::ping_pong ? 24 : 0);

// What the addresses of x and y are multiples of, for copies and stores.
constexpr int kCopyAlignment = kSkewed ? kLoadVector * kBytes : P::copy_bytes;
constexpr int kAlignment = kCopyAlignment > P::store * kBytes ? kCopyAlignment : P::store * kBytes;

// The epilogue (forward_gemm/epilogue.h).
constexpr bool kAddsBias = P::has_bias;
// With input strides a thread may have many channels: the places of all of them would be kept, and spilled.
constexpr bool kStoresFromCorner = P::input_stride_h * P::input_stride_w > 1;

static_assert(P::tile_n * P::tile_h * P::tile_w == 8 * kTileWarps * P::thread_positions &&
                  P::tile_w % P::thread_positions == 0,
              "the warps make the tile");
static_assert(!P::bulk || kSkewed || P::channels_last || (P::copy_bytes == 16 && P::tile_w * kBytes % 16 == 0),
              "rows are whole 16-byte vectors");
static_assert(!kSkewed || P::type == kWgmmaTf32, "rows that begin anywhere are read word by word");
static_assert(!kSkewed || P::input_stride_h * P::input_stride_w == 1, "rows that begin anywhere are adjacent");
static_assert(!P::staged_epilogue ||
                  (!P::channels_last && P::tile_w % (8 * P::thread_positions) == 0 && kAdjacentChannels == 2),
              "a warp's positions are adjacent");
static_assert(!P::bulk || !P::channels_last || (P::copy_bytes == 16 && P::in_channels * kBytes % 16 == 0),
              "pixels are whole 16-byte vectors");
static_assert(P::cluster == 1 || (!P::resident && !P::staged_epilogue && !P::ping_pong),
              "what blocks of a cluster have not");
static_assert(P::cluster == 1 || (kKBlocks % P::cluster == 0 && P::block_n % (8 * P::cluster) == 0 &&
                                  kStoredChannels % (4 * kAdjacentChannels) == 0),
              "blocks of a cluster have equal shares");
