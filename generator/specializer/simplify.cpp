// The pass `simplify`: makes of a function's statements what a person would have written.
#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>

#include "generator/specializer/residual.h"
#include "generator/specializer/visit.h"

namespace convtgen {
namespace {

using ResidualKind = Residual::Kind;
using Names = std::set<std::string>;

std::set<int> used_ids(const std::vector<Residual>& body) {
  std::set<int> out;
  for_each(body, [&](const Term& term) { out.insert(term.id); }, [](const Residual&) {});
  return out;
}

bool says_nothing(const Residual& r) {
  return r.kind == ResidualKind::kGone || r.kind == ResidualKind::kComment || r.kind == ResidualKind::kBlank;
}

Residual gone() {
  Residual out;
  out.kind = ResidualKind::kGone;
  return out;
}

/// The variable that a statement only gives a value, or a member of it; 0 where it does more, or something else.
int variable_stored_to(const Residual& r) {
  if (r.kind != ResidualKind::kExpression) {
    return 0;
  }
  const Term& term = r.terms[0];
  const bool assigns =
      (term.kind == Expression::Kind::kBinary && precedence_of(term.text) == 2) ||
      (term.kind == Expression::Kind::kUnary && (term.text.ends_with("++") || term.text.ends_with("--")));
  if (!assigns || !std::ranges::all_of(term.operands, is_pure)) {
    return 0;
  }
  const Term* to = &term.operands[0];
  while (to->kind == Expression::Kind::kMember) {
    to = &to->operands[0];
  }
  return to->id;
}

/// Whether a variable is the result of a call, which stays where only the variable goes.
bool is_of_call(const Residual& r) {
  return r.kind == ResidualKind::kDeclare && r.terms.size() == 1 && r.terms[0].kind == Expression::Kind::kCall;
}

/// Arguments, and what refers to something else: who stores to these may change what others read.
std::set<int> not_own(const std::vector<Residual>& body, const std::vector<ResidualArgument>& arguments) {
  std::set<int> out;
  for (const ResidualArgument& argument : arguments) {
    out.insert(argument.id);
  }
  for_each(
      body, [](const Term&) {},
      [&](const Residual& r) {
        if (r.kind == ResidualKind::kDeclare && r.type.kind == Type::Kind::kReference) {
          out.insert(r.id);
        }
      });
  return out;
}

/// Adds what statements read, or must not lose. A store to a variable of the function's own is not a use of it.
void add_reads(const std::vector<Residual>& body, const std::set<int>& others, std::set<int>& out) {
  const auto add = [&](const Term& term) { out.insert(term.id); };
  for (const Residual& r : body) {
    if (const int stored = variable_stored_to(r); stored != 0 && !others.contains(stored)) {
      for (const Term& value : r.terms[0].operands | std::views::drop(1)) {
        for_each_term(value, add);
      }
      continue;
    }
    for (const std::vector<Term>* terms : {&r.terms, &r.condition, &r.step}) {
      std::ranges::for_each(*terms, [&](const Term& each) { for_each_term(each, add); });
    }
    if (r.kind == ResidualKind::kDeclare && !std::ranges::all_of(r.terms, is_pure) && !is_of_call(r)) {
      out.insert(r.id);
    }
    for (const Residual& init : r.init) {
      out.insert(init.id);
    }
    for (const std::vector<Residual>* inner : {&r.init, &r.body, &r.otherwise}) {
      add_reads(*inner, others, out);
    }
  }
}

std::set<int> read_ids(const std::vector<Residual>& body, const std::vector<ResidualArgument>& arguments) {
  std::set<int> out;
  add_reads(body, not_own(body, arguments), out);
  return out;
}

/// Removes variables that nothing reads, what is stored to them, and branches that do nothing. True if there was any.
bool remove_unused(std::vector<Residual>& body, const std::set<int>& read) {
  bool changed = false;
  for (Residual& r : body) {
    changed = remove_unused(r.body, read) || changed;
    changed = remove_unused(r.otherwise, read) || changed;
    const bool is_pure_statement = std::ranges::all_of(r.terms, is_pure);
    const int stored = variable_stored_to(r);
    const bool unused = (r.kind == ResidualKind::kExpression && is_pure_statement) ||
                        (r.kind == ResidualKind::kDeclare && !read.contains(r.id) && is_pure_statement) ||
                        (stored != 0 && !read.contains(stored));
    const bool idle =
        (r.kind == ResidualKind::kIf && is_pure_statement && does_nothing(r.body) && does_nothing(r.otherwise)) ||
        ((r.kind == ResidualKind::kSplice || r.kind == ResidualKind::kBlock) && does_nothing(r.body));
    if (is_of_call(r) && !is_pure_statement && !read.contains(r.id)) {
      r.kind = ResidualKind::kExpression;
      r.trail.clear();  // it is the variable's
      changed = true;
    }
    if (unused || idle) {
      const bool was_branch = r.kind == ResidualKind::kIf || r.was_branch;
      r = gone();
      r.was_branch = was_branch;
      changed = true;
    }
  }
  return changed;
}

using Visible = std::map<std::string, int, std::less<>>;  // how many visible variables and types bear a name

/// The names that statements declare, visible as long as this lives.
class Declared {
 public:
  Declared(const std::vector<Residual>& body, Visible& visible) : visible_(visible) {
    for (const Residual& r : body) {
      if (r.kind == ResidualKind::kDeclare || r.kind == ResidualKind::kUsing) {
        names_.push_back(r.name);
        ++visible_[r.name];
      }
    }
  }
  ~Declared() {
    for (const std::string& name : names_) {
      --visible_[name];
    }
  }
  Declared(const Declared&) = delete;
  Declared& operator=(const Declared&) = delete;

