// What a TMA copy of a box moves, against a model that goes element by element.
#include "runtime/device/host/tensor_box.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace convtgen::host {
namespace {

using Bytes = std::vector<std::byte>;
using Element = TensorMap::Element;
using Swizzle = TensorMap::Swizzle;

constexpr std::uint64_t kArray = 0x7f0000001000;
constexpr std::byte kUntouched{0xa5};

std::size_t rank_of(const TensorMap& map) {
  return static_cast<std::size_t>(map.rank);
}

std::size_t bytes_of(const TensorMap& map) {
  return static_cast<std::size_t>(element_bytes(map.element));
}

// Bytes from the first to after the last element.
std::size_t array_bytes(const TensorMap& map) {
  std::size_t last = map.sizes[0] * bytes_of(map);
  for (std::size_t d = 1; d < rank_of(map); ++d) {
    last += (map.sizes[d] - 1) * map.pitches[d];
  }
  return last;
}

// f32 bits to the nearest with 13 zeros at the end, the even one of two: whichever is less far away.
std::uint32_t nearest_tf32(std::uint32_t bits) {
  const auto value = std::bit_cast<float>(bits);
  if (std::isnan(value)) {
    return 0x7fffe000;
  }
  if (std::isinf(value)) {
    return bits;
  }
  const std::uint32_t below = bits & 0xffffe000U;
  const std::uint32_t above = below + 0x2000U;
  const double top = std::isinf(std::bit_cast<float>(above)) ? std::ldexp(1.0, 128) : std::bit_cast<float>(above);
  const double to_below = std::abs(double{value}) - std::abs(double{std::bit_cast<float>(below)});
  const double to_above = std::abs(top) - std::abs(double{value});
  if (to_below == to_above) {
    return (below & 0x2000U) == 0 ? below : above;
  }
  return to_below < to_above ? below : above;
}

bool is_nan(const std::byte* at, Element element) {
  std::uint64_t bits = 0;
  const auto size = static_cast<std::size_t>(element_bytes(element));
  std::memcpy(&bits, at, size);
  const int mantissa = element == Element::kF16    ? 10
                       : element == Element::kBf16 ? 7
                       : element == Element::kF64  ? 52
                                                   : 23;
  const std::uint64_t infinity = (std::uint64_t{1} << (8 * size - 1)) - (std::uint64_t{1} << mantissa);
  return (bits & ~(std::uint64_t{1} << (8 * size - 1))) > infinity;
}

struct Place {
  std::size_t global = 0;  // of the array
  std::size_t shared = 0;  // of the shared window
  bool inside = true;
};

// Every element of the box.
std::vector<Place> places(const TensorMap& map, const BoxCoordinates& coordinates, std::size_t base) {
  const std::size_t element = bytes_of(map);
  const auto width = static_cast<std::size_t>(swizzle_bytes(map.swizzle));
  std::array<std::size_t, kMaxTensorRank> counts{1, 1, 1, 1, 1};
  std::array<std::int64_t, kMaxTensorRank> pitches{};
  std::size_t total = 1;
  for (std::size_t d = 0; d < rank_of(map); ++d) {
    counts[d] = (map.box[d] + map.steps[d] - 1) / map.steps[d];
    pitches[d] = static_cast<std::int64_t>(d == 0 ? element : map.pitches[d]);
    total *= counts[d];
  }
  std::vector<Place> all;
  for (std::size_t i = 0; i < total; ++i) {
    Place place;
    std::int64_t global = 0;
    std::size_t rest = i;
    for (std::size_t d = 0; d < rank_of(map); ++d) {
      const std::int64_t at = coordinates[d] + static_cast<std::int64_t>(rest % counts[d] * map.steps[d]);
      rest /= counts[d];
      place.inside = place.inside && at >= 0 && at < static_cast<std::int64_t>(map.sizes[d]);
      global += at * pitches[d];
    }
    place.global = place.inside ? static_cast<std::size_t>(global) : 0;
    const std::size_t row = counts[0] * element;
    const std::size_t flat = base + i / counts[0] * (row < width ? width : row) + i % counts[0] * element;
    // The chunk of 16 bytes within a width changes places with one that depends on the line of 128 bytes.
    const std::size_t chunks = width == 0 ? 1 : width / 16;
    const std::size_t chunk = flat / 16 % chunks;
    place.shared = flat - chunk * 16 + (chunk ^ (flat / 128 % chunks)) * 16;
    all.push_back(place);
  }
  return all;
}

class Tester {
 public:
  Tester(const TensorMap& map, const BoxCoordinates& coordinates, std::uint32_t base, unsigned seed)
      : map_(map), coordinates_(coordinates), base_(base), random_(seed), array_(noise(array_bytes(map))) {}

