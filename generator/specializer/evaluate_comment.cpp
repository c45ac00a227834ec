// Part of `evaluate`: comments' holes (comment.h), filled with what is static.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "generator/specializer/evaluate.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMostRepeats = 10000;

std::string text_of(const Value& value) {
  return is_floating(value.type)       ? fmt::format("{}", value.real)
         : value.type == Scalar::kBool ? literal_text(value)
                                       : fmt::format("{}", static_cast<std::int64_t>(wide(value)));
}

}  // namespace

std::string Evaluator::fill_holes(std::string_view text) {
  const std::vector<CommentPart> parts = parts_of_comment(text);
  const bool has_alternatives = std::ranges::find(parts, CommentPart::Kind::kIf, &CommentPart::kind) != parts.end();
  return has_alternatives ? with_single_blanks(fill(parts)) : fill(parts);
}

/// What a name stands for; an error where that isn't static.
const Value* Evaluator::comment_value(const std::string& name) {
  const Entry* const local = find(name);
  const Value* const value =
      local != nullptr ? (local->kind == Entry::Kind::kStatic ? &local->value : nullptr) : globals_.value(name);
  if (value == nullptr) {
    report(fmt::format("{{{}}} in a comment names nothing static", name));
  }
  return value;
}

/// A bound of `{for ...}` or of a range: a number, or the name of an integer.
std::int64_t Evaluator::comment_number(const std::string& word) {
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (status == std::errc() && end == word.data() + word.size()) {
    return number;
  }
  const Value* const value = comment_value(word);
  if (value != nullptr && is_floating(value->type)) {
    report(fmt::format("{} in a comment is no integer", word));
    return 0;
  }
  return value != nullptr ? static_cast<std::int64_t>(wide(*value)) : 0;
}

std::string Evaluator::fill(const std::vector<CommentPart>& parts) {
  std::string out;
  for (const CommentPart& part : parts) {
    if (part.kind == CommentPart::Kind::kText) {
      out += part.text;
    } else if (part.kind == CommentPart::Kind::kHole) {
      const Value* const value = comment_value(part.text);
      out += value != nullptr ? text_of(*value) : "";
    } else if (part.kind == CommentPart::Kind::kRange) {
      const std::int64_t first = comment_number(part.text), last = comment_number(part.last);
      out += first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
    } else if (part.kind == CommentPart::Kind::kIf) {
      const Value* const value = comment_value(part.text);
      out += value != nullptr && is_true(*value) != part.negated ? fill(part.body) : "";
    } else if (part.kind == CommentPart::Kind::kWith) {
      out += fmt::format("{{with {}: {}}}", part.text, fill(part.body));  // until settle_comments() knows
    } else {
      const std::int64_t from = comment_number(part.from), below = comment_number(part.below);
      const std::int64_t step = comment_number(part.step);
      if (step < 1 || (below - from) / step > kMostRepeats) {
        report(fmt::format("{{for {} ...}} in a comment has a step below 1, or more than {} values", part.text,
                           kMostRepeats));
        return out;
      }
      std::string list;
      for (std::int64_t i = from; i < below && !error_; i += step) {
        Entry entry;
        entry.kind = Entry::Kind::kStatic;
        entry.value = integer_value(Scalar::kLongLong, i);
        frame_->scopes.emplace_back().insert_or_assign(part.text, std::move(entry));
        const std::string one = fill(part.body);
        frame_->scopes.pop_back();
        list += (list.empty() || one.empty() ? "" : " ") + one;
      }
      out += list;
    }
  }
  return out;
}

}  // namespace convtgen
