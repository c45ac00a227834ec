// Threads, the tile of a block, and the types, for what rows/ shares.
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;
using Sum = P::Sum;
using Offset = P::Offset;
using WeightIndex = P::Offset;

constexpr int kInstructionM = 16;  // positions of a product
constexpr int kInstructionN = 8;   // output channels of a product
constexpr int kThreads = 32 * P::warps;
constexpr int kTileColumns = kInstructionM * P::column_tiles;
constexpr int kTileChannels = P::tile_channels;
