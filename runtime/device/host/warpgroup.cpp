#include "runtime/device/host/warpgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/device/host/tensor_float.h"

namespace convtgen::host {
namespace {

constexpr std::uint32_t kField = 0x3fff;  // 14 bits that count 16 bytes
constexpr int kMaxN = 256;
constexpr std::uint32_t kChunk = 16;  // bytes

std::uint32_t element_size(WgmmaElement element) {
  return element == WgmmaElement::kTf32 ? 4 : 2;
}

// 16 bytes: 8 values, or 4 of tf32.
void decode(float* to, const std::byte* from, WgmmaElement element) {
  if (element == WgmmaElement::kTf32) {
    std::array<std::uint32_t, 4> bits{};
    std::memcpy(bits.data(), from, sizeof(bits));
    for (std::size_t i = 0; i < bits.size(); ++i) {
      to[i] = truncate_tf32(bits[i]);
    }
    return;
  }
  std::array<std::uint16_t, 8> bits{};
  std::memcpy(bits.data(), from, sizeof(bits));
  if (element == WgmmaElement::kF16) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      to[i] = f16_value(bits[i]);
    }
  } else {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      to[i] = bf16_value(bits[i]);
    }
  }
}

// Addresses of the operand's chunks of 16 bytes, which every layout and swizzle leaves whole. K-major: two a row, by
// rows; MN-major: 8 rows of one k, K of them for every 8 rows.
Result<std::vector<std::uint32_t>> find_chunks(std::size_t shared_bytes, std::uint64_t bits,
                                               const WgmmaOperand& operand) {
  const WgmmaDescriptor descriptor = decode_wgmma_descriptor(bits);
  if (descriptor.base_offset != 0) {
    return fail(fmt::format("wgmma descriptor: base_offset is {}; it must be 0", descriptor.base_offset));
  }
  if (operand.mn_major && operand.element == WgmmaElement::kTf32) {
    return fail("wgmma: a tf32 operand is MN-major; only f16 and bf16 ones may be");
  }
  const int k_count = wgmma_k(operand.element);
  const int row_step = operand.mn_major ? 8 : 1;
  const int k_step = operand.mn_major ? 1 : k_count / 2;
  std::vector<std::uint32_t> chunks;
  chunks.reserve(static_cast<std::size_t>(operand.rows * 2));
  for (int row = operand.first_row; row < operand.first_row + operand.rows; row += row_step) {
    for (int k = 0; k < k_count; k += k_step) {
      const std::uint32_t address = wgmma_address(descriptor, operand, row, k);
      if (std::size_t{address} + kChunk > shared_bytes) {
        return fail(
            fmt::format("wgmma descriptor: start {}, leading {}, stride {}, swizzle {}: the 16 bytes of element ({}, "
                        "{}) are at {}, outside of the {} bytes of shared memory",
                        descriptor.start, descriptor.leading, descriptor.stride, descriptor.swizzle, row, k, address,
                        shared_bytes));
      }
      chunks.push_back(address);
    }
  }
  return chunks;
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

Result<std::vector<float>> gather_wgmma(std::span<const std::byte> shared, std::uint64_t descriptor,
                                        const WgmmaOperand& operand) {
  const auto chunks = find_chunks(shared.size(), descriptor, operand);
  if (!chunks) {
    return std::unexpected(chunks.error());
  }
  const auto k_count = static_cast<std::size_t>(wgmma_k(operand.element));
  std::vector<float> values(static_cast<std::size_t>(operand.rows) * k_count);
  for (std::size_t i = 0; i < chunks->size(); ++i) {
    const std::byte* from = shared.data() + (*chunks)[i];
    if (!operand.mn_major) {
      decode(&values[i * (k_count / 2)], from, operand.element);
      continue;
    }
    std::array<float, 8> column{};
    decode(column.data(), from, operand.element);
    for (std::size_t row = 0; row < column.size(); ++row) {
      values[(i / k_count * 8 + row) * k_count + i % k_count] = column[row];
    }
  }
  return values;
}

Result<std::vector<WgmmaPiece>> wgmma_pieces(std::size_t shared_bytes, std::uint64_t descriptor,
                                             const WgmmaOperand& operand) {
  auto chunks = find_chunks(shared_bytes, descriptor, operand);
  if (!chunks) {
    return std::unexpected(chunks.error());
  }
  std::ranges::sort(*chunks);
  std::vector<WgmmaPiece> pieces;
  for (const std::uint32_t address : *chunks) {
    if (pieces.empty() || pieces.back().address + pieces.back().bytes < address) {
      pieces.push_back({.address = address, .bytes = kChunk});
    } else {  // a neighbour, or the same chunk again: pitches may overlap
      pieces.back().bytes = address + kChunk - pieces.back().address;
    }
  }
  return pieces;
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

void multiply_wgmma(std::span<float> d, std::span<const float> a, std::span<const float> b, const WgmmaShape& shape,
                    bool accumulate) {
  const auto rows = static_cast<std::size_t>(shape.rows);
  const auto columns = static_cast<std::size_t>(shape.n);
  const auto depth = static_cast<std::size_t>(shape.k);
  std::vector<double> turned(columns * depth);  // [k][n], so that the inner loop is contiguous
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t i = 0; i < depth; ++i) {
      turned[i * columns + column] = b[column * depth + i];
    }
  }
  std::array<double, kMaxN> sum{};
  for (std::size_t row = 0; row < rows; ++row) {
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
