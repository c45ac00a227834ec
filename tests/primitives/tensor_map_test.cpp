// The limits of tensor maps.
#include "generator/recipe/tensor_map.h"

#include <gtest/gtest.h>

namespace convtgen {
namespace {

TensorMap legal() {
  TensorMap map{.element = TensorMap::Element::kF16, .rank = 3, .address = 0x10000};
  map.sizes = {64, 7, 5};
  map.pitches = {2, 128, 896};
  map.box = {64, 3, 2};
  map.swizzle = TensorMap::Swizzle::k128;
  return map;
}

template <typename Change>
std::string message_after(Change change) {
  TensorMap map = legal();
  change(map);
  const Result<void> checked = check_tensor_map(map);
  return checked ? "" : checked.error().message;
}

TEST(TensorMapTest, TakesWhatIsLegal) {
  EXPECT_EQ(message_after([](TensorMap&) {}), "");
  EXPECT_EQ(message_after([](TensorMap& map) { map.sizes[2] = std::uint64_t{1} << 32; }), "");
  EXPECT_EQ(message_after([](TensorMap& map) { map.box[1] = 256; }), "");
  EXPECT_EQ(message_after([](TensorMap& map) { map.pitches[2] = (std::uint64_t{1} << 40) - 16; }), "");
  EXPECT_EQ(message_after([](TensorMap& map) { map.steps[1] = 8; }), "");
  EXPECT_EQ(message_after([](TensorMap& map) { map.fill = TensorMap::Fill::kNan; }), "");
}

TEST(TensorMapTest, NamesWhatIsBeyondItsLimits) {
  EXPECT_EQ(message_after([](TensorMap& map) { map.rank = 0; }), "tensor map: rank is 0; legal are 1 to 5");
  EXPECT_EQ(message_after([](TensorMap& map) { map.rank = 6; }), "tensor map: rank is 6; legal are 1 to 5");
  EXPECT_EQ(message_after([](TensorMap& map) { map.address = 0x10008; }),
            "tensor map: address is 0x10008; legal are multiples of 16, not null");
  EXPECT_EQ(message_after([](TensorMap& map) { map.address = 0; }),
            "tensor map: address is 0x0; legal are multiples of 16, not null");
  EXPECT_EQ(message_after([](TensorMap& map) { map.sizes[1] = 0; }),
            "tensor map: sizes[1] is 0; legal are 1 to 4294967296");
  EXPECT_EQ(message_after([](TensorMap& map) { map.sizes[1] = (std::uint64_t{1} << 32) + 1; }),
            "tensor map: sizes[1] is 4294967297; legal are 1 to 4294967296");
  EXPECT_EQ(message_after([](TensorMap& map) { map.pitches[1] = 136; }),
            "tensor map: pitches[1] is 136 bytes; legal are multiples of 16 below 1099511627776");
  EXPECT_EQ(message_after([](TensorMap& map) { map.pitches[2] = std::uint64_t{1} << 40; }),
            "tensor map: pitches[2] is 1099511627776 bytes; legal are multiples of 16 below 1099511627776");
  EXPECT_EQ(message_after([](TensorMap& map) { map.box[2] = 0; }), "tensor map: box[2] is 0; legal are 1 to 256");
  EXPECT_EQ(message_after([](TensorMap& map) { map.box[2] = 257; }), "tensor map: box[2] is 257; legal are 1 to 256");
  EXPECT_EQ(message_after([](TensorMap& map) { map.box[0] = 60; }),
            "tensor map: box[0] is 60 elements, 120 bytes; legal are multiples of 16 bytes");
  EXPECT_EQ(message_after([](TensorMap& map) { map.swizzle = TensorMap::Swizzle::k64; }),
            "tensor map: box[0] is 128 bytes; with swizzle 64 legal are at most 64");
  EXPECT_EQ(message_after([](TensorMap& map) { map.steps[2] = 9; }), "tensor map: steps[2] is 9; legal are 1 to 8");
  EXPECT_EQ(message_after([](TensorMap& map) { map.steps[2] = 0; }), "tensor map: steps[2] is 0; legal are 1 to 8");
  EXPECT_EQ(message_after([](TensorMap& map) { map.steps[0] = 2; }),
            "tensor map: steps[0] is 2; the innermost dimension has 1 alone");
  EXPECT_EQ(message_after([](TensorMap& map) {
              map.element = TensorMap::Element::kU16;
              map.fill = TensorMap::Fill::kNan;
            }),
            "tensor map: fill is NaN for elements that are integers; legal is zero");
}

TEST(TensorMapTest, CountsTheBytesOfABox) {
  TensorMap map = legal();
  EXPECT_EQ(box_bytes(map), 64u * 3 * 2 * 2);
  map.steps = {1, 2, 8, 1, 1};
  EXPECT_EQ(box_bytes(map), 64u * 2 * 1 * 2);
  EXPECT_EQ(swizzle_bytes(TensorMap::Swizzle::kNone), 0);
  EXPECT_EQ(swizzle_bytes(TensorMap::Swizzle::k32), 32);
  EXPECT_EQ(swizzle_bytes(TensorMap::Swizzle::k128), 128);
}

}  // namespace
}  // namespace convtgen
