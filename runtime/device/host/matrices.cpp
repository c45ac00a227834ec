// ldmatrix, stmatrix and mma.sync: what the lanes of a warp do together, and at once.
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/matrix.h"
#include "runtime/device/host/worker.h"

namespace convtgen::host {
namespace {

constexpr std::uint32_t kRowBytes = 16;

// What a lane brings. Lanes that came to a primitive of one name brought equal counts and kinds.
struct Move {
  void* row = nullptr;
  unsigned* values = nullptr;
  const unsigned* stored = nullptr;
  std::uint32_t count = 0;
  bool transposed = false;
};

struct Multiplication {
  float* d = nullptr;
  const unsigned* a = nullptr;
  const unsigned* b = nullptr;
  MmaElement element = MmaElement::kF16;
  std::uint32_t k = 0;

  [[nodiscard]] bool whole() const { return k == (element == MmaElement::kTf32 ? 8 : 16); }
  [[nodiscard]] std::uint32_t a_registers() const { return whole() ? 4 : 2; }
  [[nodiscard]] std::uint32_t b_registers() const { return whole() ? 2 : 1; }
};

template <typename Brought>
const Brought& brought(std::uint64_t operand) {
  return *reinterpret_cast<const Brought*>(operand);
}

const char* name_of_load(const Move& move) {
  switch (move.count) {
    case 1:
      return move.transposed ? "matrix_load_x1_transposed" : "matrix_load_x1";
    case 2:
      return move.transposed ? "matrix_load_x2_transposed" : "matrix_load_x2";
    default:
      return move.transposed ? "matrix_load_x4_transposed" : "matrix_load_x4";
  }
}

const char* name_of_store(const Move& move) {
  switch (move.count) {
    case 1:
      return move.transposed ? "matrix_store_x1_transposed" : "matrix_store_x1";
    case 2:
      return move.transposed ? "matrix_store_x2_transposed" : "matrix_store_x2";
    default:
      return move.transposed ? "matrix_store_x4_transposed" : "matrix_store_x4";
  }
}

const char* name_of(const Multiplication& product) {
  switch (product.element) {
    case MmaElement::kF16:
      return product.whole() ? "mma_m16n8k16_f16" : "mma_m16n8k8_f16";
    case MmaElement::kBf16:
      return product.whole() ? "mma_m16n8k16_bf16" : "mma_m16n8k8_bf16";
    case MmaElement::kTf32:
      return product.whole() ? "mma_m16n8k8_tf32" : "mma_m16n8k4_tf32";
  }
  return "";
}

std::optional<Fault> load(Worker& /*worker*/, std::uint32_t /*first*/, std::span<std::uint64_t, kWarp> operands) {
  const Move& first = brought<Move>(operands[0]);
  MatrixRows rows{};
  for (std::uint32_t lane = 0; lane < 8 * first.count; ++lane) {
    std::memcpy(rows[lane].data(), brought<Move>(operands[lane]).row, kRowBytes);
  }
  const MatrixValues values = load_matrices(rows, static_cast<int>(first.count), first.transposed);
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    std::memcpy(brought<Move>(operands[lane]).values, values[lane].data(), first.count * sizeof(unsigned));
  }
  return std::nullopt;
}

std::optional<Fault> store(Worker& /*worker*/, std::uint32_t /*first*/, std::span<std::uint64_t, kWarp> operands) {
  const Move& first = brought<Move>(operands[0]);
  MatrixValues values{};
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    std::memcpy(values[lane].data(), brought<Move>(operands[lane]).stored, first.count * sizeof(unsigned));
  }
  const MatrixRows rows = store_matrices(values, static_cast<int>(first.count), first.transposed);
  for (std::uint32_t lane = 0; lane < 8 * first.count; ++lane) {
    std::memcpy(brought<Move>(operands[lane]).row, rows[lane].data(), kRowBytes);
  }
  return std::nullopt;
}

std::optional<Fault> multiply(Worker& /*worker*/, std::uint32_t /*first*/, std::span<std::uint64_t, kWarp> operands) {
  const Multiplication& first = brought<Multiplication>(operands[0]);
  MmaAccumulators d{};
  MmaA a{};
  MmaB b{};
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    const Multiplication& own = brought<Multiplication>(operands[lane]);
    std::memcpy(d[lane].data(), own.d, sizeof(d[lane]));
    std::memcpy(a[lane].data(), own.a, first.a_registers() * sizeof(unsigned));
    std::memcpy(b[lane].data(), own.b, first.b_registers() * sizeof(unsigned));
  }
  multiply_mma(d, a, b, first.element, static_cast<int>(first.k));
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    std::memcpy(brought<Multiplication>(operands[lane]).d, d[lane].data(), sizeof(d[lane]));
  }
  return std::nullopt;
}

std::optional<Fault> misplaced(Worker& worker, const char* what, std::uintptr_t row, std::uintptr_t pc) {
  if (!worker.shared_offset(row, kRowBytes)) {
    return worker.misuse(what, pc, "a row is not in the block's shared memory");
  }
  if (row % kRowBytes != 0) {
    return worker.misuse(what, pc, "a row is misaligned; its 16 bytes must lie at a multiple of 16");
  }
  return std::nullopt;
}

// The row of a lane that is used, as an access of its thread.
void check_row(Worker& worker, const char* what, const Move& move, bool write, std::uintptr_t pc) {
  if (worker.thread_in_block() % kWarp < 8 * move.count) {
    worker.raise_if(misplaced(worker, what, address_of(move.row), pc));
    worker.check_range(address_of(move.row), kRowBytes, write, pc);
  }
}

void matrix_load(unsigned* values, const void* row, unsigned count, int transposed, void* pc) {
  Worker& worker = Worker::current();
  const Move move{const_cast<void*>(row), values, nullptr, count, transposed != 0};
  const char* what = name_of_load(move);
  check_row(worker, what, move, false, address_of(pc));
  worker.check_range(address_of(values), count * sizeof(unsigned), true, address_of(pc));
  worker.act_in_warp(what, load, address_of(&move), address_of(pc));
}

void matrix_store(void* row, const unsigned* values, unsigned count, int transposed, void* pc) {
  Worker& worker = Worker::current();
  const Move move{row, nullptr, values, count, transposed != 0};
  const char* what = name_of_store(move);
  worker.check_range(address_of(values), count * sizeof(unsigned), false, address_of(pc));
  check_row(worker, what, move, true, address_of(pc));
  worker.act_in_warp(what, store, address_of(&move), address_of(pc));
}

void matrix_multiply(float* d, const unsigned* a, const unsigned* b, int element, unsigned k, void* pc) {
  Worker& worker = Worker::current();
  const Multiplication product{d, a, b, static_cast<MmaElement>(element), k};
  const std::uintptr_t at = address_of(pc);
  worker.check_range(address_of(a), product.a_registers() * sizeof(unsigned), false, at);
  worker.check_range(address_of(b), product.b_registers() * sizeof(unsigned), false, at);
  worker.check_range(address_of(d), 4 * sizeof(float), true, at);
  worker.act_in_warp(name_of(product), multiply, address_of(&product), at);
}

}  // namespace

void add_matrices(ConvtgenHostTable& table) {
  table.matrix_load = matrix_load;
  table.matrix_store = matrix_store;
  table.matrix_multiply = matrix_multiply;
}

}  // namespace convtgen::host
