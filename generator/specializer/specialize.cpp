#include "generator/specializer/specialize.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "generator/language/language.h"
#include "generator/layer/directions.h"
#include "generator/planner/plan/layer_parameters.h"
#include "generator/planner/table/templates.h"
#include "generator/program/program_text.h"
#include "generator/recipe/contract.h"
#include "generator/specializer/residual.h"

namespace convtgen {
namespace {

std::string text_of(const ParameterValue& value) {
  const auto list = [](const auto& values) {
    std::string out = "{";
    for (const auto& element : values) {
      out += fmt::format("{},", element);
    }
    return out + "}";
  };
  if (const auto* b = std::get_if<bool>(&value)) {
    return *b ? "true" : "false";
  }
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    return fmt::format("{}", *i);
  }
  if (const auto* d = std::get_if<double>(&value)) {
    return fmt::format("{}", *d);
  }
  if (const auto* type = std::get_if<TypeName>(&value)) {
    return type->spelling;
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    return list(*integers);
  }
  return list(std::get<std::vector<double>>(value));
}

/// The first 64 bits of the SHA-256 of length-prefixed fields, in hexadecimal.
std::string hash_of(const std::vector<std::string>& fields) {
  std::string bytes;
  for (const std::string& field : fields) {
    bytes += fmt::format("{}:{}", field.size(), field);
  }
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) {
    out += fmt::format("{:02x}", digest[i]);
  }
  return out;
}

/// The type of a parameter for launchers: without what only the compiler of the kernel needs.
std::string launch_type(Type type) {
  type.is_restrict = false;
  type.is_const = false;
  return text_of_type(type);
}

std::vector<KernelParameter> parameters_of(const Version& kernel, const LaunchPlan& launch) {
  std::vector<KernelParameter> parameters;
  for (const ResidualArgument& argument : kernel.arguments) {
    const auto renamed = std::ranges::find(launch.renamed, argument.name, &std::pair<std::string, std::string>::first);
    parameters.push_back(
        {renamed == launch.renamed.end() ? argument.name : renamed->second, launch_type(argument.type)});
  }
  return parameters;
}

/// The name of the program's last kernel; empty without kernels.
std::string last_kernel(const Program& program) {
  std::string name;
  for (const Item& item : program.items) {
    const auto* function = std::get_if<Function>(&item);
    if (function != nullptr && function->kind == Function::Kind::kKernel) {
      name = function->name;
    }
  }
  return name;
}

/// The grid in blocks of a kernel whose grid may be in threads.
Grid grid_of(const KernelPlan& planned, int threads) {
  Grid grid = planned.grid;
  if (planned.per_thread) {
    grid.axes.front().tile *= threads;
  }
  return grid;
}

/// What is left of a template, which refers to the globals that it was made with, and the recipe of its kernels, whose
/// arguments are not bound yet.
struct Evaluated {
  Output output;
  Recipe recipe;
};

Result<Evaluated> evaluated(const Globals& globals, std::string_view symbol, std::string_view architecture,
                            const LaunchPlan& launch) {
  std::vector<WantedKernel> wanted;
  for (const KernelPlan& planned : launch.kernels) {
    WantedKernel kernel = {planned.function, std::string(symbol) + planned.suffix, planned.cluster};
    if (std::ranges::find(wanted, kernel.symbol, &WantedKernel::symbol) == wanted.end()) {
      wanted.push_back(std::move(kernel));
    }
  }
  Result<Output> output = evaluate_program(globals, wanted, architecture);
  if (!output) {
    return std::unexpected(output.error());
  }
  Evaluated out{.output = *std::move(output),
                .recipe = {.kernels = {}, .regions = launch.regions, .tensors = launch.tensors, .maps = launch.maps}};
  for (const KernelPlan& planned : launch.kernels) {
    const Version& version =
        *std::ranges::find(out.output.versions, std::string(symbol) + planned.suffix, &Version::name);
    const int threads = planned.threads > 0 ? planned.threads : version.threads;
    out.recipe.kernels.push_back({.symbol = version.name,
                                  .threads = threads,
                                  .cluster = planned.cluster,
                                  .shared_bytes = planned.shared_bytes,
                                  .parameters = parameters_of(version, launch),
                                  .arguments = {},
                                  .constants = planned.constants,
                                  .grid = grid_of(planned, threads),
                                  .waits = reaches(out.output, version, "grid_dependency_wait"),
                                  .once = planned.once});
  }
  return out;
}

