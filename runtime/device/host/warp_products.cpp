// mma.sync: what the lanes of a warp do together, and at once.
#include <array>
#include <cstring>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/tensor_float.h"
#include "runtime/device/host/warpgroup.h"
#include "runtime/device/host/worker.h"

namespace convtgen::host {
namespace {

constexpr std::size_t kProductRows = 16, kProductColumns = 8, kMostProductK = 16;

// What a lane brings. Lanes that came to a primitive of one name brought the same shape and type.
struct WarpProduct {
  float* d = nullptr;
  const unsigned* a = nullptr;
  const unsigned* b = nullptr;
  std::uint32_t k = 0;
  WgmmaElement element = WgmmaElement::kF16;
};

const WarpProduct& brought_product(std::uint64_t operand) {
  return *reinterpret_cast<const WarpProduct*>(operand);
}

// Elements of a register.
std::size_t packed(WgmmaElement element) {
  return element == WgmmaElement::kTf32 ? 1 : 2;
}

// Element i of registers.
float element_of(const unsigned* registers, std::size_t i, WgmmaElement element) {
  unsigned word = 0;
  std::memcpy(&word, registers + i / packed(element), sizeof(word));
  if (element == WgmmaElement::kTf32) {
    return truncate_tf32(word);
  }
  const auto bits = static_cast<std::uint16_t>(word >> (i % 2 * 16));
  return element == WgmmaElement::kF16 ? f16_value(bits) : bf16_value(bits);
}

std::optional<Fault> multiply_in_warp(Worker& /*worker*/, std::uint32_t /*first*/,
                                      std::span<std::uint64_t, kWarp> operands) {
  const std::size_t k = brought_product(operands[0]).k;
  std::array<float, kProductRows * kMostProductK> a{};
  std::array<float, kProductColumns * kMostProductK> b{};
  std::array<float, kProductRows * kProductColumns> d{};
  const auto place_of_d = [](std::uint32_t lane, int i) {
    const WgmmaPlace place = wgmma_accumulator(static_cast<int>(lane), i);
    return static_cast<std::size_t>(place.row) * kProductColumns + static_cast<std::size_t>(place.column);
  };
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    const WarpProduct& mine = brought_product(operands[lane]);
    for (std::size_t i = 0; i < k / 2; ++i) {
      const WgmmaPlace place = wgmma_a_fragment(mine.element, static_cast<int>(lane), static_cast<int>(i));
      a[static_cast<std::size_t>(place.row) * k + static_cast<std::size_t>(place.column)] =
          element_of(mine.a, i, mine.element);
    }
    const std::size_t adjacent = packed(mine.element);
    for (std::size_t i = 0; i < k / 4; ++i) {
      const std::size_t column = lane % 4 * adjacent + i % adjacent + i / adjacent * (4 * adjacent);
      b[lane / 4 * k + column] = element_of(mine.b, i, mine.element);
    }
    for (int i = 0; i < 4; ++i) {
      std::memcpy(&d[place_of_d(lane, i)], mine.d + i, sizeof(float));
    }
  }
  const WgmmaShape shape{.rows = kProductRows, .n = kProductColumns, .k = static_cast<int>(k)};
  multiply_wgmma(d, std::span(a).first(kProductRows * k), std::span(b).first(kProductColumns * k), shape, true);
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    for (int i = 0; i < 4; ++i) {
      std::memcpy(brought_product(operands[lane]).d + i, &d[place_of_d(lane, i)], sizeof(float));
    }
  }
  return std::nullopt;
}

void warp_product(float* d, const unsigned* a, const unsigned* b, unsigned k, int element, const char* name, void* pc) {
  Worker& worker = Worker::current();
  const WarpProduct mine{d, a, b, k, static_cast<WgmmaElement>(element)};
  const std::size_t adjacent = packed(mine.element);
  worker.check_range(address_of(a), k / 2 / adjacent * sizeof(unsigned), false, address_of(pc));
  worker.check_range(address_of(b), k / 4 / adjacent * sizeof(unsigned), false, address_of(pc));
  worker.check_range(address_of(d), 4 * sizeof(float), true, address_of(pc));
  worker.act_in_warp(name, multiply_in_warp, address_of(&mine), address_of(pc));
}

}  // namespace

void add_warp_products(ConvtgenHostTable& table) {
  table.warp_product = warp_product;
}

}  // namespace convtgen::host
