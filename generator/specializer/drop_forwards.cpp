// The pass `drop` of functions that only call another one with their own arguments, whose calls name that one instead;
// and of functions that only give an argument back, or a number, which stand in place of their calls. Also of functions
// and records that nothing names.
#include <algorithm>
#include <map>
#include <optional>

#include "generator/specializer/refold.h"
#include "generator/specializer/residual.h"
#include "generator/specializer/visit.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;

/// What a function hands its arguments on to.
struct Forward {
  Term call;
  std::vector<std::size_t> order;  // for each operand of that call, which argument it is
};

/// The one statement of a body; null where there are more, or comments.
const Residual* only_statement(const std::vector<Residual>& body) {
  const Residual* only = nullptr;
  for (const Residual& r : body) {
    if (r.kind == Residual::Kind::kGone || r.kind == Residual::Kind::kBlank) {
      continue;
    }
    if (only != nullptr) {
      return nullptr;
    }
    only = &r;
  }
  return only;
}

/// The type that a call of this name gives, as the output spells it; nothing where it is no function of the output.
std::optional<std::string> result_of(const Output& output, const std::string& name) {
  const auto version = std::ranges::find(output.versions, name, &Version::name);
  if (version != output.versions.end()) {
    return text_of_type(version->type);
  }
  const auto primitive = std::ranges::find(output.primitives, name, &Primitive::name);
  return primitive != output.primitives.end() ? std::optional(text_of_type(primitive->type)) : std::nullopt;
}

std::optional<Forward> forward_of(const Output& output, const Version& version) {
  const Residual* only = only_statement(version.body);
  const bool returns = only != nullptr && only->kind == Residual::Kind::kReturn;
  if (only == nullptr || (!returns && only->kind != Residual::Kind::kExpression) || only->terms.size() != 1 ||
      only->terms[0].kind != Kind::kCall || only->terms[0].text == version.name ||
      version.function->kind == Function::Kind::kKernel) {
    return std::nullopt;
  }
  const Term& call = only->terms[0];
  const std::optional<std::string> result = result_of(output, call.text);
  if (!result || *result != text_of_type(version.type) || call.operands.size() != version.arguments.size()) {
    return std::nullopt;
  }
  Forward out{.call = call, .order = {}};
  for (const Term& operand : call.operands) {
    const auto argument = std::ranges::find(version.arguments, operand.id, &ResidualArgument::id);
    const auto place = static_cast<std::size_t>(argument - version.arguments.begin());
    if (operand.kind != Kind::kName || argument == version.arguments.end() ||
        std::ranges::find(out.order, place) != out.order.end()) {
      return std::nullopt;
    }
    out.order.push_back(place);
  }
  return out;
}

/// What a function gives that computes nothing: an argument's name or a number; null where it does more.
const Term* given_back(const Version& version) {
  const Residual* only = only_statement(version.body);
  if (only == nullptr || only->kind != Residual::Kind::kReturn || only->terms.size() != 1 ||
      version.function->kind == Function::Kind::kKernel) {
    return nullptr;
  }
  const Term& result = only->terms[0];
  const bool is_given =
      result.value || std::ranges::find(version.arguments, result.id, &ResidualArgument::id) != version.arguments.end();
  const std::optional<Scalar> type =
      version.type.kind == Type::Kind::kNamed ? scalar_named(version.type.name) : std::nullopt;
  return is_given && (result.value || result.kind == Kind::kName) && type && result.scalar == type ? &result : nullptr;
}

/// The calls of a function.
std::vector<Term*> calls_of(Output& output, const std::string& name) {
  std::vector<Term*> calls;
  for (Version& caller : output.versions) {
    for_each(
        caller.body,
        [&](Term& term) {
          if (term.kind == Kind::kCall && term.text == name) {
            calls.push_back(&term);
          }
        },
        [](const Residual&) {});
  }
  return calls;
}

/// A function that does nothing: its calls may go. True if there was one that might not.
bool leave_out_calls(Output& output, const Version& version) {
  const bool is_empty = std::ranges::all_of(version.body, [](const Residual& r) {
    return r.kind == Residual::Kind::kGone || r.kind == Residual::Kind::kBlank || r.kind == Residual::Kind::kComment;
  });
  bool changed = false;
  if (is_empty && version.function->kind != Function::Kind::kKernel) {
    for (Term* call : calls_of(output, version.name)) {
      changed = changed || !call->only_computes;
      call->only_computes = true;
    }
  }
  return changed;
}

/// Whether a call hands over what the function's own arguments are: then nothing is converted on the way.
bool converts_nothing(const Term& call, const Version& version) {
  for (std::size_t i = 0; i < version.arguments.size(); ++i) {
    const Type& type = version.arguments[i].type;
    const std::optional<Scalar> scalar = type.kind == Type::Kind::kNamed ? scalar_named(type.name) : std::nullopt;
    if (scalar && call.operands[i].scalar != scalar) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool drop_forwards(Output& output, const Changes& changes) {
  bool changed = false;
  for (std::size_t v = 0; v < output.versions.size();) {
    const Version& version = output.versions[v];
    changed = leave_out_calls(output, version) || changed;
    const Term* given = given_back(version);
    const std::optional<Forward> forward = given == nullptr ? forward_of(output, version) : std::nullopt;
    const std::vector<Term*> calls =
        given != nullptr || forward ? calls_of(output, version.name) : std::vector<Term*>();
    const auto can_go = [&](const Term* call) {
      return converts_nothing(*call, version) && (given == nullptr || std::ranges::all_of(call->operands, is_pure));
    };
    if ((given == nullptr && !forward) || !std::ranges::all_of(calls, can_go)) {
      ++v;
      continue;
    }
    for (Term* call : std::ranges::reverse_view(calls)) {  // those in another one's operands first: they move
      if (given != nullptr) {
        const auto argument = std::ranges::find(version.arguments, given->id, &ResidualArgument::id);
        Term instead = given->value ? *given : std::move(call->operands[argument - version.arguments.begin()]);
        *call = std::move(instead);
        continue;
      }
      std::vector<Term> operands;
      for (const std::size_t place : forward->order) {
        operands.push_back(std::move(call->operands[place]));
      }
      call->text = forward->call.text;
      call->only_computes = forward->call.only_computes;
      call->operands = std::move(operands);
    }
    if (given != nullptr) {
      fold_again(output, changes);
    }
    output.versions.erase(output.versions.begin() + static_cast<std::ptrdiff_t>(v));
    changed = true;
  }
  return changed;
}

bool drop_unnamed(Output& output) {
  std::set<std::string> called, named;
  const auto nothing = [](const Residual&) {};
  for (const Version& version : output.versions) {
    for_each(
        version.body,
        [&](const Term& term) {
          if (term.kind == Kind::kCall && term.text != version.name) {
            called.insert(term.text);
          }
        },
        nothing);
    named.merge(names_used(version));
  }
  for (const ResidualType& type : output.types) {
    add_names_used(type.type, named);
    for (const Field& field : type.fields) {
      add_names_used(field.type, named);
    }
  }
  const std::size_t functions = std::erase_if(output.versions, [&](const Version& version) {
    return version.function->kind != Function::Kind::kKernel && !called.contains(version.name);
  });
  const std::size_t records = std::erase_if(output.types, [&](const ResidualType& type) {
    return type.record != nullptr && !named.contains(type.record->name);
  });
  return functions + records > 0;
}

}  // namespace convtgen