  void expect_load() {
    const auto pieces = box_pieces(map_, coordinates_, base_, false);
    ASSERT_TRUE(pieces) << pieces.error().message;
    Bytes shared(kWindow, kUntouched);
    std::uint64_t moved = 0;
    for (const BoxPiece& piece : *pieces) {
      expect_form(piece);
      ASSERT_LE(piece.shared + piece.bytes, shared.size());
      load_piece(map_, piece, &shared[piece.shared], piece.inside ? &array_[piece.global - map_.address] : nullptr);
      moved += piece.bytes;
    }
    EXPECT_EQ(moved, box_bytes(map_));
    std::vector<bool> written(shared.size());
    const std::size_t element = bytes_of(map_);
    for (const Place& place : places(map_, coordinates_, base_)) {
      const std::byte* got = &shared[place.shared];
      for (std::size_t i = 0; i < element; ++i) {
        written[place.shared + i] = true;
      }
      if (!place.inside && map_.fill == TensorMap::Fill::kNan) {
        ASSERT_TRUE(is_nan(got, map_.element)) << place.shared;
        continue;
      }
      Bytes want(element);
      if (place.inside) {
        std::memcpy(want.data(), &array_[place.global], element);
      }
      if (map_.element == Element::kTf32) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, want.data(), sizeof(bits));
        bits = nearest_tf32(bits);
        std::memcpy(want.data(), &bits, sizeof(bits));
      }
      ASSERT_EQ(std::memcmp(got, want.data(), element), 0) << "at " << place.shared;
    }
    for (std::size_t i = 0; i < shared.size(); ++i) {
      ASSERT_TRUE(written[i] || shared[i] == kUntouched) << "at " << i;
    }
  }

  // The pieces of the store by what they write, so that overlapping rows don't matter.
  void expect_store() {
    const auto pieces = box_pieces(map_, coordinates_, base_, true);
    ASSERT_TRUE(pieces) << pieces.error().message;
    std::multiset<std::pair<std::size_t, std::size_t>> got;
    std::multiset<std::pair<std::size_t, std::size_t>> want;
    for (const BoxPiece& piece : *pieces) {
      expect_form(piece);
      EXPECT_TRUE(piece.inside);
      for (std::size_t i = 0; i < piece.bytes; ++i) {
        got.emplace(piece.global - map_.address + i, piece.shared + i);
      }
    }
    for (const Place& place : places(map_, coordinates_, base_)) {
      for (std::size_t i = 0; place.inside && i < bytes_of(map_); ++i) {
        want.emplace(place.global + i, place.shared + i);
      }
    }
    EXPECT_EQ(got, want);
  }

 private:
  static constexpr std::size_t kWindow = 65536;

  Bytes noise(std::size_t bytes) {
    Bytes all(bytes);
    for (std::byte& one : all) {
      one = static_cast<std::byte>(random_());
    }
    return all;
  }

  void expect_form(const BoxPiece& piece) const {
    EXPECT_GT(piece.bytes, 0U);
    EXPECT_EQ(piece.bytes % bytes_of(map_), 0U);
    EXPECT_EQ(piece.inside, piece.global != 0);
    if (map_.swizzle != Swizzle::kNone) {
      EXPECT_EQ(piece.shared / 16, (piece.shared + piece.bytes - 1) / 16);
    }
  }

  TensorMap map_;
  BoxCoordinates coordinates_;
  std::uint32_t base_;
  std::mt19937 random_;
  Bytes array_;
};

