#include "runtime/device/host/tensor_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/device/host/tensor_float.h"

namespace convtgen::host {
namespace {

constexpr std::uint32_t kSwizzleChunk = 16;  // bytes; what swizzles move about
constexpr std::uint32_t kSharedAlignment = 128;
constexpr std::uint64_t kMaxShared = 227 * 1024;  // bytes of a block, on every chip that has TMA
constexpr std::uint16_t kNan = 0x7ff7;

// Where a row of the box lies in its dimension 0: elements [begin, end) of it are inside.
struct Inside {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// Bytes from one row to the next in shared memory.
std::uint32_t shared_pitch(const TensorMap& map) {
  const auto row = static_cast<int>(map.box[0]) * element_bytes(map.element);
  return static_cast<std::uint32_t>(std::max(row, swizzle_bytes(map.swizzle)));
}

Result<void> check_copy(const TensorMap& map, const BoxCoordinates& coordinates, std::uint32_t shared_address,
                        bool store) {
  if (shared_address % kSharedAlignment != 0) {
    return fail(
        fmt::format("TMA: the shared address is {:#x}; legal are multiples of {}", shared_address, kSharedAlignment));
  }
  const auto element = static_cast<std::uint32_t>(element_bytes(map.element));
  const std::uint64_t span = box_bytes(map) / (map.box[0] * element) * shared_pitch(map);
  if (span > kMaxShared) {
    return fail(fmt::format("TMA: the box takes {} bytes of shared memory; a block has at most {}", span, kMaxShared));
  }
  const std::int64_t first = std::int64_t{coordinates[0]} * element;
  if (first % kSwizzleChunk != 0) {
    return fail(fmt::format("TMA: coordinate 0 is {} elements, {} bytes; legal are multiples of {} bytes",
                            coordinates[0], first, kSwizzleChunk));
  }
  for (std::size_t d = 0; store && d < static_cast<std::size_t>(map.rank); ++d) {
    if (coordinates[d] < 0) {
      return fail(fmt::format("TMA: coordinate {} of a store is {}; legal are 0 and more", d, coordinates[d]));
    }
  }
  return {};
}

// Takes the rows of a box one by one and cuts them into pieces.
class Cutter {
 public:
  Cutter(const TensorMap& map, bool store)
      : element_(static_cast<std::uint32_t>(element_bytes(map.element))),
        swizzle_(static_cast<std::uint32_t>(swizzle_bytes(map.swizzle))),
        store_(store) {
    const std::uint64_t bytes = box_bytes(map);
    pieces_.reserve(bytes / (swizzle_ == 0 ? map.box[0] * element_ : kSwizzleChunk));
  }

  // `global` is where element 0 of the row is or would be, `shared` that before the swizzle.
  void cut_row(std::uint64_t global, std::uint32_t shared, std::uint32_t elements, Inside inside) {
    cut(global, shared, 0, inside.begin, false);
    cut(global, shared, inside.begin, inside.end, true);
    cut(global, shared, inside.end, elements, false);
  }

  std::vector<BoxPiece> take() { return std::move(pieces_); }

 private:
  void cut(std::uint64_t global, std::uint32_t shared, std::uint32_t begin, std::uint32_t end, bool inside) {
    if (store_ && !inside) {
      return;
    }
    const std::uint32_t stop = end * element_;
    for (std::uint32_t at = begin * element_; at < stop;) {
      const std::uint32_t next =
          swizzle_ == 0 ? stop : std::min(stop, at / kSwizzleChunk * kSwizzleChunk + kSwizzleChunk);
      pieces_.push_back({inside ? global + at : 0, swizzled(shared + at), next - at, inside});
      at = next;
    }
  }

  [[nodiscard]] std::uint32_t swizzled(std::uint32_t address) const {
    const std::uint32_t bits = swizzle_ == 0 ? 0 : (swizzle_ / kSwizzleChunk - 1) * kSwizzleChunk;
    return address ^ (address >> 3 & bits);
  }

  std::uint32_t element_;
  std::uint32_t swizzle_;
  bool store_;
  std::vector<BoxPiece> pieces_;
};

}  // namespace

Result<std::vector<BoxPiece>> box_pieces(const TensorMap& map, const BoxCoordinates& coordinates,
                                         std::uint32_t shared_address, bool store) {
  if (const Result<void> legal = check_copy(map, coordinates, shared_address, store); !legal) {
    return std::unexpected(legal.error());
  }
  const auto rank = static_cast<std::size_t>(map.rank);
  const std::uint32_t elements = map.box[0];
  const std::uint32_t pitch = shared_pitch(map);
  const std::int64_t first = coordinates[0];
  const auto begin = std::clamp<std::int64_t>(-first, 0, elements);
  const auto end = std::clamp<std::int64_t>(static_cast<std::int64_t>(map.sizes[0]) - first, 0, elements);
  const Inside inner{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};

  Cutter cutter(map, store);
  // How far the row is from the first one in dimensions 1 and up: elements, a multiple of the steps.
  std::array<std::uint32_t, kMaxTensorRank> offset{};
  for (std::uint32_t shared = shared_address;; shared += pitch) {
    // Modulo 2^64: only addresses of what is inside are used.
    std::uint64_t global =
        map.address + static_cast<std::uint64_t>(first) * static_cast<std::uint64_t>(element_bytes(map.element));
    bool inside = true;
    for (std::size_t d = 1; d < rank; ++d) {
      const std::int64_t at = std::int64_t{coordinates[d]} + offset[d];
      inside = inside && static_cast<std::uint64_t>(at) < map.sizes[d];  // a negative one is large
      global += static_cast<std::uint64_t>(at) * map.pitches[d];
    }
    cutter.cut_row(global, shared, elements, inside ? inner : Inside{});
    std::size_t d = 1;
    while (d < rank && (offset[d] += map.steps[d]) >= map.box[d]) {
      offset[d++] = 0;
    }
    if (d >= rank) {
      return cutter.take();
    }
  }
}

void load_piece(const TensorMap& map, const BoxPiece& piece, std::byte* to, const std::byte* from) {
  if (!piece.inside) {
    if (map.fill == TensorMap::Fill::kZero) {
      std::memset(to, 0, piece.bytes);
      return;
    }
    for (std::uint32_t at = 0; at < piece.bytes; at += sizeof(kNan)) {
      std::memcpy(to + at, &kNan, sizeof(kNan));
    }
    return;
  }
  if (map.element != TensorMap::Element::kTf32) {
    std::memcpy(to, from, piece.bytes);
    return;
  }
  for (std::uint32_t at = 0; at < piece.bytes; at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, from + at, sizeof(value));
    const std::uint32_t bits = round_tf32_even(value);
    std::memcpy(to + at, &bits, sizeof(bits));
  }
}

}  // namespace convtgen::host
