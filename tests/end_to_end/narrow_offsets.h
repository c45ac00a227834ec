// Sources with an offset of 64 bits narrowed to an int: tests of layers with far offsets must fail for each.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/specializer/kernel_source.h"

namespace convtgen::testing {

/// What is wrong with a source that does not compile begins with this.
inline constexpr std::string_view kDoesNotCompile = "DOES NOT COMPILE";

/// Where the kernel begins that multiplies: after the one that packs the weights, if there is one.
[[nodiscard]] std::size_t after_packing(const KernelSource& source);

/// The places of a template that are 64-bit: casts, factors and locals.
class NarrowOffsets {
 public:
  /// Returns what is wrong with a run of the source; empty: nothing.
  using Judge = std::function<std::string(const KernelSource&)>;

  /// `unseen` are places that need not be 64-bit in any of the layers.
  NarrowOffsets(std::string template_name, std::set<std::string> unseen)
      : template_name_(std::move(template_name)), unseen_(std::move(unseen)) {}

  /// A layer of the template, and its source, whose places from `begin` on count.
  void add(const std::string& layer, const KernelSource& source, std::size_t begin, Judge judge);

  /// Narrows a sample of so many places, or all. Each is narrowed in the sources of one layer after the other until one
  /// of them shows it: in others its offset is small. Test failures: a place that no layer shows; an unseen one that is
  /// not there.
  void expect_shown(std::size_t count) const;

 private:
  struct Narrowed {
    std::string layer, line;
    KernelSource source;
    Judge judge;
  };

  std::string template_name_;
  std::set<std::string> unseen_, skipped_;
  std::map<std::string, std::vector<Narrowed>> places_;
};

}  // namespace convtgen::testing
