// What a chip's instructions can do, as far as kernels use it: which chips have it stands in target.cpp, which
// templates need it in their planners, which device primitive is part of it in the specializer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace convtgen {

// clang-format off
// FEATURE(enumerator, name in messages).
#define CONVTGEN_FEATURES(FEATURE) \
  FEATURE(kLdmatrix, "ldmatrix") \
  FEATURE(kMmaF16K8, "mma.sync m16n8k8 of f16") \
  FEATURE(kMmaF16, "mma.sync m16n8k16 of f16") \
  FEATURE(kMmaBf16, "mma.sync of bf16") \
  FEATURE(kMmaTf32, "mma.sync of tf32") \
  FEATURE(kPackedConvert, "conversions of two floats to 16 bits") \
  FEATURE(kTf32Convert, "cvt.rn.tf32") \
  FEATURE(kCpAsync, "cp.async") \
  FEATURE(kMbarrier, "mbarriers") \
  FEATURE(kStmatrix, "stmatrix") \
  FEATURE(kTma, "TMA") /* with the mbarriers that count its bytes */ \
  FEATURE(kCluster, "clusters") \
  FEATURE(kPdl, "programmatic dependent launches") \
  FEATURE(kElect, "elect.sync") \
  FEATURE(kSetmaxnreg, "setmaxnreg") \
  FEATURE(kWgmma, "wgmma")
// clang-format on

enum class Feature : std::uint8_t {
#define CONVTGEN_ENUMERATOR(enumerator, name) enumerator,
  CONVTGEN_FEATURES(CONVTGEN_ENUMERATOR)
#undef CONVTGEN_ENUMERATOR
};

/// In the order of the enumerators.
inline constexpr std::array kAllFeatures = {
#define CONVTGEN_ELEMENT(enumerator, name) Feature::enumerator,
    CONVTGEN_FEATURES(CONVTGEN_ELEMENT)
#undef CONVTGEN_ELEMENT
};

[[nodiscard]] constexpr std::string_view name_of(Feature feature) {
  constexpr std::array<std::string_view, kAllFeatures.size()> kNames = {
#define CONVTGEN_TEXT(enumerator, name) name,
      CONVTGEN_FEATURES(CONVTGEN_TEXT)
#undef CONVTGEN_TEXT
  };
  return kNames[static_cast<std::size_t>(feature)];
}

/// A set of them.
class Features {
 public:
  constexpr Features() = default;
  constexpr Features(std::initializer_list<Feature> features) {
    for (const Feature feature : features) {
      bits_ |= bit(feature);
    }
  }
  [[nodiscard]] constexpr bool has(Feature feature) const { return (bits_ & bit(feature)) != 0; }
  [[nodiscard]] constexpr bool has_all(Features others) const { return (others.bits_ & ~bits_) == 0; }
  [[nodiscard]] constexpr Features operator+(Features others) const {
    Features all;
    all.bits_ = bits_ | others.bits_;
    return all;
  }
  constexpr bool operator==(const Features&) const = default;

 private:
  [[nodiscard]] static constexpr std::uint32_t bit(Feature feature) {
    return std::uint32_t{1} << static_cast<unsigned>(feature);
  }
  std::uint32_t bits_ = 0;
};

}  // namespace convtgen