// An f32 array of 20 x 6 x 5 x 4 x 3 and a box of 8 x 3 x 2 x 2 x 2.
TensorMap packed(int rank) {
  TensorMap map{.rank = rank, .address = kArray};
  map.sizes = {20, 6, 5, 4, 3};
  map.pitches = {4, 80, 480, 2400, 9600};
  map.box = {8, 3, 2, 2, 2};
  return map;
}

std::string message(const TensorMap& map, const BoxCoordinates& coordinates, std::uint32_t shared, bool store) {
  const auto pieces = box_pieces(map, coordinates, shared, store);
  return pieces ? "" : pieces.error().message;
}

TEST(TensorBox, SpellsOutTheRunsOfARow) {
  const auto pieces = box_pieces(packed(2), {16, 4}, 1024, false);
  ASSERT_TRUE(pieces);
  const std::vector<BoxPiece> want = {{kArray + 4 * 80 + 64, 1024, 16, true},
                                      {0, 1040, 16, false},
                                      {kArray + 5 * 80 + 64, 1056, 16, true},
                                      {0, 1072, 16, false},
                                      {0, 1088, 32, false}};
  EXPECT_EQ(*pieces, want);
}

TEST(TensorBox, LoadsEveryRankFromEverywhere) {
  for (int rank = 1; rank <= kMaxTensorRank; ++rank) {
    for (const BoxCoordinates& place :
         {BoxCoordinates{4, 1, 2, 1, 0}, BoxCoordinates{-4, 4, -1, 3, 2}, BoxCoordinates{16, -3, 1, 0, 0},
          BoxCoordinates{-8, 0, 0, 0, 0}, BoxCoordinates{20, 0, 0, 0, 0}, BoxCoordinates{1 << 30, 0, 0, 0, -(1 << 30)},
          BoxCoordinates{-(1 << 30), 0, 0, 1 << 30, 0}}) {
      SCOPED_TRACE(fmt::format("rank {}, from {}", rank, place[0]));
      Tester(packed(rank), place, 256, 1).expect_load();
    }
  }
}

TEST(TensorBox, FillsOnBothSidesOfANarrowArray) {
  TensorMap map = packed(3);
  map.sizes = {3, 2, 1};
  map.box = {12, 4, 3};
  for (const TensorMap::Fill fill : {TensorMap::Fill::kZero, TensorMap::Fill::kNan}) {
    map.fill = fill;
    Tester(map, {-4, -1, -1}, 128, 2).expect_load();
  }
}

TEST(TensorBox, StoresWhatIsInsideAndLeavesOutTheRest) {
  for (int rank = 1; rank <= kMaxTensorRank; ++rank) {
    SCOPED_TRACE(rank);
    Tester(packed(rank), {4, 1, 2, 1, 0}, 256, 3).expect_store();
    Tester(packed(rank), {16, 4, 4, 3, 2}, 256, 3).expect_store();
    EXPECT_EQ(box_pieces(packed(rank), {20, 0, 0, 0, 0}, 256, true)->size(), 0U);
  }
}

// A box of 16-byte chunks numbered row by row: which chunk lies where, written out.
TEST(TensorBox, SwizzlesByTheAddressInTheWindow) {
  struct Case {
    Swizzle swizzle;
    std::uint32_t base;
    std::vector<std::uint32_t> chunks;
  };
  const std::vector<Case> cases = {
      {Swizzle::k32, 0, {0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 11, 10, 13, 12, 15, 14, 16, 17, 18, 19}},
      {Swizzle::k64, 128, {1, 0, 3, 2, 5, 4, 7, 6, 10, 11, 8, 9, 14, 15, 12, 13, 19, 18, 17, 16}},
      {Swizzle::k128, 0, {0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 11, 10, 13, 12, 15, 14, 18, 19, 16, 17, 22, 23, 20, 21}},
      {Swizzle::k128, 768, {6, 7, 4, 5, 2, 3, 0, 1, 15, 14, 13, 12, 11, 10, 9, 8, 16, 17, 18, 19, 20, 21, 22, 23}},
  };
  for (const Case& one : cases) {
    const auto width = static_cast<std::uint32_t>(swizzle_bytes(one.swizzle));
    TensorMap map{.element = Element::kU16, .rank = 2, .address = kArray, .swizzle = one.swizzle};
    map.sizes = {width / 2, 64};
    map.pitches = {2, width};
    map.box = {width / 2, static_cast<std::uint32_t>(one.chunks.size() * 16 / width)};
    const auto pieces = box_pieces(map, {0, 0}, one.base, false);
    ASSERT_TRUE(pieces);
    ASSERT_EQ(pieces->size(), one.chunks.size());
    for (std::uint32_t i = 0; i < one.chunks.size(); ++i) {
      const BoxPiece want{kArray + i * 16, one.base + one.chunks[i] * 16, 16, true};
      EXPECT_EQ((*pieces)[i], want) << width << " from " << one.base << ", chunk " << i;
    }
  }
}

