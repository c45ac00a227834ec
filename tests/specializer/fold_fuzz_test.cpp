// Random typed expressions with random static and dynamic leaves: the folded text must have the value and the type that
// the compiler gives the original. One C++ file with all checks, compiled with the overflow sanitizer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "generator/specializer/fold.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;

constexpr std::array kTypes = {Scalar::kInt,      Scalar::kInt,           Scalar::kInt,  Scalar::kUnsigned,
                               Scalar::kLongLong, Scalar::kUnsignedLong,  Scalar::kBool, Scalar::kChar,
                               Scalar::kShort,    Scalar::kUnsignedShort, Scalar::kLong, Scalar::kUnsignedLongLong,
                               Scalar::kFloat,    Scalar::kDouble,        Scalar::kInt,  Scalar::kUnsignedChar};

struct Variable {
  std::string name;
  Value value;
  bool is_static = false;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  std::vector<Variable> variables(int count) {
    std::vector<Variable> out;
    for (int i = 0; i < count; ++i) {
      const Scalar type = kTypes[static_cast<std::size_t>(below(kTypes.size()))];
      out.push_back({fmt::format("v{}", i), value(type), below(2) == 0});
    }
    return out;
  }

  Expression expression(const std::vector<Variable>& variables, int depth) {
    Expression e;
    const int choice = depth == 0 ? below(2) : below(14);
    if (choice == 0) {
      e.value = value(below(3) != 0 ? Scalar::kInt : kTypes[static_cast<std::size_t>(below(kTypes.size()))]);
    } else if (choice <= 2) {
      e.kind = Kind::kName;
      e.text = variables[static_cast<std::size_t>(below(static_cast<int>(variables.size())))].name;
    } else if (choice == 3) {
      constexpr std::array<std::string_view, 4> kOperators = {"-", "!", "~", "+"};
      e.kind = Kind::kUnary;
      e.text = kOperators[static_cast<std::size_t>(below(4))];
      e.operands.push_back(expression(variables, depth - 1));
    } else if (choice == 4) {
      e.kind = Kind::kCast;
      e.text = "static_cast";
      e.type = scalar_type(kTypes[static_cast<std::size_t>(below(kTypes.size()))]);
      e.operands.push_back(expression(variables, depth - 1));
    } else if (choice == 5) {
      e.kind = Kind::kConditional;
      for (int i = 0; i < 3; ++i) {
        e.operands.push_back(expression(variables, depth - 1));
      }
    } else {
      // Additions and products most often, as templates have them.
      constexpr std::array<std::string_view, 26> kOperators = {"+",  "-",  "*", "+",  "-",  "+",  "-",  "*",  "/",
                                                               "%",  "<",  ">", "<=", ">=", "==", "!=", "&&", "||",
                                                               "<<", ">>", "&", "|",  "^",  "+",  "-",  "*"};
      e.kind = Kind::kBinary;
      e.text = kOperators[static_cast<std::size_t>(below(kOperators.size()))];
      e.operands.push_back(expression(variables, depth - 1));
      e.operands.push_back(expression(variables, depth - 1));
    }
    return e;
  }

 private:
  Value value(Scalar type) {
    if (is_floating(type)) {
      constexpr std::array<double, 9> kReals = {0, 1, -1, 0.5, 2, -0.0, 3.25, 1e10, 0.1};
      return real_value(type, kReals[static_cast<std::size_t>(below(9))]);
    }
    switch (below(8)) {
      case 0:  // near the ends
        return *convert(Value{Scalar::kUnsignedLongLong, random_(), 0}, type);
      case 1:
        return is_signed(type) ? *convert(Value{Scalar::kLongLong, 1ull << (bits_of(type) - 1), 0}, type)
                               : *convert(Value{Scalar::kLongLong, ~0ull, 0}, type);
      case 2:
        return *convert(integer_value(Scalar::kInt, -below(8)), type);
      default:
        return *convert(integer_value(Scalar::kInt, below(9)), type);
    }
  }

  std::mt19937_64 random_;
};

/// As the specializer walks an expression; `all` takes dynamic variables for static too, which gives the value.
Result<Term> fold(const Expression& e, const std::vector<Variable>& variables, bool all) {
  const auto operand = [&](std::size_t i) { return fold(e.operands[i], variables, all); };
  switch (e.kind) {
    case Kind::kLiteral:
      return literal(e.value);
    case Kind::kName:
      for (const Variable& v : variables) {
        if (v.name == e.text) {
          return v.is_static || all ? literal(v.value) : name_term(v.name, scalar_type(v.value.type));
        }
      }
      return fail("no such variable");
    case Kind::kUnary: {
      Result<Term> a = operand(0);
      return a ? fold_unary(e.text, std::move(*a)) : a;
    }
    case Kind::kCast: {
      Result<Term> a = operand(0);
      return a ? fold_cast(e.text, e.type, e.type, std::move(*a)) : a;
    }
    case Kind::kConditional: {
      Result<Term> c = operand(0);
      Result<Term> a = operand(1);
      Result<Term> b = operand(2);
      for (Result<Term>* part : {&c, &a, &b}) {
        if (!*part) {
          return *part;
        }
      }
      return fold_conditional(std::move(*c), std::move(*a), std::move(*b));
    }
    default: {
      Result<Term> a = operand(0);
      Result<Term> b = operand(1);
      if (!a || !b) {
        return a ? b : a;
      }
      return fold_binary(e.text, std::move(*a), std::move(*b));
    }
  }
}