 private:
  Visible& visible_;
  std::vector<std::string> names_;
};

Names declared_by(const std::vector<Residual>& body) {
  Names names;
  for (const Residual& r : body) {
    if (r.kind == ResidualKind::kDeclare || r.kind == ResidualKind::kUsing) {
      names.insert(r.name);
    }
  }
  return names;
}

/// Decides for each spliced body whether its braces stay: they do where its names would clash with others that are
/// visible, and, in the bodies of an unrolled loop, where it declares anything at all.
void splice(std::vector<Residual>& body, Visible& visible) {
  const Declared here(body, visible);
  for (Residual& r : body) {
    const Declared in_init(r.init, visible);
    splice(r.body, visible);
    splice(r.otherwise, visible);
  }
  std::vector<Names> declared(body.size());
  std::map<std::string, int> count;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].kind == ResidualKind::kSplice) {
      declared[i] = declared_by(body[i].body);
      for (const std::string& name : declared[i]) {
        ++count[name];
      }
    }
  }
  std::vector<Residual> out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].kind != ResidualKind::kSplice) {
      out.push_back(std::move(body[i]));
      continue;
    }
    const bool clashes =
        std::ranges::any_of(declared[i], [&](const std::string& name) { return visible[name] > 0 || count[name] > 1; });
    if (clashes || (body[i].is_iteration && !declared[i].empty())) {
      out.push_back(std::move(body[i]));  // printed with braces, unless what it declares goes too
      continue;
    }
    std::ranges::move(body[i].body, std::back_inserter(out));
  }
  body = std::move(out);
}

/// Drops comments whose statements are all gone, then what marks these, and blank lines that part nothing.
void tidy(std::vector<Residual>& body) {
  std::vector<Residual> out;
  for (std::size_t i = 0; i < body.size();) {
    if (body[i].kind != ResidualKind::kComment) {
      out.push_back(std::move(body[i++]));
      continue;
    }
    std::size_t end = i;
    while (end < body.size() && body[end].kind == ResidualKind::kComment) {
      ++end;
    }
    std::size_t next = end;
    while (next < body.size() && body[next].kind == ResidualKind::kGone) {
      ++next;
    }
    const bool nothing_left = next > end && (next == body.size() || body[end].was_branch || says_nothing(body[next]));
    if (nothing_left) {
      i = next;
      continue;
    }
    while (i < end) {
      out.push_back(std::move(body[i++]));
    }
  }
  std::erase_if(out, [](const Residual& r) { return r.kind == ResidualKind::kGone; });
  body.clear();
  for (Residual& r : out) {
    if (r.kind != ResidualKind::kBlank || (!body.empty() && body.back().kind != ResidualKind::kBlank)) {
      body.push_back(std::move(r));
    }
  }
  if (!body.empty() && body.back().kind == ResidualKind::kBlank) {
    body.pop_back();
  }
  for (Residual& r : body) {
    tidy(r.body);
    tidy(r.otherwise);
  }
}

}  // namespace

bool has_text(const std::vector<Residual>& body) {
  bool found = false;
  for_each(
      body, [&](const Term& term) { found = found || term.kind == Expression::Kind::kText; },
      [&](const Residual& r) { found = found || r.kind == ResidualKind::kAsm; });
  return found;
}

bool only_computes(const std::vector<Residual>& body) {
  std::set<int> own;
  for_each(
      body, [](const Term&) {},
      [&](const Residual& r) {
        if (r.kind == ResidualKind::kDeclare && r.text.empty() && r.type.kind == Type::Kind::kNamed) {
          own.insert(r.id);
        }
      });
  bool acts = false;
  for_each(
      body, [](const Term&) {},
      [&](const Residual& r) {
        const int stored = variable_stored_to(r);
        const bool is_known = r.kind == ResidualKind::kDeclare || r.kind == ResidualKind::kReturn ||
                              r.kind == ResidualKind::kIf || r.kind == ResidualKind::kSplice;
        const bool is_pure_statement = is_known && r.text.empty() && std::ranges::all_of(r.terms, is_pure);
        acts = acts || (stored != 0 ? !own.contains(stored) : !says_nothing(r) && !is_pure_statement);
      });
  return !acts;
}

bool does_nothing(const std::vector<Residual>& body) {
  return std::ranges::all_of(body, says_nothing);
}

bool uses_variable(const std::vector<Residual>& body, int id) {
  return has_text(body) || used_ids(body).contains(id);
}

void simplify(std::vector<Residual>& body, const std::vector<ResidualArgument>& arguments, const Changes& changes) {
  Visible visible;
  for (const ResidualArgument& argument : arguments) {
    ++visible[argument.name];
  }
  splice(body, visible);
  if (!has_text(body)) {
    join_assignments(body, changes);
    while (remove_copies(body, arguments, changes) || remove_unused(body, read_ids(body, arguments))) {
    }
    join_returns(body);
  }
  splice(body, visible);
  tidy(body);
}

}  // namespace convtgen
