// Products over positions, for gradients of weights: the blocks of a slice, and the planes of grad_y that their taps
// read.
//
// Along each axis tap a of a block reads grad_y at stride * i + dilation * a + origin for the input position i. Taps at
// a distance of stride / gcd(stride, dilation) read the same plane of grad_y, every stride-th element of it, moved by
// whole positions: position c of plane q is grad_y at stride * c + dilation * q + origin. With three axes an image is a
// plane of a volume, and a block has one tap along the depth.
//
// With products of f16 and elements of fp32 the values are split: each is a high and a low part in f16.
// Needs: Parameters
#pragma once

#include "device/instruction.h"
#include "device/printed.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;
using Sum = P::Sum;

constexpr int kElementBytes = static_cast<int>(sizeof(Element));  // of x, grad_y and a weight
constexpr bool kSplit = P::type == kWgmmaF16 && kElementBytes == 4;
constexpr int kParts = kSplit ? 2 : 1;  // of a value

constexpr int kKernelTaps = P::kernel_h * P::kernel_w;
constexpr int kGroupIn = P::in_channels / P::groups;
constexpr int kGroupOut = P::out_channels / P::groups;
constexpr long long kWeights = static_cast<long long>(P::in_channels) * kGroupOut * kKernelTaps * P::kernel_d;

// Blocks of a slice.
constexpr int kInTiles = ceil_div(kGroupIn, P::block_in);  // of one group
constexpr int kOutTiles = ceil_div(kGroupOut, P::block_out);
constexpr int kTapGroupsW = ceil_div(P::kernel_w, P::taps_w);
constexpr int kTapGroups = ceil_div(P::kernel_h, P::taps_h) * kTapGroupsW;
constexpr int kPlaneBlocks = P::groups * kInTiles * kOutTiles * kTapGroups;  // of a tap along the depth
constexpr int kSliceBlocks = kPlaneBlocks * P::kernel_d;

// Planes of grad_y that the taps of a block read, and the taps of a plane, which are kStep positions apart.
constexpr int kPeriodH = P::stride_h / greatest_common_divisor(P::stride_h, P::dilation_h);
constexpr int kPeriodW = P::stride_w / greatest_common_divisor(P::stride_w, P::dilation_w);
constexpr int kPlanesH = smaller(P::taps_h, kPeriodH);
constexpr int kPlanesW = smaller(P::taps_w, kPeriodW);
constexpr int kStepH = P::dilation_h / greatest_common_divisor(P::stride_h, P::dilation_h);
constexpr int kStepW = P::dilation_w / greatest_common_divisor(P::stride_w, P::dilation_w);
constexpr int kHaloH = (ceil_div(P::taps_h, kPeriodH) - 1) * kStepH;
constexpr int kHaloW = (ceil_div(P::taps_w, kPeriodW) - 1) * kStepW;
constexpr int kPlanes = kPlanesH * kPlanesW;

// Whether as many taps of an axis as its stride, from the padding on, read each value of grad_y once.
__host__ __device__ constexpr bool are_read_once(int kernel, int stride, int padding, int output_padding,
                                                 int dilation) {
  return dilation == 1 && padding >= 0 && padding + stride <= kernel && kernel + output_padding - 2 * padding <= stride;
}
