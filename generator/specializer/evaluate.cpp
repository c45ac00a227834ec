// The pass `evaluate`: names, types, functions and errors; and the order of the passes.
#include "generator/specializer/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "generator/specializer/fold.h"
#include "generator/specializer/static_evaluator.h"

namespace convtgen {
namespace {

constexpr int kMaxStaticCalls = 100;  // of calls with static arguments

std::size_t order_of(const Program& program, const Function& function) {
  for (std::size_t i = 0; i < program.items.size(); ++i) {
    if (std::get_if<Function>(&program.items[i]) == &function) {
      return i;
    }
  }
  return program.items.size();
}

}  // namespace

Result<Output> evaluate_program(const Globals& globals, std::span<const WantedKernel> kernels,
                                std::string_view architecture, std::optional<CleanUp> without) {
  return Evaluator(globals, architecture).run(kernels, without);
}

Result<Output> Evaluator::run(std::span<const WantedKernel> kernels, std::optional<CleanUp> without) {
  std::set<std::string> symbols;
  for (const WantedKernel& wanted : kernels | std::views::reverse) {
    specialise_kernel(wanted);
    if (error_) {
      return std::unexpected(*error_);
    }
    symbols.insert(wanted.symbol);
  }
  Output output;
  output.globals = &globals_;
  collect(output, std::move(symbols));
  check_architecture(output);
  if (error_) {
    return std::unexpected(*error_);
  }
  const auto with = [&](CleanUp each) { return without != each; };
  while (drop_constant_arguments(output, changes_) ||
         (with(CleanUp::kConstantFields) && drop_constant_fields(output, changes_)) ||
         (with(CleanUp::kUnusedFields) && drop_unused_fields(output)) || drop_unnamed(output) ||
         (with(CleanUp::kForwards) && drop_forwards(output, changes_)) ||
         (with(CleanUp::kArraysOfOne) && drop_arrays_of_one(output, changes_))) {
    do {  // what was computed for an argument alone goes with it
      for (Version& version : output.versions) {
        simplify(version.body, version.arguments, changes_);
      }
    } while (with(CleanUp::kUnusedArguments) && drop_unused_arguments(output));
  }
  for (Version& version : output.versions) {
    rename_shadowing(version.body, version.arguments);
  }
  number_versions(output);
  name_constants(output);
  if (with(CleanUp::kComments)) {
    settle_comments(output);
  }
  return output;
}

/// A kernel, with nothing known of its arguments.
void Evaluator::specialise_kernel(const WantedKernel& wanted) {
  const Function* kernel = nullptr;
  for (const Item& item : globals_.program().items) {
    const auto* function = std::get_if<Function>(&item);
    if (function != nullptr && function->kind == Function::Kind::kKernel && function->name == wanted.function) {
      kernel = function;
    }
  }
  if (kernel == nullptr) {
    error_ = Error{fmt::format("the template {} has no kernel '{}'", globals_.program().name, wanted.function)};
    return;
  }
  std::vector<Term> arguments;
  for (const Argument& argument : kernel->arguments) {
    Term dynamic;
    dynamic.kind = Expression::Kind::kName;
    dynamic.text = argument.name;
    arguments.push_back(dynamic);
  }
  const std::size_t made = specialise(*kernel, arguments);
  if (!error_) {
    versions_[made].name = wanted.symbol;
    versions_[made].cluster = wanted.cluster;
  }
}

void Evaluator::report(std::string_view message) {
  if (!error_) {
    error_ = frame_ != nullptr ? error_at(place_here(), message) : Error{std::string(message)};
  }
}

Place Evaluator::place_here() const {
  return {frame_->function->place.file, frame_->function->place.line + frame_->line};
}

int Evaluator::line_here() const {
  const Place& place = frame_->function->place;
  return place.file == globals_.program().name + ".cu" ? place.line + frame_->line : 0;
}

Evaluator::Entry* Evaluator::find(std::string_view name) {
  for (auto scope = frame_->scopes.rbegin(); scope != frame_->scopes.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) {
      return &found->second;
    }
  }
  return nullptr;
}

/// Follows a name that stands for another type. With `spelling`, only to scalars: other aliases keep their name.
bool Evaluator::resolve_alias(std::string_view name, bool spelling, Type& out) {
  if (const Type* parameter = globals_.type_parameter(name)) {
    out = *parameter;
    return true;
  }
  if (const Entry* local = find(name); local != nullptr && local->kind == Entry::Kind::kType) {
    out = spelling ? local->written : local->type;
    return !spelling || scalar_of(globals_, local->type).has_value();
  }
  if (const Alias* alias = globals_.alias(name)) {
    out = resolve(alias->type);
    return !spelling || scalar(out).has_value();
  }
  return false;
}

std::optional<Scalar> Evaluator::scalar(const Type& resolved) {
  return resolved.kind == Type::Kind::kNamed ? scalar_named(resolved.name) : std::nullopt;
}

