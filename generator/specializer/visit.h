// Walks over residual statements and their terms.
#pragma once

#include <vector>

#include "generator/specializer/residual.h"

namespace convtgen {

template <typename ATerm, typename Visit>
void for_each_term(ATerm& term, const Visit& visit) {
  visit(term);
  for (auto& operand : term.operands) {
    for_each_term(operand, visit);
  }
}

/// Visits all terms, each before its operands, and all statements, each before its terms. Body and visitors may be
/// const or not.
template <typename Body, typename VisitTerm, typename VisitStatement>
void for_each(Body& body, const VisitTerm& visit, const VisitStatement& visit_statement) {
  for (auto& r : body) {
    visit_statement(r);
    for (auto* terms : {&r.terms, &r.condition, &r.step}) {
      for (auto& term : *terms) {
        for_each_term(term, visit);
      }
    }
    for (auto* inner : {&r.init, &r.body, &r.otherwise}) {
      for_each(*inner, visit, visit_statement);
    }
  }
}

}  // namespace convtgen
