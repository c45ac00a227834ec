// Accumulators of the products of warps.
// Needs: kPhases, kWarpChannels, P
#pragma once

// One thread's accumulators: of each tile of 16 positions, phase and tile of 8 channels of its warp.
using Accumulators = float[P::warp_tiles][kPhases][kWarpChannels / 8][4];
