// Lines of the table of templates (generator/planner/templates.h) that builds with -DCONVTGEN_TEST_TEMPLATES=ON add.
#include <array>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/templates.h"
#include "tests/templates/gather/planner.h"
#include "tests/templates/split/planner.h"
#include "tests/templates/two_columns/planner.h"

namespace convtgen {
namespace {

constexpr std::array kTemplates = {
    Template{"gather", Direction::kForward, programs::gather, plans_gather, gather_grid, nullptr, nullptr},
    Template{"split", Direction::kForward, programs::split, plans_split, split_grid, split_launch, nullptr},
    Template{"two_columns", Direction::kForward, programs::two_columns, plans_two_columns, two_columns_grid, nullptr,
             nullptr},
};

}  // namespace

std::span<const Template> extra_templates() {
  return kTemplates;
}

}  // namespace convtgen
