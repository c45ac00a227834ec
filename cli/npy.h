// Arrays in NumPy's .npy files (format versions 1 to 3,
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
//
// xtensor's reader (xnpy.hpp) was tried and does not serve: it lacks f2, requires one order of the header's keys, and
// reads the length of some long headers as negative.
#pragma once

#include <string>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/support/error.h"
#include "runtime/reference/host_array.h"

namespace convtgen::cli {

/// NumPy's name of what holds a dtype: float64, float32, float16, and uint16 for the bit patterns of bf16.
[[nodiscard]] std::string_view numpy_name(Dtype dtype);

/// Reads an array of the given dtype, in C order and little-endian; for bf16 also one of ml_dtypes' bfloat16.
/// Errors, each with the file's name: it can't be read, is no .npy file, is cut short, holds another dtype, byte order
/// or Fortran order.
[[nodiscard]] Result<HostArray> read_npy(const std::string& path, Dtype dtype);

/// The bytes of a .npy file, version 1.0.
[[nodiscard]] std::string npy_bytes(const HostArray& array);

}  // namespace convtgen::cli
