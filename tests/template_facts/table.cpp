#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "generator/planner/table/templates.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {

// template_facts_list.inc has CONVTGEN_FACTS(name) for each file of this folder (CMakeLists.txt).
#define CONVTGEN_FACTS(name) TemplateFacts facts_of_##name();
#include "template_facts_list.inc"
#undef CONVTGEN_FACTS

namespace {

std::vector<TemplateFacts> made_facts() {
  std::vector<TemplateFacts> all = {
#define CONVTGEN_FACTS(name) facts_of_##name(),
#include "template_facts_list.inc"
#undef CONVTGEN_FACTS
  };
  const auto place = [](const TemplateFacts& facts) {
    return std::ranges::find(templates(), facts.name, &Template::name) - templates().begin();
  };
  std::ranges::sort(all, {}, place);
  return all;
}

}  // namespace

std::span<const TemplateFacts> template_facts() {
  static const std::vector<TemplateFacts> all = made_facts();
  return all;
}

const TemplateFacts& facts_of(std::string_view template_name) {
  const auto found = std::ranges::find(template_facts(), template_name, &TemplateFacts::name);
  if (found == template_facts().end()) {
    throw std::invalid_argument(fmt::format("tests/template_facts has no {}.cpp", template_name));
  }
  return *found;
}

std::vector<const TemplateFacts*> shipped_facts() {
  std::vector<const TemplateFacts*> all;
  for (const TemplateFacts& facts : template_facts()) {
    if (std::ranges::find(extra_templates(), facts.name, &Template::name) == extra_templates().end()) {
      all.push_back(&facts);
    }
  }
  return all;
}

std::string name_of(const DirectedTemplate& directed) {
  return directed.direction == Direction::kForward
             ? std::string(directed.template_name)
             : fmt::format("{}_{}", name_of(directed.direction), directed.template_name);
}

std::vector<DirectedTemplate> directed_templates() {
  std::vector<DirectedTemplate> all;
  for (const TemplateFacts& facts : template_facts()) {
    const Template& known = *template_named(facts.name).value();
    all.push_back({known.direction, facts.name});
    if (known.serves_grad_input) {
      all.push_back({Direction::kGradInput, facts.name});
    }
  }
  std::ranges::stable_sort(all, {}, &DirectedTemplate::direction);
  return all;
}

std::vector<DirectedTemplate> gradient_templates() {
  std::vector<DirectedTemplate> all = directed_templates();
  std::erase_if(all, [](const DirectedTemplate& each) { return each.direction == Direction::kForward; });
  return all;
}

Direction gradient_of(std::string_view template_name) {
  const Direction own = template_named(template_name).value()->direction;
  return own == Direction::kForward ? Direction::kGradInput : own;
}

}  // namespace convtgen::testing
