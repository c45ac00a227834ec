#include "tests/specializer/leftovers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <utility>

namespace convtgen::testing_support {
namespace {

struct Token {
  std::string text;
  std::size_t line = 0;
};
using Tokens = std::span<const Token>;

/// A comment of successive lines, joined, without slashes.
struct Comment {
  std::string text;
  std::size_t first = 0, last = 0;  // lines
};

struct Lexed {
  std::vector<Token> tokens;
  std::vector<Comment> comments;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_name(std::string_view text) {
  return !text.empty() && is_word(text[0]) && std::isdigit(static_cast<unsigned char>(text[0])) == 0;
}

void add_comment(std::string_view text, std::size_t line, bool is_own_line, std::vector<Comment>& comments) {
  if (is_own_line && !comments.empty() && comments.back().last + 1 == line) {
    comments.back().text += text;
    comments.back().last = line;
  } else {
    comments.push_back({std::string(text), line, line});
  }
}

/// The tokens and comments of a line. A cast with its type is one token: its brackets are no comparisons.
void lex_line(std::string_view text, std::size_t line, Lexed& out) {
  static constexpr std::array kSigns = {"<<=", ">>=", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "->",
                                        "++",  "--",  "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::"};
  const bool is_comment = text.substr(std::min(text.find_first_not_of(' '), text.size())).starts_with("//");
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t size = 1;
    if (rest.starts_with("//")) {
      add_comment(rest.substr(2), line, is_comment, out.comments);
      return;
    }
    if (is_word(rest[0])) {
      while (size < rest.size() && (is_word(rest[size]) || (!is_name(rest) && rest[size] == '.'))) {
        ++size;
      }
      if (rest.substr(0, size).ends_with("_cast")) {
        size = std::min(rest.find('>'), rest.size() - 1) + 1;
      }
    } else if (rest[0] == '"') {
      size = std::min(rest.find('"', 1), rest.size() - 1) + 1;
    } else if (const auto* sign = std::ranges::find_if(kSigns, [&](auto each) { return rest.starts_with(each); });
               sign != kSigns.end()) {
      size = std::string_view(*sign).size();
    }
    if (rest[0] != ' ') {
      out.tokens.push_back({std::string(rest.substr(0, size)), line});
    }
    at += size;
  }
}

/// Of the source's own code: without its head, device primitives and lines of the preprocessor.
Lexed lex(std::string_view source) {
  Lexed out;
  bool in_namespace = false, of_primitives = false;
  std::size_t line = 0;
  for (std::size_t at = 0; at < source.size(); ++line) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string_view text = source.substr(at, end - at);
    at = end + 1;
    if (text.starts_with("namespace ") || text.starts_with("}  // namespace")) {
      in_namespace = !in_namespace;
    } else if (text.starts_with("// ----")) {
      of_primitives = text.starts_with("// ---- Device primitives");
    } else if (text == "#endif") {
      of_primitives = false;
    } else if (in_namespace && !of_primitives &&
               !text.substr(std::min(text.find_first_not_of(' '), text.size())).starts_with('#')) {
      lex_line(text, line + 1, out);
    }
  }
  return out;
}

bool is_opening(std::string_view token) {
  return token == "(" || token == "[" || token == "{";
}
bool is_closing(std::string_view token) {
  return token == ")" || token == "]" || token == "}";
}

/// The index after the bracket that closes the one at `open`.
std::size_t after_bracket(Tokens tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    depth += is_opening(tokens[i].text) ? 1 : is_closing(tokens[i].text) ? -1 : 0;
    if (depth == 0) {
      return i + 1;
    }
  }
  return tokens.size();
}

/// How tightly an operator binds; what parts expressions has 0, and what is no operator 99.
int precedence_of(std::string_view token) {
  static const std::map<std::string_view, int> kAll = {
      {";", 0},   {",", 0},   {"{", 0},   {"}", 0},  {"return", 0}, {"=", 0},   {"+=", 0},  {"-=", 0}, {"*=", 0},
      {"/=", 0},  {"%=", 0},  {"&=", 0},  {"|=", 0}, {"^=", 0},     {"<<=", 0}, {">>=", 0}, {"?", 1},  {":", 1},
      {"||", 4},  {"&&", 5},  {"|", 6},   {"^", 7},  {"==", 9},     {"!=", 9},  {"<", 10},  {">", 10}, {"<=", 10},
      {">=", 10}, {"<<", 11}, {">>", 11}, {"+", 12}, {"-", 12},     {"*", 13},  {"/", 13},  {"%", 13}};
  const auto found = kAll.find(token);
  return found == kAll.end() ? 99 : found->second;
}

