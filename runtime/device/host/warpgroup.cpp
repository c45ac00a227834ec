#include "runtime/device/host/warpgroup.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "runtime/device/host/tensor_float.h"

namespace convtgen::host {
namespace {

constexpr std::uint32_t kField = 0x3fff;  // 14 bits that count 16 bytes
constexpr int kMaxN = 256;

std::uint32_t element_size(WgmmaElement element) {
  return element == WgmmaElement::kTf32 ? 4 : 2;
}

float element_at(const std::byte* from, WgmmaElement element) {
  if (element == WgmmaElement::kTf32) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, from, sizeof(bits));
    return truncate_tf32(bits);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof(bits));
  return element == WgmmaElement::kF16 ? f16_value(bits) : bf16_value(bits);
}

}  // namespace

WgmmaDescriptor decode_wgmma_descriptor(std::uint64_t bits) {
  constexpr std::array<std::uint32_t, 4> kSwizzles{0, 128, 64, 32};
  const auto field = [&](int shift) { return (static_cast<std::uint32_t>(bits >> shift) & kField) << 4; };
  return {.start = field(0),
          .leading = field(16),
          .stride = field(32),
          .base_offset = static_cast<std::uint32_t>(bits >> 49) & 7U,
          .swizzle = kSwizzles[bits >> 62]};
}

int wgmma_k(WgmmaElement element) {
  return element == WgmmaElement::kTf32 ? 8 : 16;
}

std::uint32_t wgmma_address(const WgmmaDescriptor& descriptor, const WgmmaOperand& operand, int row_index,
                            int k_index) {
  const std::uint32_t size = element_size(operand.element);
  const std::uint32_t chunk = 16 / size;
  const std::uint32_t swizzle = descriptor.swizzle;
  const auto row = static_cast<std::uint32_t>(row_index);
  const auto k = static_cast<std::uint32_t>(k_index);
  std::uint32_t offset = 0;
  if (!operand.mn_major) {
    offset = row / 8 * descriptor.stride;
    offset +=
        swizzle == 0 ? row % 8 * 16 + k / chunk * descriptor.leading + k % chunk * size : row % 8 * swizzle + k * size;
  } else if (swizzle == 0) {
    offset = row / 8 * descriptor.stride + row % 8 * 2 + k % 8 * 16 + k / 8 * descriptor.leading;
  } else {
    const std::uint32_t span = swizzle / 2;
    offset = row / span * descriptor.leading + row % span * 2 + k % 8 * swizzle + k / 8 * descriptor.stride;
  }
  const std::uint32_t address = descriptor.start + offset;
  // 1, 2 or 3 bits from bit 7 on, upon those from bit 4 on.
  return swizzle == 0 ? address : address ^ ((address >> 3) & (swizzle / 16 - 1) << 4);
}

Result<std::vector<float>> gather_wgmma(std::span<const std::byte> shared, std::uint64_t bits,
                                        const WgmmaOperand& operand) {
  const WgmmaDescriptor descriptor = decode_wgmma_descriptor(bits);
  if (descriptor.base_offset != 0) {
    return fail(fmt::format("wgmma descriptor: base_offset is {}; it must be 0", descriptor.base_offset));
  }
  if (operand.mn_major && operand.element == WgmmaElement::kTf32) {
    return fail("wgmma: a tf32 operand is MN-major; only f16 and bf16 ones may be");
  }
  const int k_count = wgmma_k(operand.element);
  const std::uint32_t size = element_size(operand.element);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(operand.rows * k_count));
  for (int row = 0; row < operand.rows; ++row) {
    for (int k = 0; k < k_count; ++k) {
      const std::uint32_t address = wgmma_address(descriptor, operand, row, k);
      if (std::size_t{address} + size > shared.size()) {
        return fail(
            fmt::format("wgmma descriptor: start {}, leading {}, stride {}, swizzle {}: element ({}, {}) is at "
                        "{}, outside of the {} bytes of shared memory",
                        descriptor.start, descriptor.leading, descriptor.stride, descriptor.swizzle, row, k, address,
                        shared.size()));
      }
      values.push_back(element_at(shared.data() + address, operand.element));
    }
  }
  return values;
}

WgmmaPlace wgmma_accumulator(int thread, int i) {
  return {.row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, .column = i / 4 * 8 + thread % 4 * 2 + i % 2};
}

WgmmaPlace wgmma_a_fragment(WgmmaElement element, int thread, int i) {
  const int row = thread / 32 * 16 + thread % 32 / 4;
  if (element == WgmmaElement::kTf32) {
    return {.row = row + i % 2 * 8, .column = thread % 4 + i / 2 * 4};
  }
  return {.row = row + i / 2 % 2 * 8, .column = thread % 4 * 2 + i % 2 + i / 4 * 8};
}

void multiply_wgmma(std::span<float> d, std::span<const float> a, std::span<const float> b, int n, int k,
                    bool accumulate) {
  const auto columns = static_cast<std::size_t>(n);
  const auto depth = static_cast<std::size_t>(k);
  std::vector<double> turned(columns * depth);  // [k][n], so that the inner loop is contiguous
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t i = 0; i < depth; ++i) {
      turned[i * columns + column] = b[column * depth + i];
    }
  }
  std::array<double, kMaxN> sum{};
  for (std::size_t row = 0; row < 64; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      sum[column] = accumulate ? d[row * columns + column] : 0.0;
    }
    for (std::size_t i = 0; i < depth; ++i) {
      const double factor = a[row * depth + i];
      const double* line = &turned[i * columns];
      for (std::size_t column = 0; column < columns; ++column) {
        sum[column] += factor * line[column];
      }
    }
    for (std::size_t column = 0; column < columns; ++column) {
      d[row * columns + column] = static_cast<float>(sum[column]);
    }
  }
}

}  // namespace convtgen::host
