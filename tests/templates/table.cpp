// Lines of the table of templates (generator/planner/table/templates.h) that builds with -DCONVTGEN_TEST_TEMPLATES=ON
// add.
#include "tests/templates/table.h"

#include <array>

namespace convtgen {

std::span<const Template> extra_templates() {
  static const std::array kTemplates = {kGather, kSplit, kTwoColumns};
  return kTemplates;
}

}  // namespace convtgen