/// The operands of the operator at `at`: up to what binds no tighter than `binding`.
Tokens left_of(Tokens tokens, std::size_t at, int binding) {
  std::size_t begin = at;
  for (int depth = 0; begin > 0; --begin) {
    const std::string& token = tokens[begin - 1].text;
    depth += is_closing(token) ? 1 : is_opening(token) ? -1 : 0;
    if (depth < 0 || (depth == 0 && !is_opening(token) && precedence_of(token) <= binding)) {
      break;
    }
  }
  return tokens.subspan(begin, at - begin);
}
Tokens right_of(Tokens tokens, std::size_t at, int binding) {
  std::size_t end = at + 1;
  for (int depth = 0; end < tokens.size(); ++end) {
    const std::string& token = tokens[end].text;
    depth += is_opening(token) ? 1 : is_closing(token) ? -1 : 0;
    if (depth < 0 || (depth == 0 && !is_closing(token) && precedence_of(token) <= binding)) {
      break;
    }
  }
  return tokens.subspan(at + 1, end - at - 1);
}

std::string text_of(Tokens tokens) {
  std::string out;
  for (const Token& token : tokens) {
    out += (out.empty() ? "" : " ") + token.text;
  }
  return out;
}

/// A declaration or a function, with the comment above it.
struct Item {
  Tokens tokens;
  std::size_t body = 0;  // of its first brace; 0: none
  std::vector<const Comment*> comments;

  [[nodiscard]] bool has(std::string_view name) const {
    return std::ranges::any_of(tokens, [&](const Token& t) { return t.text == name; });
  }
  [[nodiscard]] bool is_function() const { return body > 0 && (has("__device__") || has("__global__")); }
};

std::vector<Item> items_of(const Lexed& lexed) {
  std::vector<Item> items;
  const Tokens all = lexed.tokens;
  std::size_t comment = 0;
  for (std::size_t at = 0; at < all.size();) {
    Item item;
    std::size_t end = at;
    while (end < all.size() && all[end].text != ";" && all[end].text != "{") {
      ++end;
    }
    if (end < all.size() && all[end].text == "{") {
      item.body = end - at;
      end = after_bracket(all, end);
      end -= end < all.size() && all[end].text == ";" ? 0 : 1;
    }
    end = std::min(end + 1, all.size());
    item.tokens = all.subspan(at, end - at);
    const std::size_t first = item.tokens.front().line, last = item.tokens.back().line;
    for (; comment < lexed.comments.size() && lexed.comments[comment].first <= last; ++comment) {
      if (lexed.comments[comment].last + 1 >= first) {
        item.comments.push_back(&lexed.comments[comment]);
      }
    }
    items.push_back(std::move(item));
    at = end;
  }
  return items;
}

class Finder {
 public:
  explicit Finder(const Lexed& lexed) : items_(items_of(lexed)) {
    for (const Item& item : items_) {
      const Tokens t = item.tokens;
      if (t.front().text == "constexpr" && t.size() >= 5) {
        constants_[t[t.size() - 4].text] = number(t[t.size() - 2].text);
      }
    }
  }

  std::vector<FoundLeftover> run() {
    for (const Item& item : items_) {
      if (item.is_function()) {
        names(item);
        const Tokens body = item.tokens.subspan(item.body);
        for (std::size_t i = 0; i < body.size(); ++i) {
          conditions(body, i);
          loops(body, i);
          splits(body, i);
          arrays(body, i);
          variables(body, i);
        }
        parameters(item);
      } else if (item.tokens.front().text == "struct") {
        names(item);
        fields(item);
      }
    }
    return std::move(found_);
  }

 private:
  void found(Leftover kind, std::size_t line, std::string text) { found_.push_back({kind, line, std::move(text)}); }

  [[nodiscard]] std::optional<long long> number(std::string_view token) const {
    if (const auto constant = constants_.find(std::string(token)); constant != constants_.end()) {
      return constant->second;
    }
    const bool is_hexadecimal = token.starts_with("0x");
    token.remove_prefix(is_hexadecimal ? 2 : 0);
    long long value = 0;
    const auto [end, error] =
        std::from_chars(token.data(), token.data() + token.size(), value, is_hexadecimal ? 16 : 10);
    const std::string_view suffix(end, token.data() + token.size());
    return error == std::errc() && suffix.find_first_not_of("uUlL") == suffix.npos ? std::optional(value)
                                                                                   : std::nullopt;
  }

