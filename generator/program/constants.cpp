#include "generator/program/constants.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace convtgen {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min() + 1;
constexpr int kMaxSteps = 1000000;
constexpr int kMostNestedCalls = 256;

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return !__builtin_add_overflow(a, b, &out) ? out : a < 0 ? kLeast : kMost;
}
std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return !__builtin_sub_overflow(a, b, &out) ? out : a < 0 ? kLeast : kMost;
}
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return !__builtin_mul_overflow(a, b, &out) ? out : (a < 0) != (b < 0) ? kLeast : kMost;
}
std::int64_t shifted_left(std::int64_t a, std::int64_t by) {
  return by < 0 || by > 62 ? kMost : product(a, std::int64_t{1} << by);
}

/// Of a node that converts.
std::int64_t converted(const ConstantNode& node, std::int64_t value) {
  if (node.type == Scalar::kBool) {
    return value != 0 ? 1 : 0;
  }
  const int bits = bits_of(node.type);
  if (node.from != Scalar::kBool && is_signed(node.type) && !is_signed(node.from) && bits < 64 &&
      bits <= bits_of(node.from)) {
    const auto unused = static_cast<unsigned>(64 - bits);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
  }
  return value & node.value;
}

}  // namespace

Constants::Constants(const ConstantProgram& program)
    : program_(&program),
      parameters_(program.parameter_names_.size()),
      values_(program.constants_.size()),
      read_(program.constants_.size()) {}

Result<Constants> Constants::make(const ConstantProgram& program, const Parameters& parameters,
                                  std::span<const std::string_view> changing,
                                  std::span<const std::string_view> wanted) {
  Constants out(program);
  for (const auto& [name, value] : parameters) {
    if (auto given = out.give(name, value); !given) {
      return std::unexpected(std::move(given.error()));
    }
  }
  for (const std::string_view name : changing) {
    const auto found = program.parameter_ids_.find(name);
    if (found == program.parameter_ids_.end()) {
      return fail(fmt::format("the template {} has no parameter '{}'", program.name_, name));
    }
    out.changing_.push_back(found->second);
  }
  for (const std::string_view name : wanted) {
    const auto found = program.constant_ids_.find(name);
    if (found == program.constant_ids_.end()) {
      return fail(fmt::format("the template {} has no constant '{}'", program.name_, name));
    }
    if (const ConstantRoot& root = program.constants_[static_cast<std::size_t>(found->second)]; root.node < 0) {
      return fail(fmt::format("the constant '{}' of the template {}: {}", name, program.name_, root.reason));
    }
    out.wanted_.push_back(found->second);
  }
  return out;
}

Result<void> Constants::give(std::string_view name, const ParameterValue& value) {
  const auto found = program_->parameter_ids_.find(name);
  if (found == program_->parameter_ids_.end()) {
    return fail(fmt::format("the template {} has no parameter '{}'", program_->name_, name));
  }
  if (const bool* flag = std::get_if<bool>(&value)) {
    set_parameter(found->second, *flag ? 1 : 0);
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    set_parameter(found->second, *integer);
  } else if (const auto* type = std::get_if<TypeName>(&value)) {
    const std::optional<Scalar> scalar = scalar_named(type->spelling);
    if (!scalar) {
      return fail(fmt::format("parameter '{}' of the template {}: '{}' is no scalar type", name, program_->name_,
                              type->spelling));
    }
    set_parameter(found->second, bytes_of(*scalar));
  }
  return {};
}

void Constants::set_parameter(int id, std::int64_t value) {
  const auto at = static_cast<std::size_t>(id);
  if (parameters_[at] != value) {
    parameters_[at] = value;
    known_ &= ~program_->dependents_[at];
  }
}

std::int64_t Constants::constant(int id) {
  const auto at = static_cast<std::size_t>(id);
  if (!known_[at]) {
    if (depth_ == 0) {
      steps_ = 0;
    }
    if (has_read_anew(at)) {
      values_[at] = value_of(program_->constants_[at].node);
    }
    known_.set(at);
  }
  return values_[at];
}

/// Most nodes are without operands: these are done here.
inline std::int64_t Constants::value_of(int index) {
  using Op = ConstantNode::Op;
  const ConstantNode& node = program_->nodes_[static_cast<std::size_t>(index)];
  const auto at = static_cast<std::size_t>(node.a);
  switch (node.op) {
    case Op::kLiteral:
      return node.value;
    case Op::kParameter:
      return parameters_[at];
    case Op::kConstant:
      return known_[at] ? values_[at] : constant(node.a);
    case Op::kLocal:
      return locals_[frame_ + at];
    default:
      return evaluate(node);
  }
}

/// Whether a constant must be evaluated. A loop is run again only where something that it reads has another value:
/// parameters change often whose changes reach it by constants that stay as they were.
bool Constants::has_read_anew(std::size_t constant) {
  const std::vector<int>& reads = program_->constants_[constant].reads;
  const bool is_first = read_[constant].empty();
  read_[constant].resize(reads.size());
  bool is_new = is_first;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const std::int64_t value = value_of(reads[i]);
    is_new |= std::exchange(read_[constant][i], value) != value;
  }
  return is_new;
}

