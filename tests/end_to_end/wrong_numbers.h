// An emitted source that rounds or scales its numbers wrongly in one place.
#pragma once

#include <string>
#include <vector>

namespace convtgen::testing {

/// A source together with mutants of it, so that one compile serves all.
struct Switched {
  std::string text;
  std::vector<std::string> names;  // what a kernel computes while *chosen is 1, 2, ...; 0: what the source says
};

/// Mutants of the logic of f32x3's scales: those that the source has a place for. `*chosen` outlives the kernel.
[[nodiscard]] Switched with_wrong_scales(const std::string& text, const volatile int* chosen);

/// Mutants of the rounding of operands to tf32.
[[nodiscard]] Switched with_wrong_rounding(const std::string& text, const volatile int* chosen);

/// Mutants of what x becomes by `fuse_input`, of a layer without `fuse`.
[[nodiscard]] Switched with_wrong_activation(const std::string& text, const volatile int* chosen);

/// The same of the gradient of the weights: of the scales of f32x3's channels, and of the rounding to tf32.
[[nodiscard]] Switched with_wrong_channel_scales(const std::string& text, const volatile int* chosen);
[[nodiscard]] Switched with_wrong_gradient_rounding(const std::string& text, const volatile int* chosen);

/// The names of all mutants of a kind.
[[nodiscard]] std::vector<std::string> names_of_wrong_scales();
[[nodiscard]] std::vector<std::string> names_of_wrong_rounding();
[[nodiscard]] std::vector<std::string> names_of_wrong_channel_scales();
[[nodiscard]] std::vector<std::string> names_of_wrong_gradient_rounding();

}  // namespace convtgen::testing