  [[nodiscard]] bool is_constant(Tokens tokens) const {
    return !tokens.empty() && std::ranges::all_of(tokens, [&](const Token& t) {
      return !is_name(t.text) || t.text == "true" || t.text == "false" || constants_.contains(t.text) ||
             t.text.ends_with("_cast");
    });
  }

  void names(const Item& item) {
    static const std::regex kQuoted("`([^`]*)`"), kName("[A-Za-z_][A-Za-z_0-9]*");
    for (const Comment* comment : item.comments) {
      for (std::sregex_iterator quoted(comment->text.begin(), comment->text.end(), kQuoted), end; quoted != end;
           ++quoted) {
        const std::string inside = (*quoted)[1];
        for (std::sregex_iterator name(inside.begin(), inside.end(), kName); name != end; ++name) {
          if (!item.has(name->str())) {
            found(Leftover::kName, comment->first, name->str());
          }
        }
      }
    }
  }

  void conditions(Tokens body, std::size_t i) {
    const std::string& token = body[i].text;
    const int binding = precedence_of(token);
    if ((token == "if" || token == "while") && i + 1 < body.size()) {
      const Tokens condition = body.subspan(i + 2, after_bracket(body, i + 1) - i - 3);
      if (is_constant(condition) && text_of(condition) != "true") {
        found(Leftover::kCondition, body[i].line, text_of(condition));
      }
    } else if (binding == 9 || binding == 10) {
      const Tokens left = left_of(body, i, binding - 1), right = right_of(body, i, binding);
      if (is_constant(left) && is_constant(right)) {
        found(Leftover::kCondition, body[i].line, text_of(left) + " " + token + " " + text_of(right));
      }
    } else if (token == "&&" || token == "||" || token == "?") {
      const Tokens left = left_of(body, i, binding), right = right_of(body, i, binding);
      if (is_constant(left) || (token != "?" && is_constant(right))) {
        found(Leftover::kCondition, body[i].line, text_of(left) + " " + token + " " + text_of(right));
      }
      if (token == "?") {
        return;
      }
      // The same part once more, further on.
      const Tokens chain = right_of(body, i, binding - 1);
      for (std::size_t from = i; from < i + 1 + chain.size();) {
        const Tokens part = right_of(body, from, binding);
        if (text_of(part) == text_of(left)) {
          found(Leftover::kRepeated, body[i].line, text_of(left));
          break;
        }
        from += 1 + part.size();
        if (from >= body.size() || body[from].text != token) {
          break;
        }
      }
    }
  }

  /// for (int i = 0; i < 1; ++i)
  void loops(Tokens body, std::size_t i) {
    if (body[i].text != "for") {
      return;
    }
    const Tokens head = body.subspan(i + 2, after_bracket(body, i + 1) - i - 3);
    const auto first = std::ranges::find(head, ";", &Token::text);
    const auto second =
        first == head.end() ? first : std::find_if(first + 1, head.end(), [](const Token& t) { return t.text == ";"; });
    if (second == head.end() || first - head.begin() < 4 || second - first != 4 || (first - 2)->text != "=") {
      return;
    }
    const std::optional<long long> begin = number((first - 1)->text), end = number((second - 1)->text);
    const std::string& compared = (second - 2)->text;
    const std::optional<long long> step = head.end() - second == 4 ? number((head.end() - 1)->text) : 1;
    if (begin && end && step && (compared == "<" || compared == "<=")) {
      const std::size_t open = i + 4 + head.size() - 1;
      const Tokens inside = body.subspan(open, after_bracket(body, open) - open);
      const bool leaves =
          std::ranges::any_of(inside, [](const Token& t) { return t.text == "break" || t.text == "continue"; });
      if (!leaves && *begin + *step >= *end + (compared == "<=" ? 1 : 0)) {
        found(Leftover::kLoop, body[i].line, text_of(head));
      }
    }
  }

