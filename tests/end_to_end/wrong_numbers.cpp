#include "tests/end_to_end/wrong_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <span>

#include "tests/end_to_end/own_code.h"
#include "tests/primitives/mutants.h"

namespace convtgen::testing {
namespace {

/// In every match of a pattern (ECMAScript), which is one place of the template, what the mutant computes and what
/// stood there; MUTANT is true for the mutant.
struct Change {
  const char* name;
  const char* pattern;
  const char* replacement;
  const char* needs = "";  // words without which the source doesn't depend on what is changed
};

constexpr const char* kTotals = "float& total_at(";  // else scales change by less than 2^126
constexpr Change kScales[] = {
    // The scale that a stage needs.
    {"a scale of half", R"(\b141(?=\)* - \(__float_as_int\(largest\)))", "(MUTANT ? 140 : $&)"},
    {"a scale of twice", R"(\b141(?=\)* - \(__float_as_int\(largest\)))", "(MUTANT ? 142 : $&)"},
    {"a scale of any size", R"(\b126(?=, [^;]*__float_as_int\(largest\)))", "(MUTANT ? 1000 : $&)"},
    {"no room for rounding up", R"(\b4096(?=\) / 0x800000))", "(MUTANT ? 0 : $&)"},
    {"a scale kept that is too small", R"(kept >= wanted - 1)", "kept >= wanted - (MUTANT ? 2 : 1)"},
    {"a scale kept that is too large", R"(kept <= wanted \+ 1)", "kept <= wanted + (MUTANT ? 2 : 1)"},
    {"the first stage's scale kept", R"(largest == 0(?= \|\|))", "(MUTANT || largest == 0)"},
    // The largest magnitude of a stage.
    {"half of a thread's values not scanned", R"(fmaxf\(most\[0\], most\[1\]\))",
     "fmaxf(most[0], MUTANT ? 0 : most[1])"},
    {"other threads of a warp not scanned", R"(largest_of_warp\((scan_maximum\([^)]*\))\))",
     "(MUTANT ? __shfl_sync(0xffffffffu, $1, 0) : $&)"},
    {"one of four warps not scanned", R"(fmaxf\(four\.z, four\.w\))", "(MUTANT ? four.z : $&)"},
    {"four of eight warps not scanned",
     R"(largest_of\(reinterpret_cast<const float4\*>\(maxima\)\[image \* 2 \+ 1\]\))", "(MUTANT ? 0 : $&)"},
    {"infinities scanned", R"(if \(!is_finite\(most\)\))", "if (!MUTANT && !is_finite(most))"},
    {"infinite weights scanned", R"(fmaf\(b, 0, b\))", "MUTANT ? b : $&"},
    {"weights of other warps not scanned", R"(warp < 8(?=; \+\+warp\) \{\s*most))", "warp < (MUTANT ? 0 : 8)"},
    // Where it is read.
    {"another scale for the consumers", R"((exponents\[[^\]]*\] = )exponent;)", "$1exponent + (MUTANT ? 1 : 0);"},
    {"the scale of another image", R"(__shfl_sync\(0xffffffffu, state\.exponent, image\))",
     "(MUTANT ? state.exponent : $&)"},
    {"the scale of the first image", R"(threadIdx\.x % (\d+)(?=;  // image of the lane))",
     "threadIdx.x % (MUTANT ? 1 : $1)"},
    {"the scale not kept", R"(state\.exponent = exponent;)", "if (!MUTANT) state.exponent = exponent;"},
    {"accumulators of another scale gone on with", R"(exponent == state\.exponent;)",
     "(MUTANT || exponent == state.exponent);"},
    // Totals.
    {"totals of another scale added", R"(state\.promoted && exponent != state\.total)", "!MUTANT && $&"},
    {"totals brought to the larger scale", R"(min\(exponent, state\.total\))",
     "(MUTANT ? max(exponent, state.total) : $&)"},
    {"accumulators scaled the wrong way", R"(less - exponent)", "(MUTANT ? exponent - less : $&)"},
    {"totals scaled the wrong way", R"(less - state\.total)", "(MUTANT ? state.total - less : $&)"},
    {"the smaller scale forgotten", R"(exponent = less;)", "exponent = MUTANT ? exponent : less;"},
    {"the scale of totals forgotten", R"(state\.total = (combine\([^;]*\));)",
     "const int joined = $1;\n  state.total = MUTANT ? state.total : joined;"},
    {"totals not added", R"(\+= (total_at\([^;]*\));)", "+= MUTANT ? 0 : $1;"},
    {"totals of the tile before added", R"(state\.promoted = false;)", "state.promoted = MUTANT;", kTotals},
    {"accumulators forgotten", R"(promote\((acc, state[^;]*)\);)", "MUTANT ? void(state.rows = 0) : promote($1);"},
    // Low parts, and the end.
    {"low parts of half their size", "0\\.00048828125f", "(MUTANT ? 0.000244140625f : $&)"},
    {"low parts of infinities", R"(drop_low_of_infinite\(acc\);)", "if (!MUTANT) drop_low_of_infinite(acc);"},
    {"scales not undone", R"(-(?=combine))", "(MUTANT ? 0 : -1) * "},
    {"odd exponents", R"(power_of_two\(e - e / 2\))", "power_of_two(MUTANT ? e / 2 : e - e / 2)"},
    {"factors that are no floats", R"(x \* factors_of\(e\)\.x \* factors_of\(e\)\.y)",
     "(MUTANT ? x * power_of_two(e) : $&)", kTotals},
    // Accumulators rescaled.
    {"accumulators raised beyond all bounds", R"(min\(wanted, state\.total \+ kMostRaise\))", "(MUTANT ? wanted : $&)"},
    {"the least scale forgotten", R"(min\(state\.total, exponent\))", "(MUTANT ? exponent : $&)"},
    {"accumulators not rescaled", R"(, (own|difference)\);)", ", MUTANT ? 0 : $1);"},
    {"the scale wanted, not the one given",
     R"(state\.exponent = exponent;(?=\s*state\.total = \(*is_mutant|\s*state\.total = min))",
     "state.exponent = MUTANT ? wanted : exponent;"},
    // Of templates whose totals are in registers.
    {"other lanes not scanned", R"((fmaxf\(most, )(__shfl_xor_sync\([^)]*\))(?=\);\s*\}\s*if \(thread))",
     "$1MUTANT ? 0 : $2"},
    {"other warps not scanned", R"((fmaxf\(most, )(maxima\[warp\]\);\s*\}\s*return))", "$1MUTANT ? 0 : $2"},
    {"the scale of the k-block before", R"(held\.exponent != exponent \|\|)",
     "(!MUTANT && held.exponent != exponent) ||"},
    {"totals of a larger scale", R"(if \(exponent < held\.total\))", "if (!MUTANT && exponent < held.total)"},
    {"the totals' scale forgotten", R"(held\.total = exponent;)", "held.total = MUTANT ? held.total : exponent;"},
    {"the accumulators' scale forgotten", R"(held\.exponent = exponent;)",
     "held.exponent = MUTANT ? held.exponent : exponent;"},
    {"accumulators added as they are", R"(held\.factor = (power_of_two\([^;]*);)", "held.factor = MUTANT ? 1 : $1;"},
    {"scales raised beyond the totals'", R"(min\(exponent, held\.total \+ kMostRaise\))", "(MUTANT ? exponent : $&)"},
    {"low parts of infinite totals", R"(finite \|\| is_finite\(total\))", "MUTANT || $&"},
    {"scales of totals not undone", R"(factors_of\(-total\))", "factors_of(MUTANT ? 0 : -total)"},
    {"scales of weights not undone", R"(factors_of\(-(?=reinterpret_cast))", "factors_of((MUTANT ? 0 : -1) * "},
    {"high parts added twice", R"((?:float& )?value = 0;)", "if (!MUTANT) $&"},
    {"low parts added twice", R"(low\[\w+\]\[\w+\]\[[^;=]*\] = 0;)", "if (!MUTANT) $&"},
    {"low parts forgotten", R"(fmaf\(low\[)", "fmaf((MUTANT ? 0 : 1) * low["},
};

constexpr Change kRounding[] = {
    {"all truncated", R"(float_to_tf32\(__uint_as_float\(word\)\))", "(MUTANT ? word : $&)"},
    {"weights truncated", R"(= operand\((__float_as_uint\([^;]*\)|parts\[0\])\);)", "= MUTANT ? $1 : operand($1);"},
};

constexpr Change kActivation[] = {
    {"x as it is", R"((float|double) activate\((float|double) value\) \{)",
     "$&\n  if (MUTANT) {\n    return value;\n  }"},
};

// Of gradients of the weights in f32x3, whose channels have a scale each.
constexpr Change kChannelScales[] = {
    // The scale of a channel, from its largest magnitude.
    {"a scale of half", R"(\b141(?=\)* - __float_as_int\(most\)))", "(MUTANT ? 140 : $&)"},
    {"a scale of twice", R"(\b141(?=\)* - __float_as_int\(most\)))", "(MUTANT ? 142 : $&)"},
    {"a scale of any size", R"(\b126(?=, [^;]*__float_as_int\(most\)))", "(MUTANT ? 1000 : $&)"},
    {"infinities scanned", R"(fmaf\(b, 0, b\))", "(MUTANT ? b : $&)"},
    {"other threads of a warp not scanned", R"(of_warp = fmaxf\(of_warp, __shfl)", "if (!MUTANT) $&"},
    {"other warps or rows not scanned", R"(largest = fmaxf\(largest, found)", "if (!MUTANT || largest == 0) $&"},
    {"half of a thread's values not scanned", R"(most\.x = larger_finite)", "if (!MUTANT || i % 2 == 0) $&"},
    {"another of four channels not scanned", R"(most\.w = larger_finite)", "if (!MUTANT) $&"},
    {"other slices not scanned", R"(most = fmaxf\(most, maxima)", "if (!MUTANT || slice == 0) $&"},
    // Where it is read.
    {"the scale of the first channel", R"(scale_of_channel\(maxima, (?!int)channel)",
     "scale_of_channel(maxima, (MUTANT ? 0 : channel)"},
    {"the scale of x not undone", R"(exponent_of\((scales|of_ins)\[)", "(MUTANT ? 0 : 1) * $&"},
    {"the scale of grad_y not undone", R"(exponent_of\(of_(rows|outs)\[)", "(MUTANT ? 0 : 1) * $&"},
    {"odd exponents", R"(power_of_two\(e - e / 2\))", "power_of_two(MUTANT ? e / 2 : e - e / 2)"},
    {"factors that are no floats", R"(x \* factors_of\(e\)\.x \* factors_of\(e\)\.y)",
     "(MUTANT ? x * power_of_two(e) : $&)"},
    // Low parts, and the end.
    {"low parts of x forgotten", R"(wgmma_\w*\(low\b[^;]*low_input, 1\);)", "if (!MUTANT) $&"},
    {"low parts of grad_y forgotten", R"(wgmma_\w*\(low\b[^;]*high_input, 1\);)", "if (!MUTANT) $&"},
    {"low parts of x forgotten by warps", R"((multiply_add|mma_k\w+)\(acc\[1\][^;]*, high\);)", "if (!MUTANT) $&"},
    {"low parts of grad_y forgotten by warps", R"((multiply_add|mma_k\w+)\(acc\[1\][^;]*, low\);)", "if (!MUTANT) $&"},
    {"low parts not added", R"(fmaf\(low, 0\.00048828125f, total\))", "(MUTANT ? total : $&)"},
    {"low parts of half their size", R"(0\.00048828125f(?=, total))", "(MUTANT ? 0.000244140625f : $&)"},
    {"low parts of infinities", R"(is_finite\(total\) \?)", "MUTANT || $&"},
    {"accumulators go on after a promotion", R"(high(\[\w+\])?\[i \+ k\] = 0;)", "if (!MUTANT) $&"},
    {"accumulators of warps go on after a promotion", R"(acc_at\(high, i\) = 0;)", "if (!MUTANT) $&"},
    {"the last high parts forgotten", R"(promote_high\([^;{]*\);(?=\s*promote_low\())", "if (!MUTANT) $&"},
    {"the last low parts forgotten", R"((promote_high\([^;{]*\);\s*)(promote_low\([^;{]*\);))", "$1 if (!MUTANT) $2"},
};

// Of the gradient of the weights. `grad_weight_gemm` writes x in vectors of four positions, `grad_weight_rows` to
// `input`.
constexpr Change kGradientRounding[] = {
    {"all truncated", R"(float_to_tf32\(__uint_as_float\(word\)\))", "(MUTANT ? word : $&)"},
    {"x truncated", R"((input \+ [^;=]*= |c\) \* 16\) = )operand\(([^;]*)\);)", "$1(MUTANT ? $2 : operand($2));"},
    {"grad_y truncated", R"((window \+ [^;=]*= |c\) \* (?!16\))\w+\) = )operand\(([^;]*)\);)",
     "$1(MUTANT ? $2 : operand($2));"},
};

Switched switched(const std::string& text, std::span<const Change> changes, const volatile int* chosen) {
  // Device primitives are declared before, and defined after.
  const std::size_t guard = text.find("#endif");
  const std::size_t begin = guard == std::string::npos ? 0 : text.find('\n', guard) + 1;
  Switched result;
  const std::size_t end = std::max(end_of_own_code(text), begin);
  std::string body = text.substr(begin, end - begin);
  for (const auto& [name, pattern, replacement, needs] : changes) {
    std::string mutated = std::regex_replace(body, std::regex(pattern), replacement);
    if (mutated != body && body.contains(needs)) {
      result.names.emplace_back(name);
      body = std::regex_replace(mutated, std::regex("MUTANT"), fmt::format("is_mutant({})", result.names.size()));
    }
  }
  result.text = text.substr(0, begin) + choosing_function(chosen) + "\n" + body + text.substr(end);
  return result;
}

std::vector<std::string> names_of(std::span<const Change> changes) {
  std::vector<std::string> names;
  std::ranges::transform(changes, std::back_inserter(names), &Change::name);
  return names;
}

}  // namespace

Switched with_wrong_scales(const std::string& text, const volatile int* chosen) {
  return switched(text, kScales, chosen);
}

Switched with_wrong_rounding(const std::string& text, const volatile int* chosen) {
  return switched(text, kRounding, chosen);
}

Switched with_wrong_activation(const std::string& text, const volatile int* chosen) {
  return switched(text, kActivation, chosen);
}

Switched with_wrong_channel_scales(const std::string& text, const volatile int* chosen) {
  return switched(text, kChannelScales, chosen);
}

Switched with_wrong_gradient_rounding(const std::string& text, const volatile int* chosen) {
  return switched(text, kGradientRounding, chosen);
}

std::vector<std::string> names_of_wrong_channel_scales() {
  return names_of(kChannelScales);
}

std::vector<std::string> names_of_wrong_gradient_rounding() {
  return names_of(kGradientRounding);
}

std::vector<std::string> names_of_wrong_scales() {
  return names_of(kScales);
}

std::vector<std::string> names_of_wrong_rounding() {
  return names_of(kRounding);
}

}  // namespace convtgen::testing
