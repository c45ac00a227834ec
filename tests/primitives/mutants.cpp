#include "tests/primitives/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "tests/primitives/emitted.h"

namespace convtgen::testing {
namespace {

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// By name: what the primitives' headers declare whose names speak of order.
bool is_synchronisation(std::string_view word) {
  if (word == "__syncthreads" || word == "__syncwarp") {
    return true;
  }
  constexpr std::array<std::string_view, 6> kWords = {"barrier", "fence", "commit", "wait", "arrive", "expect"};
  return std::ranges::any_of(kWords, [&](std::string_view part) { return word.contains(part); }) &&
         std::ranges::find(header_items(), word, &HeaderItem::name) != header_items().end();
}

// A call that is a statement of its own: [begin, end) is its text up to and with the semicolon.
struct Call {
  std::string name;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<std::pair<std::size_t, std::size_t>> arguments;  // [begin, end) of each
};

// The call whose name is [begin, name_end) and is followed by an opening bracket.
Call call_at(const std::string& text, std::size_t begin, std::size_t name_end) {
  Call call{.name = text.substr(begin, name_end - begin), .begin = begin, .end = name_end + 1, .arguments = {}};
  std::size_t argument = call.end;
  for (int depth = 1; depth > 0; ++call.end) {
    const char c = text.at(call.end);
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if ((depth == 1 && c == ',') || (depth == 0 && call.end > argument)) {
      call.arguments.emplace_back(argument, call.end);
      argument = text.find_first_not_of(" \n", call.end + 1);
    }
  }
  return call;
}

// The text with blanks for comments: a call may stand after one.
std::string without_comments(std::string text) {
  for (std::size_t at = text.find("//"); at != std::string::npos; at = text.find("//", at)) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  }
  return text;
}

std::vector<Call> calls_in(const std::string& body) {
  const std::string text = without_comments(body);
  std::vector<Call> calls;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && in_word(text[end])) {
      ++end;
    }
    if (end > i && end < text.size() && text[end] == '(' && is_synchronisation(text.substr(i, end - i))) {
      const std::size_t before = text.find_last_not_of(" \n", i - 1);
      Call call = call_at(text, i, end);
      // Not a definition, nor a call in an expression.
      if (std::string_view(";{})").contains(text[before]) && text.at(call.end) == ';') {
        ++call.end;
        calls.push_back(std::move(call));
      }
    }
    i = std::max(end, i + 1);
  }
  return calls;
}

// A parity that never changes: of a phase counted by `& 1`.
std::string stuck(std::string parity) {
  const std::size_t at = parity.find("& 1");
  return at == std::string::npos ? "" : parity.replace(at, 3, "& 0");
}

struct Numbered {
  const Mutant* mutant;
  std::size_t number;
};

// The part [begin, end) of the text with the mutants that lie in it.
std::string switched(const std::string& text, std::size_t begin, std::size_t end, std::span<const Numbered> mutants) {
  std::string result;
  while (!mutants.empty()) {
    const Mutant first = *mutants.front().mutant;
    const auto same = std::ranges::find_if(
        mutants, [&](const Numbered& one) { return one.mutant->begin != first.begin || one.mutant->end != first.end; });
    const auto inside =
        std::ranges::find_if(same, mutants.end(), [&](const Numbered& one) { return one.mutant->begin >= first.end; });
    result += text.substr(begin, first.begin - begin);
    result += first.is_statement ? "{ " : "(";
    for (const auto& [mutant, number] : std::span(mutants.begin(), same)) {
      result += fmt::format(
          fmt::runtime(first.is_statement ? "if (is_mutant({})) {{ {} }} else " : "is_mutant({}) ? ({}) : "), number,
          mutant->by);
    }
    const std::string as_it_is = switched(text, first.begin, first.end, std::span(same, inside));
    result += first.is_statement ? as_it_is + " }" : "(" + as_it_is + "))";
    begin = first.end;
    mutants = std::span(inside, mutants.end());
  }
  return result + text.substr(begin, end - begin);
}

}  // namespace

std::vector<Mutant> mutants_of(const std::string& body) {
  std::vector<Mutant> mutants;
  for (const Call& call : calls_in(body)) {
    const auto line = 1 + std::count(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(call.begin), '\n');
    const auto replace = [&](std::size_t begin, std::size_t end, const std::string& by, const std::string& what) {
      mutants.push_back({fmt::format("line {}: {} {}", line, body.substr(call.begin, call.end - call.begin), what),
                         begin, end, by, begin == call.begin});
    };
    // What is left may be the body of an if.
    replace(call.begin, call.end, ";", "deleted");
    if (call.name == "mbarrier_arrive_expect") {
      const auto [begin, end] = call.arguments.at(0);
      replace(call.begin, call.end, fmt::format("mbarrier_arrive({});", body.substr(begin, end - begin)),
              "without its bytes");
    }
    if (call.name.starts_with("mbarrier_") && call.name.contains("wait")) {
      const auto [begin, end] = call.arguments.at(1);
      const std::string parity = body.substr(begin, end - begin);
      replace(begin, end, fmt::format("({}) ^ 1", parity), "with its parity flipped");
      if (const std::string same = stuck(parity); !same.empty()) {
        replace(begin, end, same, "with a parity that never changes");
      }
    }
  }
  return mutants;
}

std::string changed(const std::string& text, const Mutant& mutant) {
  return text.substr(0, mutant.begin) + mutant.by + text.substr(mutant.end);
}

std::string switched(const std::string& text, const std::vector<Mutant>& mutants) {
  std::vector<Numbered> numbered;
  for (const Mutant& one : mutants) {
    numbered.push_back({&one, numbered.size() + 1});
  }
  // What holds others stands before them.
  std::ranges::stable_sort(numbered, {}, [](const Numbered& one) {
    return std::pair(one.mutant->begin, std::string::npos - one.mutant->end);
  });
  return switched(text, 0, text.size(), numbered);
}

std::string choosing_function(const volatile int* chosen) {
  // The checks of the host device don't know that memory.
  return fmt::format(
      "__attribute__((noinline, no_sanitize(\"thread\"))) static bool is_mutant(int number) {{ "
      "return *reinterpret_cast<const volatile int*>({}ull) == number; }}",
      reinterpret_cast<std::uintptr_t>(chosen));
}

}  // namespace convtgen::testing