  void splits(Tokens body, std::size_t i) {
    if (body[i].text != "+") {
      return;
    }
    const auto parts = [&](Tokens whole, Tokens rest) {
      // x / c * c, and x % c; the evaluator joins those of constants.
      const std::size_t n = whole.size(), m = rest.size();
      return n >= 5 && m == n - 2 && whole[n - 2].text == "*" && whole[n - 4].text == "/" && rest[m - 2].text == "%" &&
             number(whole[n - 1].text) && whole[n - 1].text == whole[n - 3].text &&
             whole[n - 1].text == rest[m - 1].text && text_of(whole.first(n - 4)) == text_of(rest.first(m - 2));
    };
    const Tokens left = left_of(body, i, 12), right = right_of(body, i, 12);
    if (parts(left, right) || parts(right, left)) {
      found(Leftover::kSplit, body[i].line, text_of(left) + " + " + text_of(right));
    }
  }

  /// float sum[1]
  void arrays(Tokens body, std::size_t i) {
    if (i < 1 || body[i].text != "[" || !is_name(body[i - 1].text) || i < 2 || !is_name(body[i - 2].text) ||
        body[i - 2].text == "return") {
      return;
    }
    if (body[i + 1].text == "1" && body[i + 2].text == "]") {
      found(Leftover::kArrayOfOne, body[i].line, body[i - 1].text);
    }
  }

  /// int i = 0, where only `i = 1` or `++i` as a statement is left
  void variables(Tokens body, std::size_t i) {
    static const std::set<std::string_view> kNoType = {"return", "goto", "else", "case", "namespace", "using"};
    if (i < 2 || i + 1 >= body.size() || !is_name(body[i].text) || kNoType.contains(body[i - 1].text) ||
        !(is_name(body[i - 1].text) || body[i - 1].text == "*") ||
        (body[i + 1].text != "=" && body[i + 1].text != ";")) {
      return;
    }
    // A product has an operand before its sign; what declares a pointer begins the statement with a type.
    std::size_t first = i;
    while (first > 0 &&
           (is_name(body[first - 1].text) || body[first - 1].text == "*" || body[first - 1].text == "::")) {
      --first;
    }
    if (const std::string& before = body[first - 1].text;
        before != ";" && before != "{" && before != "}" && before != "(") {
      return;
    }
    if (body[first].text == "*" || kNoType.contains(body[first].text)) {
      return;
    }
    for (std::size_t at = i + 1; at < body.size(); ++at) {
      if (body[at].text != body[i].text || body[at - 1].text == "." || body[at - 1].text == "->") {
        continue;
      }
      const bool is_statement =
          at + 1 < body.size() && (body[at - 1].text == ";" || body[at - 1].text == "{" || body[at - 1].text == "}");
      const bool is_stored = is_statement && precedence_of(body[at + 1].text) == 0 && body[at + 1].text.ends_with("=");
      const bool counts = (body[at - 1].text == "++" || body[at - 1].text == "--") && body[at + 1].text == ";" &&
                          (body[at - 2].text == ";" || body[at - 2].text == "{" || body[at - 2].text == "}");
      if (!is_stored && !counts) {
        return;
      }
    }
    found(Leftover::kVariable, body[i].line, body[i].text);
  }

  void parameters(const Item& item) {
    const Tokens body = item.tokens.subspan(item.body);
    std::size_t open = item.body - 2;  // of the closing bracket
    for (int depth = 1; open > 0 && depth > 0;) {
      --open;
      depth += item.tokens[open].text == ")" ? 1 : item.tokens[open].text == "(" ? -1 : 0;
    }
    std::vector<std::string> all;
    for (std::size_t at = open; at + 2 < item.body;) {
      const Tokens declared = right_of(item.tokens, at, 0);
      at += 1 + declared.size();
      std::string name;
      // What it refers to may be stored alone.
      bool is_read = std::ranges::any_of(declared, [](const Token& token) { return token.text == "&"; });
      for (const Token& token : declared) {
        name = is_name(token.text) ? token.text : name;
        if (token.text == "[") {
          break;
        }
      }
      all.push_back(name);
      for (std::size_t i = 0; i < body.size(); ++i) {
        const bool is_it = body[i].text == name && body[i - 1].text != "." && body[i - 1].text != "->";
        // To what it points is stored, or to the variable itself.
        is_read = is_read || (is_it && (body[i + 1].text != "=" || body[i - 1].text == "*"));
      }
      if (!is_read) {
        found(Leftover::kParameter, item.tokens[open].line, name);
      }
    }
    forwards(item, body, all);
  }

