// Threads, the tile of a block, and the types, for what rows/ shares.
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;
using Sum = P::Sum;
using Offset = P::Offset;
using WeightIndex = P::Offset;

constexpr int kWarps = P::warps_x * P::warps_c * P::warps_y;
constexpr int kThreads = 32 * kWarps;
constexpr int kWarpColumns = P::lanes_x * P::columns_per_thread;
constexpr int kTileColumns = P::warps_x * kWarpColumns;
constexpr int kWarpChannels = P::lanes_c * P::channels_per_thread;
constexpr int kTileChannels = P::warps_c * kWarpChannels;
