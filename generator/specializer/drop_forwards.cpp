// The pass `drop` of functions that only call another one with their own arguments: calls name that one instead.
#include <algorithm>
#include <map>
#include <optional>

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

bool drop_forwards(Output& output) {
  bool changed = false;
  for (std::size_t v = 0; v < output.versions.size();) {
    const Version& version = output.versions[v];
    const std::optional<Forward> forward = forward_of(output, version);
    std::vector<Term*> calls;
    for (Version& caller : output.versions) {
      for_each(
          caller.body,
          [&](Term& term) {
            if (forward && term.kind == Kind::kCall && term.text == version.name) {
              calls.push_back(&term);
            }
          },
          [](const Residual&) {});
    }
    if (!forward || !std::ranges::all_of(calls, [&](const Term* call) { return converts_nothing(*call, version); })) {
      ++v;
      continue;
    }
    for (Term* call : std::ranges::reverse_view(calls)) {  // those in another one's operands first: they move
      std::vector<Term> operands;
      for (const std::size_t place : forward->order) {
        operands.push_back(std::move(call->operands[place]));
      }
      call->text = forward->call.text;
      call->only_computes = forward->call.only_computes;
      call->operands = std::move(operands);
    }
    output.versions.erase(output.versions.begin() + static_cast<std::ptrdiff_t>(v));
    changed = true;
  }
  return changed;
}

}  // namespace convtgen
