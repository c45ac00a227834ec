// Folding what has been folded once more, with terms in the place of some variables.
#pragma once

#include <map>
#include <vector>

#include "generator/specializer/residual.h"
#include "generator/support/error.h"

namespace convtgen {

using TermsById = std::map<int, Term>;

/// The term with `values` for the variables of these ids. Errors: as the folder's.
[[nodiscard]] Result<Term> refold(const Term& term, const TermsById& values);

/// The same in statements. Branches that aren't taken, loops that run once or never and constants that have become
/// numbers go. Errors: as the folder's; then the statements are in no order.
[[nodiscard]] Result<void> refold(std::vector<Residual>& body, TermsById values, const Changes& changes);

/// All functions folded once more. One in which something has no value in C++ then stays as it is: the compiler may
/// say so.
void fold_again(Output& output, const Changes& changes);

}  // namespace convtgen
