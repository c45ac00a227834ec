#include "runtime/api/held_layer.h"

#include <fmt/format.h>

#include "generator/language/language.h"
#include "generator/layer/directions.h"

namespace convtgen::api {
namespace {

static_assert(static_cast<int>(Direction::kForward) == CONVTGEN_FORWARD);
static_assert(static_cast<int>(Direction::kGradInput) == CONVTGEN_GRAD_INPUT);
static_assert(static_cast<int>(Direction::kGradWeight) == CONVTGEN_GRAD_WEIGHT);
static_assert(static_cast<int>(Direction::kGradBias) == CONVTGEN_GRAD_BIAS);

}  // namespace

HeldLayer::HeldLayer(Layer layer) : layer_(std::move(layer)), text_(canonical_form(layer_)) {
  for (const Direction direction : layer_.directions) {
    keys_.emplace_back(layer_, direction);
  }
}

Outcome<const jit::KernelKey*> HeldLayer::key(convtgen_direction direction) const {
  for (const jit::KernelKey& key : keys_) {
    if (static_cast<int>(key.direction()) == static_cast<int>(direction)) {
      return &key;
    }
  }
  const int number = static_cast<int>(direction);
  if (number < 0 || static_cast<std::size_t>(number) >= all_directions().size()) {
    return fail_with(Status::kInvalidArgument,
                     fmt::format("direction is {}; legal are 0 to {}", number, all_directions().size() - 1));
  }
  const auto checked = check_direction(layer_, all_directions()[static_cast<std::size_t>(number)]);
  return fail_with(Status::kInvalidArgument, checked.error());
}

}  // namespace convtgen::api