  void forwards(const Item& item, Tokens body, const std::vector<std::string>& arguments) {
    if (!item.has("__device__")) {
      return;
    }
    const std::size_t call = body[1].text == "return" ? 2 : 1;
    // A conversion is no call.
    if (body.size() < call + 4 || !is_name(body[call].text) || body[call].text.starts_with("static_cast") ||
        body[call + 1].text != "(" || after_bracket(body, call + 1) + 2 != body.size()) {
      return;
    }
    std::string own;
    for (const std::string& argument : arguments) {
      own += (own.empty() ? "" : " , ") + argument;
    }
    if (!arguments.empty() && text_of(body.subspan(call + 2, body.size() - call - 5)) == own) {
      found(Leftover::kForwards, item.tokens.front().line, text_of(body));
    }
  }

  void fields(const Item& item) {
    // What memory is taken for keeps its layout, read or not.
    const std::string memory = "static_cast<" + item.tokens[1].text + "*>";
    const auto is_layout = [&](const Item& each) { return each.is_function() && each.has(memory); };
    if (std::ranges::any_of(items_, is_layout)) {
      return;
    }
    for (std::size_t i = item.body + 1; i + 1 < item.tokens.size(); ++i) {
      const std::string& next = item.tokens[i + 1].text;
      const std::string& name = item.tokens[i].text;
      if (!is_name(name) || (next != ";" && next != "[") || item.tokens[i - 1].text == "[" || number(name)) {
        continue;
      }
      if (std::ranges::none_of(items_,
                               [&](const Item& each) { return each.is_function() && reads_field(each, name); })) {
        found(Leftover::kField, item.tokens[i].line, name);
      } else if (next == ";" && stores_one_number(item.tokens[1].text, name)) {
        found(Leftover::kConstant, item.tokens[i].line, name);
      }
    }
  }

  /// Whether all stores to the field of a record are of one number, and no other record has a field of that name. Not
  /// where lists make such records, and where something besides a read is done with the field.
  bool stores_one_number(const std::string& record, const std::string& name) const {
    std::string number_stored;
    for (const Item& item : items_) {
      const Tokens t = item.tokens;
      for (std::size_t i = 1; i + 3 < t.size(); ++i) {
        const bool is_member = t[i].text == name && (t[i - 1].text == "." || t[i - 1].text == "->");
        const bool is_other = t.front().text == "struct" && t[1].text != record && t[i].text == name;
        const bool is_list = t[i].text == "{" && t[i + 1].text != "}" &&
                             ((t[i - 1].text == "=" && i >= 3 && t[i - 3].text == record) || t[i - 1].text == "return");
        if (is_other || (is_list && item.is_function() && item.has(record))) {
          return false;
        }
        if (!is_member) {
          continue;
        }
        const int next = precedence_of(t[i + 1].text);
        const bool moves = i >= 3 && (t[i - 3].text == "++" || t[i - 3].text == "--" || t[i - 3].text == "&");
        if (!moves && (t[i + 1].text == ";" || t[i + 1].text == "]" || (next > 1 && next < 99))) {
          continue;  // it is read
        }
        const bool is_literal = t[i + 1].text == "=" && t[i + 3].text == ";" && number(t[i + 2].text);
        if (!is_literal || (!number_stored.empty() && number_stored != t[i + 2].text)) {
          return false;
        }
        number_stored = t[i + 2].text;
      }
    }
    return !number_stored.empty();
  }

  static bool reads_field(const Item& item, std::string_view name) {
    for (std::size_t i = 1; i + 1 < item.tokens.size(); ++i) {
      const std::string& before = item.tokens[i - 1].text;
      if (item.tokens[i].text == name && (before == "." || before == "->") && item.tokens[i + 1].text != "=") {
        return true;
      }
    }
    return false;
  }

  std::vector<Item> items_;
  std::map<std::string, std::optional<long long>> constants_;
  std::vector<FoundLeftover> found_;
};

}  // namespace

std::string_view name_of(Leftover kind) {
  static constexpr std::array<std::string_view, 11> kNames = {"name",         "condition", "repeated", "loop",
                                                              "parameter",    "variable",  "field",    "constant field",
                                                              "array of one", "split",     "forwards"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<FoundLeftover> leftovers_in(std::string_view source) {
  const Lexed lexed = lex(source);
  return Finder(lexed).run();
}

}  // namespace convtgen::testing_support