TEST(TensorBox, GivesNarrowRowsTheWholeWidthOfTheSwizzle) {
  TensorMap map{.element = Element::kF16, .rank = 2, .address = kArray, .swizzle = Swizzle::k128};
  map.sizes = {16, 9};
  map.pitches = {2, 32};
  map.box = {16, 3};
  const auto pieces = box_pieces(map, {0, 2}, 1024, false);
  ASSERT_TRUE(pieces);
  const std::vector<BoxPiece> want = {{kArray + 64, 1024, 16, true},  {kArray + 80, 1040, 16, true},
                                      {kArray + 96, 1168, 16, true},  {kArray + 112, 1152, 16, true},
                                      {kArray + 128, 1312, 16, true}, {kArray + 144, 1328, 16, true}};
  EXPECT_EQ(*pieces, want);
}

TEST(TensorBox, StepsOverElements) {
  TensorMap map = packed(3);
  map.box = {8, 5, 4};
  map.steps = {1, 2, 3, 1, 1};
  const auto pieces = box_pieces(map, {4, 1, 0}, 0, true);
  ASSERT_TRUE(pieces);
  std::vector<BoxPiece> want;
  std::uint32_t shared = 0;
  for (const std::uint64_t z : {0U, 3U}) {
    for (const std::uint64_t y : {1U, 3U, 5U}) {
      want.push_back({kArray + z * 480 + y * 80 + 16, shared, 32, true});
      shared += 32;
    }
  }
  EXPECT_EQ(*pieces, want);
  Tester(map, {-4, 1, 1}, 128, 4).expect_load();
  // Which elements are stepped over is counted from the coordinate, not from where the array begins.
  Tester(map, {0, -1, -2}, 128, 4).expect_load();
  Tester(map, {4, 1, 4}, 128, 4).expect_store();
}

TEST(TensorBox, RoundsTf32ToNearestEven) {
  const std::array<std::uint32_t, 12> from = {0x3f801000, 0x3f803000, 0x3f800fff, 0x3f801001, 0xbf803000, 0x00001000,
                                              0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc00000, 0x7f800001};
  const std::array<std::uint32_t, 12> want = {0x3f800000, 0x3f804000, 0x3f800000, 0x3f802000, 0xbf804000, 0x00000000,
                                              0x7f800000, 0x7f800000, 0xff800000, 0x7fffe000, 0x7fffe000, 0x7fffe000};
  std::array<std::uint32_t, 12> to{};
  TensorMap map{.element = Element::kTf32, .rank = 1, .address = kArray};
  const BoxPiece piece{kArray, 0, sizeof(from), true};
  load_piece(map, piece, reinterpret_cast<std::byte*>(to.data()), reinterpret_cast<const std::byte*>(from.data()));
  EXPECT_EQ(to, want);
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(nearest_tf32(from[i]), want[i]) << "the model, " << i;
  }
  map.element = Element::kF32;
  load_piece(map, piece, reinterpret_cast<std::byte*>(to.data()), reinterpret_cast<const std::byte*>(from.data()));
  EXPECT_EQ(to, from);
}