std::int64_t Constants::evaluate(const ConstantNode& node) {
  using Op = ConstantNode::Op;
  switch (node.op) {
    case Op::kAssign: {
      const std::int64_t value = value_of(node.b);  // which may move the locals
      return locals_[frame_ + static_cast<std::size_t>(node.a)] = value;
    }
    case Op::kConvert:
      return converted(node, value_of(node.a));
    case Op::kAnd:
      return value_of(node.a) != 0 && value_of(node.b) != 0 ? 1 : 0;
    case Op::kOr:
      return value_of(node.a) != 0 || value_of(node.b) != 0 ? 1 : 0;
    case Op::kNot:
      return value_of(node.a) == 0 ? 1 : 0;
    case Op::kNegate:
      return difference(0, value_of(node.a)) & node.value;
    case Op::kComplement:
      return ~value_of(node.a) & node.value;
    case Op::kConditional:
      return value_of(value_of(node.a) != 0 ? node.b : node.c);
    case Op::kCall:
      return call(node);
    default:
      break;
  }
  const std::int64_t a = value_of(node.a);
  const std::int64_t b = value_of(node.b);
  switch (node.op) {
    case Op::kAdd:
      return sum(a, b) & node.value;
    case Op::kSubtract:
      return difference(a, b) & node.value;
    case Op::kMultiply:
      return product(a, b) & node.value;
    case Op::kDivide:
      return b != 0 ? a / b : kMost;
    case Op::kRemainder:
      return b != 0 ? a % b : kMost;
    case Op::kLess:
      return a < b ? 1 : 0;
    case Op::kLessEqual:
      return a <= b ? 1 : 0;
    case Op::kEqual:
      return a == b ? 1 : 0;
    case Op::kNotEqual:
      return a != b ? 1 : 0;
    case Op::kBitAnd:
      return a & b;
    case Op::kBitOr:
      return a | b;
    case Op::kBitXor:
      return a ^ b;
    case Op::kShiftLeft:
      return shifted_left(a, b) & node.value;
    case Op::kShiftRight:
      return b < 0 || b > 63 ? 0 : a >> b;
    default:
      return 0;
  }
}

std::int64_t Constants::call(const ConstantNode& node) {
  const ConstantFunction& function = program_->functions_[static_cast<std::size_t>(node.a)];
  if (depth_ >= kMostNestedCalls || steps_ >= kMaxSteps) {
    return kMost;
  }
  const std::size_t own = locals_.size();
  locals_.resize(own + function.locals);
  for (std::size_t i = 0; i < static_cast<std::size_t>(node.c); ++i) {
    const std::int64_t value = value_of(program_->arguments_[static_cast<std::size_t>(node.b) + i]);
    locals_[own + i] = value;
  }
  const std::size_t outer = std::exchange(frame_, own);
  ++depth_;
  result_ = kMost;
  run(function.body);
  --depth_;
  frame_ = outer;
  locals_.resize(own);
  return result_;
}

Constants::Flow Constants::run(const std::vector<ConstantStep>& steps) {
  using Kind = ConstantStep::Kind;
  for (const ConstantStep& step : steps) {
    if (++steps_ > kMaxSteps) {
      result_ = kMost;
      return Flow::kReturn;
    }
    Flow flow = Flow::kNext;
    switch (step.kind) {
      case Kind::kDo:
        value_of(step.node);
        break;
      case Kind::kIf:
        flow = run(value_of(step.node) != 0 ? step.body : step.otherwise);
        break;
      case Kind::kLoop:
        while (flow == Flow::kNext && (step.node < 0 || value_of(step.node) != 0)) {
          flow = run(step.body);
          flow = flow == Flow::kContinue ? Flow::kNext : flow;
          if (flow == Flow::kNext && step.next >= 0) {
            value_of(step.next);
          }
          if (++steps_ > kMaxSteps) {
            result_ = kMost;
            flow = Flow::kReturn;
          }
        }
        flow = flow == Flow::kBreak ? Flow::kNext : flow;
        break;
      case Kind::kReturn:
        result_ = value_of(step.node);
        return Flow::kReturn;
      case Kind::kBreak:
        return Flow::kBreak;
      case Kind::kContinue:
        return Flow::kContinue;
    }
    if (flow != Flow::kNext) {
      return flow;
    }
  }
  return Flow::kNext;
}

Result<std::vector<std::int64_t>> constants_of(const ConstantProgram& program, const Parameters& parameters,
                                               std::span<const std::string_view> names) {
  auto constants = Constants::make(program, parameters, {}, names);
  if (!constants) {
    return std::unexpected(std::move(constants.error()));
  }
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    values.push_back((*constants)[i]);
  }
  return values;
}

}  // namespace convtgen
