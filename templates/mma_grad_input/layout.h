// The layout of `mma_grad_input`: tiles, the window of grad_y, the words of K, and shared memory.
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;
using Offset = P::Offset;

constexpr int kThreads = 32 * P::warps;
constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kGroupIn = P::in_channels / P::groups;
constexpr int kGroupOut = P::out_channels / P::groups;

// Tiles. A product has 16 positions and 8 channels.
constexpr int kWarpPositions = 16 * P::m_tiles;
constexpr int kTileN = P::block_n / 8;
constexpr int kParts = kTileN / P::n_tiles;                              // of the tile's channels
constexpr int kItems = P::tile_h * P::tile_w / kWarpPositions * kParts;  // of a tile, each for a warp
constexpr int kTilesOfGroup = ceil_div(kGroupIn, P::block_n);
constexpr int kChannelTiles = P::groups * kTilesOfGroup;
constexpr bool kWholeChannels = kGroupIn % P::block_n == 0;

// The window of grad_y that a tile's taps reach: with channels last rows of pixels, else rows of each output channel's
// plane. Where rows are adjacent in memory as they are in the window, a row begins at a whole copy, kShift elements
// before the first that is read.
constexpr int kUnit = P::copy_bytes / sizeof(Element);  // elements of a copy
constexpr bool kIsAsynchronous = P::copy_bytes >= 4;
constexpr int kPixel = P::channels_last ? kGroupOut : 1;  // elements of a pixel
constexpr int kRows = (P::tile_h - 1) * P::stride_h + P::dilation_h * (P::kernel_h - 1) + 1;
constexpr int kColumns = (P::tile_w - 1) * P::stride_w + P::dilation_w * (P::kernel_w - 1) + 1;
constexpr int kWindowRows = P::channels_last ? kRows : kGroupOut * kRows;
constexpr bool kRowsAdjacent = !P::channels_last || P::y_channels == kGroupOut;
constexpr int kShift = kRowsAdjacent ? floor_mod(-P::padding_w * kPixel, kUnit) : 0;
constexpr int kVector = 16 / sizeof(Element);
constexpr int kPitch = ceil_div(kShift + kColumns * kPixel, kVector) * kVector;
constexpr int kRowUnits = kPitch / kUnit;
constexpr int kPositionStep = P::stride_w * kPixel;  // elements from a position to the next one
constexpr int kWindowElements = kWindowRows * kPitch;

// K: the elements of the window that a position reads, by runs of adjacent ones: the taps of a kernel row, or those of
// one tap where a dilation is between. Its words are products' words of K. Those of 16 bits have two elements, which
// begin at even elements of the window. Where positions or runs begin at either, a second copy of the window is shifted
// by an element; where all begin at odd elements, each run has one more before it.
constexpr int kPack = 4 / sizeof(Element);  // elements of a word
constexpr bool kIsDense = P::dilation_w == 1 || P::kernel_w == 1;
constexpr int kRun = kIsDense ? P::kernel_w * kPixel : kPixel;
constexpr int kRunsOfRow = kIsDense ? 1 : P::kernel_w;
constexpr int kRuns = (P::channels_last ? P::kernel_h : kGroupOut * P::kernel_h) * kRunsOfRow;
constexpr bool kTwoCopies = kPack == 2 && (kPositionStep % 2 == 1 || (!kIsDense && P::dilation_w * kPixel % 2 == 1));
constexpr int kFront = kPack == 2 && !kTwoCopies ? kShift % 2 : 0;
constexpr int kBack = kPack == 2 ? (kFront + kRun) % 2 : 0;
constexpr int kRunWords = (kFront + kRun + kBack) / kPack;
constexpr int kFullOfRun = kRunWords - kFront - kBack;  // without those that have one element
// In their order: the full words, run by run; then the first ones of all runs, if they lack an element; then the last.
constexpr int kFullWords = kRuns * kFullOfRun;
constexpr int kFrontWords = kRuns * kFront;
constexpr int kWords = kRuns * kRunWords;
constexpr int kStepWords = 8;  // of a product
constexpr int kSteps = ceil_div(kWords, kStepWords);
constexpr int kFullSteps = kFullWords / kStepWords;
constexpr int kWeightParts = P::splits ? 2 : 1;
// Tensor cores truncate each sum: of values that are split accumulators are added to fp32 totals after these, of three
// products each.
constexpr int kStepsOfTotal = 4;

// Shared memory: two windows, each with its shifted copy, weights as B fragments, or parts of them, and for each word
// of K where it lies in the window, from a position's first element that is even or odd, and its weights.
constexpr int kWindowBytes = kWindowElements * static_cast<int>(sizeof(Element));
constexpr int kCopyWords = kWindowBytes / 4;
constexpr int kCopies = kTwoCopies ? 2 : 1;
constexpr int kBufferBytes = kCopies * kWindowBytes;
constexpr long long kWeightOffset = 2ll * kBufferBytes;
constexpr long long kPlaceOffset = kWeightOffset + 256ll * kWeightParts * kSteps * kTileN;
constexpr long long kWeightPlaceOffset = kPlaceOffset + 4ll * kCopies * kSteps * kStepWords;
constexpr long long kSharedBytes = kWeightPlaceOffset + 4ll * kPack * kSteps * kStepWords;

constexpr int kAccumulators = P::m_tiles * P::n_tiles * 4;  // of a thread
constexpr int kStoreBytes = P::store == 1 ? 0 : P::store * static_cast<int>(sizeof(Element));
constexpr int kLoadBytes = kUnit == 1 ? 0 : P::copy_bytes;
constexpr int kAlignment = kStoreBytes > kLoadBytes ? kStoreBytes : kLoadBytes;

// Which channel is a product's column: with channels last, a thread has adjacent ones of a position, as many as it
// stores at once. Which position is a product's row: else, a thread has adjacent ones of a channel.
constexpr int kStoreTiles = P::channels_last && P::store > 2 ? P::store / 2 : 1;

static_assert(P::in_channels % P::groups == 0 && P::out_channels % P::groups == 0, "groups divide the channels");
static_assert(P::tile_h * P::tile_w % kWarpPositions == 0 && P::tile_w % 8 == 0, "warps have whole rows of products");
static_assert(P::block_n % (8 * P::n_tiles) == 0 && P::n_tiles % kStoreTiles == 0, "and whole columns");
static_assert(P::channels_last || 2 * P::m_tiles % P::store == 0, "a thread stores whole vectors");
static_assert(kRowsAdjacent || kPixel % kUnit == 0, "a copy is of one pixel");
