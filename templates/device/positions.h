// Positions of outputs, for templates of forward layers whose kernels have no dilation.
// Needs `Parameters` with the layer's kernel, strides and paddings.
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

// Along an axis an output has position m = (output + padding) / stride and phase (output + padding) % stride. Tap
// stride * t + phase reads the input at m - t.
static_assert((Parameters::dilation_h == 1 || Parameters::kernel_h == 1) &&
                  (Parameters::dilation_w == 1 || Parameters::kernel_w == 1),
              "the taps of a phase are a stride apart");
constexpr int kTaps = Parameters::kernel_h * Parameters::kernel_w;
constexpr int kReachH = ceil_div(Parameters::kernel_h, Parameters::stride_h);  // taps of a phase
constexpr int kReachW = ceil_div(Parameters::kernel_w, Parameters::stride_w);

// Positions that have outputs: from the first to some beyond the input's end.
constexpr int kFirstH = Parameters::padding_h / Parameters::stride_h;
constexpr int kFirstW = Parameters::padding_w / Parameters::stride_w;
constexpr int kBeyondH =
    floor_div(Parameters::kernel_h - 1 + Parameters::output_padding_h - Parameters::padding_h, Parameters::stride_h);
constexpr int kBeyondW =
    floor_div(Parameters::kernel_w - 1 + Parameters::output_padding_w - Parameters::padding_w, Parameters::stride_w);
