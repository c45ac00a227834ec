// ldmatrix and stmatrix: what the lanes of a warp do together, and at once.
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

}  // namespace

void add_matrices(ConvtgenHostTable& table) {
  table.matrix_load = matrix_load;
  table.matrix_store = matrix_store;
}

}  // namespace convtgen::host