/// With parentheses around everything, so that the printer under test has no part in it.
std::string original(const Expression& e) {
  const auto operand = [&](std::size_t i) { return original(e.operands[i]); };
  switch (e.kind) {
    case Kind::kLiteral:
      return "(" + literal_text(e.value) + ")";
    case Kind::kName:
      return e.text;
    case Kind::kUnary:
      return fmt::format("({}{})", e.text, operand(0));
    case Kind::kCast:
      return fmt::format("static_cast<{}>({})", e.type.name, operand(0));
    case Kind::kConditional:
      return fmt::format("({} ? {} : {})", operand(0), operand(1), operand(2));
    default:
      return fmt::format("({} {} {})", operand(0), e.text, operand(1));
  }
}

/// Whether C++ accepts it: no % or ~ of a floating type anywhere.
bool is_legal(const Expression& e, const std::vector<Variable>& variables, Scalar& type) {
  std::vector<Scalar> types(e.operands.size());
  for (std::size_t i = 0; i < e.operands.size(); ++i) {
    if (!is_legal(e.operands[i], variables, types[i])) {
      return false;
    }
  }
  const auto is_one_of = [&](std::initializer_list<std::string_view> operators) {
    return std::find(operators.begin(), operators.end(), e.text) != operators.end();
  };
  switch (e.kind) {
    case Kind::kLiteral:
      type = e.value.type;
      return true;
    case Kind::kName:
      for (const Variable& v : variables) {
        if (v.name == e.text) {
          type = v.value.type;
        }
      }
      return true;
    case Kind::kUnary:
      type = e.text == "!" ? Scalar::kBool : promoted(types[0]);
      return e.text != "~" || !is_floating(types[0]);
    case Kind::kCast:
      type = *scalar_named(e.type.name);
      return true;
    case Kind::kConditional:
      type = types[1] == types[2] ? types[1] : common_type(types[1], types[2]);
      return true;
    default:
      type = is_one_of({"<<", ">>"}) ? promoted(types[0]) : common_type(types[0], types[1]);
      if (is_one_of({"%", "&", "|", "^", "<<", ">>"}) && (is_floating(types[0]) || is_floating(types[1]))) {
        return false;
      }
      if (is_one_of({"<", ">", "<=", ">=", "==", "!=", "&&", "||"})) {
        type = Scalar::kBool;
      }
      return true;
  }
}

TEST(FoldFuzz, FoldedTextHasTheValueAndTypeOfTheOriginal) {
  const char* seed_text = std::getenv("CONVTGEN_FUZZ_SEED");
  const char* count_text = std::getenv("CONVTGEN_FUZZ_COUNT");
  const std::uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : std::random_device{}();
  const int wanted = count_text != nullptr ? std::atoi(count_text) : 1500;
  fmt::print("seed {} (CONVTGEN_FUZZ_SEED replays it), {} checks (CONVTGEN_FUZZ_COUNT)\n", seed, wanted);

  Generator generator(seed);
  std::string source = R"(#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>
int wrong = 0;
template <typename A, typename B>
void check(int line, A a, B b, const char* original, const char* folded) {
  if (!std::is_same_v<A, B>) {
    std::printf("%d: another type: %s  ->  %s\n", line, original, folded);
    ++wrong;
  } else if (std::memcmp(&a, &b, sizeof(A)) != 0 && !(a != a && b != b)) {
    std::printf("%d: another value: %s  ->  %s\n", line, original, folded);
    ++wrong;
  }
}
)";
  std::string calls;
  int made = 0, partial = 0;
  for (int tries = 0; made < wanted && tries < 100 * wanted; ++tries) {
    const std::vector<Variable> variables = generator.variables(5);
    const Expression e = generator.expression(variables, 1 + generator.below(4));
    Scalar type = Scalar::kInt;
    if (e.operands.empty() || !is_legal(e, variables, type)) {
      continue;
    }
    if (!fold(e, variables, true)) {
      continue;  // undefined for these values: nothing to compare with
    }
    const Result<Term> folded = fold(e, variables, false);
    ASSERT_TRUE(folded) << "an error where all parts have values: " << original(e) << ": " << folded.error().message;
    ASSERT_EQ(folded->scalar, type) << original(e) << " -> " << text_of(*folded);
    partial += folded->value ? 0 : 1;
    source += fmt::format("void check{}() {{\n", made);
    for (const Variable& v : variables) {
      source += fmt::format("  volatile {0} from_{1} = {2};\n  [[maybe_unused]] {0} {1} = from_{1};\n",
                            spelling_of(v.value.type), v.name, literal_text(v.value));
    }
    const std::string before = original(e), after = text_of(*folded);
    source += fmt::format("  check({}, {}, {}, \"{}\", \"{}\");\n}}\n", made, before, after, before, after);
    calls += fmt::format("  check{}();\n", made);
    ++made;
  }
  ASSERT_EQ(made, wanted);
  EXPECT_GT(partial, wanted / 3);
  source += "int main() {\n" + calls + "  return wrong != 0;\n}\n";

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("convtgen_fold_{}_{}", seed, ::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "check.cpp") << source;
  // GCC takes 0.0f - x for -x where x was an integer, unless it must mind rounding modes.
  const std::string compile = fmt::format(
      "g++ -std=c++20 -w -O0 -frounding-math "
      "-fsanitize=signed-integer-overflow,integer-divide-by-zero,float-cast-overflow "
      "-fno-sanitize-recover=all -o {0}/check {0}/check.cpp 2> {0}/log",
      folder.string());
  ASSERT_EQ(std::system(compile.c_str()), 0) << "see " << folder << "/log";
  ASSERT_EQ(std::system((folder / "check").c_str()), 0) << "see " << folder << "/check.cpp";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace convtgen