int Evaluator::extent_of(const Type& type) {
  if (type.extent.empty()) {
    return 0;
  }
  const Term extent = evaluate(type.extent[0]);
  if (!extent.value || is_floating(extent.value->type) || wide(*extent.value) <= 0 ||
      !fits(Scalar::kInt, wide(*extent.value))) {
    report(extent.value ? fmt::format("an array of {} elements", literal_text(*extent.value))
                        : std::string("the extent of an array must be static"));
    return 1;
  }
  return static_cast<int>(wide(*extent.value));
}

namespace {

Expression extent_literal(int extent) {
  Expression out;
  out.value = integer_value(Scalar::kInt, extent);
  return out;
}

}  // namespace

Type Evaluator::resolve(const Type& type) {
  Type out = type;
  if (type.kind == Type::Kind::kNamed) {
    if (const std::optional<Scalar> found = scalar_named(type.name)) {
      out.name = spelling_of(*found);
    } else if (Type other; resolve_alias(type.name, false, other)) {
      out = other;
      out.is_const = out.is_const || type.is_const;
    } else if (globals_.is_enumeration(type.name)) {
      out.name = "int";
    }
    return out;
  }
  out.element[0] = resolve(type.element.at(0));
  if (type.kind == Type::Kind::kArray && !type.extent.empty()) {
    out.extent = {extent_literal(extent_of(type))};
  }
  return out;
}

Type Evaluator::spell(const Type& type) {
  Type out = type;
  if (type.kind == Type::Kind::kNamed) {
    if (const std::optional<Scalar> found = scalar_named(type.name)) {
      out.name = spelling_of(*found);
    } else if (Type other; resolve_alias(type.name, true, other)) {
      out = other;
      out.is_const = out.is_const || type.is_const;
    } else if (globals_.is_enumeration(type.name)) {
      out.name = "int";
    }
    return out;
  }
  out.element[0] = spell(type.element.at(0));
  if (type.kind == Type::Kind::kArray && !type.extent.empty()) {
    out.extent = {extent_literal(extent_of(type))};
  }
  return out;
}

std::size_t Evaluator::specialise(const Function& function, const std::vector<Term>& arguments) {
  if (arguments.size() != function.arguments.size()) {
    report(fmt::format("{} takes {} arguments, not {}", function.name, function.arguments.size(), arguments.size()));
    return 0;
  }
  if (depth_ >= kMaxStaticCalls) {
    report(fmt::format("calls are more than {} deep", kMaxStaticCalls));
    return 0;
  }
  Frame frame;
  frame.function = &function;
  frame.scopes.emplace_back();
  Version version;
  version.function = &function;
  version.order = order_of(globals_.program(), function);
  Frame* const outer = std::exchange(frame_, &frame);
  // Arguments' types stand in the callee's scope, which sees no names of the caller.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = function.arguments[i];
    Entry entry;
    entry.type = resolve(argument.type);
    const std::optional<Scalar> type = scalar(entry.type);
    if (argument.type.is_const && type && arguments[i].value && function.kind != Function::Kind::kKernel) {
      const Result<Value> value = evaluate_cast(*type, *arguments[i].value);
      if (!value) {
        report(fmt::format("argument '{}': {}", argument.name, value.error().message));
      } else {
        entry.kind = Entry::Kind::kStatic;
        entry.value = *value;
        Value plain = *value;
        plain.is_hexadecimal = false;  // the same version, however the number is written
        version.key += fmt::format("{}={};", argument.name, literal_text(plain));
      }
    } else {
      entry.id = ++ids_;
      Type written = spell(argument.type);
      written.is_const = written.is_const && !type;  // says nothing to callers
      version.arguments.push_back({written, argument.name, entry.id, i});
    }
    frame.scopes.back().insert_or_assign(argument.name, std::move(entry));
  }
  const auto known = memo_.find({function.name, version.key});
  if (error_ || known != memo_.end()) {
    frame_ = outer;
    return error_ ? 0 : known->second;
  }
  ++depth_;
  version.type = spell(function.type);
  for (const Expression& bound : function.launch_bounds) {
    const Term term = evaluate(bound);
    if (!term.value && !error_) {
      report("launch bounds must be static");
    }
    if (version.launch_bounds.empty() && term.value) {
      version.threads = static_cast<int>(wide(*term.value));
    }
    version.launch_bounds.push_back(term);
  }
  for (const std::string& text : function.comment) {
    version.comment.push_back(fill_holes(text));
  }
  version.body = evaluate_all(function.body);
  frame_ = outer;
  --depth_;

  simplify(version.body, version.arguments, changes_);
  std::erase_if(version.arguments, [&](const ResidualArgument& a) { return !uses_variable(version.body, a.id); });
  version.name = numbered_name(function, ++names_[function.name]);
  memo_[{function.name, version.key}] = versions_.size();
  version.sequence = versions_.size();
  versions_.push_back(std::move(version));
  return versions_.size() - 1;
}

}  // namespace convtgen
