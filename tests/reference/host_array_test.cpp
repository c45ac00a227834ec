#include "runtime/reference/host_array.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/reference/numbers.h"

namespace convtgen {
namespace {

TEST(HostArray, ElementsAreRoundedToTheDtype) {
  for (const Dtype dtype : {Dtype::kF64, Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    HostArray array = make_array(dtype, {2, 3});
    EXPECT_EQ(array.size(), 6);
    EXPECT_EQ(array.bytes.size(), 6U * static_cast<unsigned>(bytes_of(dtype)));
    EXPECT_EQ(array.at(5), 0.0);
    array.set(4, 1.0 / 3);
    EXPECT_EQ(array.at(4), round_to(dtype, 1.0 / 3));
    EXPECT_EQ(array.at(3), 0.0);
    EXPECT_EQ(array.at(5), 0.0);
  }
}

TEST(HostArray, RandomNumbersDependOnSeedAndIndexAlone) {
  const HostArray a = random_array(Dtype::kF32, {200'000}, 7, 2.0);
  const HostArray again = random_array(Dtype::kF32, {200'000}, 7, 2.0);
  const HostArray longer = random_array(Dtype::kF32, {2, 150'000}, 7, 2.0);
  const HostArray other = random_array(Dtype::kF32, {200'000}, 8, 2.0);
  EXPECT_EQ(a.bytes, again.bytes);
  EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), longer.bytes.begin()));
  int same = 0;
  double sum = 0, squares = 0, least = 9, most = -9;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    same += a.at(i) == other.at(i) ? 1 : 0;
    sum += a.at(i);
    squares += a.at(i) * a.at(i);
    least = std::min(least, a.at(i));
    most = std::max(most, a.at(i));
  }
  EXPECT_LT(same, 20);
  EXPECT_NEAR(sum / 200'000, 0.0, 0.02);
  EXPECT_NEAR(squares / 200'000, 4.0 / 3, 0.02);  // variance of a uniform in [-2, 2)
  EXPECT_GE(least, -2.0);
  EXPECT_LE(most, 2.0);
}

}  // namespace
}  // namespace convtgen
