#include "generator/program/comment.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>

namespace convtgen {
namespace {

using Kind = CommentPart::Kind;

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_name(std::string_view word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == ':'; });
}

/// The place of the brace that closes the one at `open`; npos if none does.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(' '); at != text.npos; at = text.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// The words between braces before a colon; nothing without one. Names may hold colons, so the head ends with a
/// colon and a blank.
std::optional<std::vector<std::string_view>> head_of(std::string_view inside) {
  const std::size_t colon = inside.find(": ");
  return colon == inside.npos ? std::nullopt : std::optional(words_of(inside.substr(0, colon)));
}

/// What stands between braces; nothing where that is text.
std::optional<CommentPart> hole(std::string_view inside) {
  CommentPart part;
  if (is_name(inside)) {
    part.kind = Kind::kHole;
    part.text = inside;
    return part;
  }
  if (const std::vector<std::string_view> words = words_of(inside);
      words.size() == 3 && is_name(words[0]) && words[1] == "to" && is_name(words[2])) {
    part.kind = Kind::kRange;
    part.text = words[0];
    part.last = words[2];
    return part;
  }
  const std::optional<std::vector<std::string_view>> words = head_of(inside);
  if (!words || words->size() < 2) {
    return std::nullopt;
  }
  const std::vector<std::string_view>& head = *words;
  part.body = parts_of_comment(inside.substr(inside.find(": ") + 2));
  part.negated = head.size() == 3 && head[0] == "if" && head[1] == "not";
  if (is_name(head.back()) && ((head.size() == 2 && (head[0] == "if" || head[0] == "with")) || part.negated)) {
    part.kind = head[0] == "with" ? Kind::kWith : Kind::kIf;
    part.text = head.back();
    return part;
  }
  part.kind = Kind::kRepeat;
  if (head[0] != "for" || head.size() < 4 || head.size() % 2 != 0 || !is_name(head[1])) {
    return std::nullopt;
  }
  part.text = head[1];
  for (std::size_t i = 2; i < head.size(); i += 2) {
    std::string* const bound = head[i] == "from"    ? &part.from
                               : head[i] == "below" ? &part.below
                               : head[i] == "step"  ? &part.step
                                                    : nullptr;
    if (bound == nullptr || !(is_name(head[i + 1]) || is_number(head[i + 1]))) {
      return std::nullopt;
    }
    *bound = head[i + 1];
  }
  return part.below.empty() ? std::nullopt : std::optional(part);
}

void add_holes(const std::vector<CommentPart>& parts, std::vector<std::string>& bound, std::vector<std::string>& out) {
  const auto add = [&](const std::string& name) {
    if (is_name(name) && std::ranges::find(bound, name) == bound.end()) {
      out.push_back(name);
    }
  };
  for (const CommentPart& part : parts) {
    if (part.kind == Kind::kHole) {
      add(part.text);
    } else if (part.kind == Kind::kRange) {
      add(part.text);
      add(part.last);
    } else if (part.kind == Kind::kRepeat) {
      add(part.from);
      add(part.below);
      add(part.step);
      bound.push_back(part.text);
      add_holes(part.body, bound, out);
      bound.pop_back();
    } else {
      if (part.kind == Kind::kIf) {
        add(part.text);
      }
      add_holes(part.body, bound, out);
    }
  }
}

}  // namespace

std::vector<CommentPart> parts_of_comment(std::string_view text) {
  std::vector<CommentPart> parts;
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '{' ? closing(text, at) : text.npos;
    std::optional<CommentPart> part = end == text.npos ? std::nullopt : hole(text.substr(at + 1, end - at - 1));
    if (!part) {
      plain += text[at++];
      continue;
    }
    if (!plain.empty()) {
      parts.emplace_back().text = std::exchange(plain, "");
    }
    parts.push_back(*std::move(part));
    at = end + 1;
  }
  if (!plain.empty()) {
    parts.emplace_back().text = std::move(plain);
  }
  return parts;
}

std::string with_single_blanks(std::string_view text) {
  std::string out;
  for (const std::string_view word : words_of(text)) {
    out += (out.empty() ? "" : " ") + std::string(word);
  }
  return out;
}

std::vector<std::string> holes_of(const std::vector<CommentPart>& parts) {
  std::vector<std::string> bound, out;
  add_holes(parts, bound, out);
  return out;
}

std::vector<std::string> names_asked_for(const std::vector<CommentPart>& parts) {
  std::vector<std::string> out;
  for (const CommentPart& part : parts) {
    if (part.kind == Kind::kWith) {
      out.push_back(part.text);
    }
    std::ranges::move(names_asked_for(part.body), std::back_inserter(out));
  }
  return out;
}

}  // namespace convtgen
