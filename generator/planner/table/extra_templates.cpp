// What is added to the table: nothing, but in test builds, which have another file in this one's place.
#include "generator/planner/table/templates.h"

namespace convtgen {

std::span<const Template> extra_templates() {
  return {};
}

}  // namespace convtgen