TEST(TensorBox, FillsWithANanOfEveryFormat) {
  for (const Element element : {Element::kF16, Element::kBf16, Element::kF32, Element::kTf32, Element::kF64}) {
    const TensorMap map{.element = element, .rank = 1, .address = kArray, .fill = TensorMap::Fill::kNan};
    std::array<std::byte, 16> to{};
    load_piece(map, {.global = 0, .shared = 0, .bytes = 16, .inside = false}, to.data(), nullptr);
    for (std::size_t at = 0; at < to.size(); at += bytes_of(map)) {
      EXPECT_TRUE(is_nan(&to[at], element)) << at;
    }
  }
}

TEST(TensorBox, RefusesWhatTheChipRefuses) {
  EXPECT_EQ(message(packed(2), {4, 0}, 128, true), "");
  EXPECT_EQ(message(packed(2), {5, 0}, 128, false),
            "TMA: coordinate 0 is 5 elements, 20 bytes; legal are multiples of 16 bytes");
  EXPECT_EQ(message(packed(2), {-3, 0}, 128, false),
            "TMA: coordinate 0 is -3 elements, -12 bytes; legal are multiples of 16 bytes");
  EXPECT_EQ(message(packed(2), {-4, -7}, 128, false), "");
  EXPECT_EQ(message(packed(2), {-4, 0}, 128, true), "TMA: coordinate 0 of a store is -4; legal are 0 and more");
  EXPECT_EQ(message(packed(2), {0, -1}, 128, true), "TMA: coordinate 1 of a store is -1; legal are 0 and more");
  EXPECT_EQ(message(packed(2), {0, 0, -1}, 128, true), "") << "there is no third dimension";
  EXPECT_EQ(message(packed(2), {0, 0}, 0x410, false), "TMA: the shared address is 0x410; legal are multiples of 128");
  TensorMap large = packed(5);
  large.box = {256, 256, 256, 256, 256};
  EXPECT_EQ(message(large, {}, 128, false),
            "TMA: the box takes 4398046511104 bytes of shared memory; a block has at most 232448");
}

TEST(TensorBox, AgreesWithTheModelOnRandomMaps) {
  std::mt19937 random(7);
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  for (unsigned i = 0; i < 1000; ++i) {
    TensorMap map{.element = static_cast<Element>(pick(0, 7)),
                  .rank = static_cast<int>(pick(1, kMaxTensorRank)),
                  .address = kArray + 16 * pick(0, 9),
                  .swizzle = static_cast<Swizzle>(pick(0, 3))};
    const auto element = static_cast<std::uint32_t>(element_bytes(map.element));
    const auto width = static_cast<std::uint32_t>(swizzle_bytes(map.swizzle));
    if (map.element >= Element::kF16 && pick(0, 1) == 1) {
      map.fill = TensorMap::Fill::kNan;
    }
    map.box[0] = pick(1, width == 0 ? 10 : width / 16) * 16 / element;
    map.sizes[0] = pick(1, 2 * map.box[0]);
    BoxCoordinates coordinates{};
    const auto most = static_cast<int>(map.sizes[0] * element / 16 + 1);
    const auto least = static_cast<int>(map.box[0] * element / 16 + 1);
    const int chunk = static_cast<int>(pick(0, static_cast<std::uint32_t>(most + least))) - least;
    coordinates[0] = chunk * 16 / static_cast<int>(element);
    for (std::size_t d = 1; d < rank_of(map); ++d) {
      map.sizes[d] = pick(1, 6);
      map.pitches[d] = 16 * pick(1, 40);  // rows may overlap
      map.box[d] = pick(1, map.rank > 3 ? 4 : 9);
      map.steps[d] = pick(0, 1) == 0 ? 1 : pick(1, 8);
      coordinates[d] = static_cast<int>(pick(0, 14)) - 6;
    }
    const Result<void> legal = check_tensor_map(map);
    ASSERT_TRUE(legal) << legal.error().message;
    SCOPED_TRACE(fmt::format("map {}, rank {}, box[0] {}, swizzle {}", i, map.rank, map.box[0], width));
    const std::uint32_t base = 128 * pick(0, 9);
    Tester(map, coordinates, base, i).expect_load();
    for (int& coordinate : coordinates) {
      coordinate = std::max(coordinate, 0);
    }
    Tester(map, coordinates, base, i).expect_store();
    if (HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace convtgen::host
