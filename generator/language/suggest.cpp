#include "generator/language/suggest.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace convtgen {

namespace {

constexpr std::size_t kLongestWord = 40;  // nothing longer is near a word of the language

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string_view word) {
  std::string result(word);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

// Other people's words for ours.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"float", "f32"},
    {"float32", "f32"},
    {"fp32", "f32"},
    {"single", "f32"},
    {"double", "f64"},
    {"float64", "f64"},
    {"fp64", "f64"},
    {"half", "f16"},
    {"float16", "f16"},
    {"fp16", "f16"},
    {"bfloat16", "bf16"},
    {"channels_last", "nhwc"},
    {"channels_first", "nchw"},
    {"contiguous", "nchw"},
    {"nhwc", "channels_last"},
    {"nchw", "contiguous"},
    {"swish", "silu"},
    {"clip", "clamp"},
    {"mul", "scale"},
    {"bias_add", "add"},
    {"kernel_size", "kernel"},
    {"type", "dtype"},
    {"activation", "fuse"},
    {"format", "layout"},
    {"memory_format", "layout"},
    {"weight_format", "weight_layout"},
    {"weight_memory_format", "weight_layout"},
    {"shape", "input"},
    {"size", "input"},
    {"direction", "directions"},
    {"backward", "grad_input"},
    {"true", "on"},
    {"yes", "on"},
    {"false", "off"},
    {"no", "off"},
};

// Activations of PyTorch and of papers, in small letters without '_', and the chain that computes the same.
constexpr std::pair<std::string_view, std::string_view> kOtherActivations[] = {
    {"relu6", "hardtanh(0, 6)"},
    {"hardsigmoid", "add(3), hardtanh(0, 6), scale(0.16666666666666666)"},
    {"identity", "none"},
    {"linear", "none"},
    {"atan", ""},
    {"atanh", ""},
    {"celu", ""},
    {"cosh", ""},
    {"crelu", ""},
    {"exp", ""},
    {"geglu", ""},
    {"glu", ""},
    {"hardshrink", ""},
    {"hardswish", ""},
    {"hswish", ""},
    {"logsigmoid", ""},
    {"logsoftmax", ""},
    {"prelu", ""},
    {"quickgelu", ""},
    {"reglu", ""},
    {"rrelu", ""},
    {"selu", ""},
    {"sin", ""},
    {"sinh", ""},
    {"snake", ""},
    {"softmax", ""},
    {"softmin", ""},
    {"softplus", ""},
    {"softshrink", ""},
    {"softsign", ""},
    {"swiglu", ""},
    {"tan", ""},
    {"tanhshrink", ""},
    {"threshold", ""},
};

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<int> before(columns), last(columns), row(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    last[j] = static_cast<int>(j);
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < columns; ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[columns - 1];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) {
    return {};
  }
  const std::string small = lowered(word);
  for (const auto& [other, ours] : kOtherNames) {
    if (small == other && std::ranges::find(candidates, ours) != candidates.end()) {
      return ours;
    }
  }
  const auto common_start = [word](std::string_view candidate) {
    return std::ranges::mismatch(word, candidate).in1 - word.begin();
  };
  std::string_view best;
  int best_distance = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const int distance = edit_distance(word, candidate);
    // A slip leaves some of a word standing: "x" is not near "on".
    const bool near = distance < static_cast<int>(std::max(word.size(), candidate.size()));
    const bool better = distance < best_distance ||
                        (distance == best_distance && !best.empty() && common_start(candidate) > common_start(best));
    if (near && better) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::optional<std::string_view> same_chain(std::string_view activation) {
  std::string plain = lowered(activation.substr(0, kLongestWord));
  std::erase(plain, '_');
  const auto* found =
      std::ranges::find(kOtherActivations, plain, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kOtherActivations) ? std::nullopt : std::optional(found->second);
}

std::string alternatives(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace convtgen