/// The same with its arguments bound.
Result<Evaluated> bound(const Globals& globals, std::string_view symbol, std::string_view architecture,
                        const LaunchPlan& launch) {
  auto out = evaluated(globals, symbol, architecture, launch);
  if (out) {
    if (auto done = bind_arguments(out->recipe, launch.constants); !done) {
      return std::unexpected(done.error());
    }
  }
  return out;
}

KernelSource printed(Evaluated evaluated, const std::string& head, std::string_view symbol) {
  Text text = print(evaluated.output, head, symbol);
  return {.text = std::move(text.text),
          .symbol = std::string(symbol),
          .template_lines = std::move(text.lines),
          .recipe = std::move(evaluated.recipe)};
}

/// A template's program, read once in a process.
const Result<Program>& program_of(const Template& known) {
  struct Slot {
    std::once_flag once;
    std::optional<Result<Program>> program;
  };
  static std::vector<Slot> slots(templates().size());
  Slot& slot = slots[static_cast<std::size_t>(&known - templates().data())];
  std::call_once(slot.once, [&] { slot.program = read_program(known.program()); });
  return *slot.program;
}

}  // namespace

const RecipeKernel& KernelSource::main() const {
  return *std::ranges::find(recipe.kernels, symbol, &RecipeKernel::symbol);
}

Result<KernelSource> specialize_program(const Program& program, const Parameters& parameters, std::string_view head,
                                        std::string_view symbol, std::string_view architecture,
                                        const LaunchPlan& launch) {
  const Result<Globals> globals = Globals::make(program, parameters);
  if (!globals) {
    return std::unexpected(globals.error());
  }
  auto done = bound(*globals, symbol, architecture, launch);
  if (!done) {
    return std::unexpected(done.error());
  }
  return printed(*std::move(done), std::string(head), symbol);
}

Result<KernelSource> specialize_program(const Program& program, const Parameters& parameters, std::string_view head,
                                        std::string_view symbol, std::string_view architecture) {
  LaunchPlan launch;
  launch.kernels.push_back({.function = last_kernel(program), .suffix = ""});
  const Result<Globals> globals = Globals::make(program, parameters);
  if (!globals) {
    return std::unexpected(globals.error());
  }
  auto done = evaluated(*globals, symbol, architecture, launch);
  if (!done) {
    return std::unexpected(done.error());
  }
  return printed(*std::move(done), std::string(head), symbol);
}

Result<KernelSource> specialize(const Problem& problem, const Plan& plan) {
  const auto known = template_named(plan.template_name);
  if (!known) {
    return std::unexpected(known.error());
  }
  const Result<Program>& program = program_of(**known);
  if (!program) {
    return fail(
        fmt::format("the program of the template {} can't be read: {}", plan.template_name, program.error().message));
  }
  // What a plan launches is computed from its parameters: first of all it must have them.
  const Result<Globals> globals = Globals::make(*program, plan.parameters);
  if (!globals) {
    return std::unexpected(globals.error());
  }
  const std::string layer = canonical_form(in_direction(problem.layer, problem.direction));
  const std::string direction(name_of(problem.direction));
  std::vector<std::string> fields = {layer, direction, problem.target.architecture, plan.template_name};
  for (const auto& [name, value] : plan.parameters) {
    if (!is_flat_value(name, value) && !is_plain_input_value(name, value) && !is_slice(name)) {
      fields.push_back(name);
      fields.push_back(text_of(value));
    }
  }
  const std::string symbol = fmt::format("convtgen_{}_{}_{}", plan.template_name, direction, hash_of(fields));
  const std::string& architecture = problem.target.architecture;
  const LaunchPlan& launch = plan.launch;
  auto done = bound(*globals, symbol, architecture, launch);
  if (!done) {
    return std::unexpected(done.error());
  }
  const std::string tuned = plan.recorded && !plan.recorded->file_digest.empty()
                                ? fmt::format("// By the tuning record of {} in the file with sha256 {}.\n",
                                              plan.recorded->chip, plan.recorded->file_digest)
                                : "";
  const std::string head =
      fmt::format("// {}\n// {} for {}. Template {}: {}.\n{}{}{}", layer, direction, architecture, plan.template_name,
                  plan.summary, tuned, launch.note.empty() ? "" : fmt::format("// {}\n", launch.note),
                  contract_text(problem.layer, done->recipe, architecture));
  return printed(*std::move(done), head, symbol);
}

}  // namespace convtgen
