// Gradients of tensors with more elements than 32 bits count: the last tiles, or the last slice of the positions, give
// exactly what the definition gives of a small layer that lies at the far one's end.
//
// Tensors take address space, and memory only where they are touched. All blocks but the last are left out. Values are
// small integers, so that sums are the same in each order and mode.
#include <gtest/gtest.h>

#include "tests/end_to_end/far_gradient.h"
#include "tests/end_to_end/far_weight.h"

namespace convtgen::testing {
namespace {

constexpr std::size_t kPlaces = 1;  // of a template, that a run narrows

class FarGradients : public ::testing::TestWithParam<OfTemplate<FarGradientLayer>> {};

TEST_P(FarGradients, AreThoseOfNearOnes) {
  FarGradient gradient(GetParam());
  EXPECT_EQ(gradient.judge(gradient.source()), "") << gradient.plan().summary << "; " << gradient.plan().reason;
}

class FarWeights : public ::testing::TestWithParam<std::string_view> {};

TEST_P(FarWeights, AreTheDefinitions) {
  FarWeight weight(GetParam());
  EXPECT_EQ(weight.judge(weight.source()), "") << weight.plan().summary << "; " << weight.plan().reason;
}

/// The templates of gradients that have far layers, or layers with far weights.
std::vector<std::string_view> far_templates(bool weights) {
  std::vector<std::string_view> names;
  for (const TemplateFacts& facts : template_facts()) {
    if (weights ? facts.far_weights != nullptr : facts.far_weights != nullptr || !facts.far_gradients.empty()) {
      names.push_back(facts.name);
    }
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Templates, FarWeights, ::testing::ValuesIn(far_templates(true)),
                         [](const auto& info) { return std::string(info.param); });

class FarGradientsOfMutants : public ::testing::TestWithParam<std::string_view> {};

TEST_P(FarGradientsOfMutants, ShowEachNarrowOffset) {
  const TemplateFacts& facts = facts_of(GetParam());
  NarrowOffsets offsets(std::string(facts.name), facts.unseen_of_gradients);
  std::vector<std::unique_ptr<FarGradient>> gradients;
  for (const FarGradientLayer& each : facts.far_gradients) {
    FarGradient& gradient =
        *gradients.emplace_back(std::make_unique<FarGradient>(OfTemplate<FarGradientLayer>{facts.name, each}));
    const bool is_packed = gradient_of(facts.name) == Direction::kGradInput;
    offsets.add(each.name, gradient.source(), is_packed ? after_packing(gradient.source()) : 0,
                [&gradient](const KernelSource& mutant) { return gradient.judge(mutant); });
  }
  std::optional<FarWeight> weight;
  if (facts.far_weights != nullptr) {
    weight.emplace(facts.name);
    offsets.add(std::string(facts.name), weight->source(), 0,
                [&weight](const KernelSource& mutant) { return weight->judge(mutant); });
  }
  offsets.expect_shown(kPlaces);
}

INSTANTIATE_TEST_SUITE_P(Templates, FarGradientsOfMutants, ::testing::ValuesIn(far_templates(false)),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Layers, FarGradients, ::testing::ValuesIn(all_of(&TemplateFacts::far_gradients)),
                         [](const auto& info) { return name_of_fact(info); });

}  // namespace
}  // namespace convtgen::testing
