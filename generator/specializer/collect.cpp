// The pass `collect`: takes over into the output what the kernels reach, and nothing else.
#include <fmt/format.h>

#include <algorithm>

#include "generator/specializer/evaluate.h"
#include "generator/specializer/primitives.h"
#include "generator/specializer/visit.h"

namespace convtgen {

void add_names_used(const Type& type, std::set<std::string>& names) {
  names.insert(type.name);
  for (const Type& element : type.element) {
    add_names_used(element, names);
  }
}

std::set<std::string> names_used(const Version& version) {
  std::set<std::string> out;
  add_names_used(version.type, out);
  for (const ResidualArgument& argument : version.arguments) {
    add_names_used(argument.type, out);
  }
  for_each(
      version.body,
      [&](const Term& term) {
        if (term.kind == Expression::Kind::kCall || term.kind == Expression::Kind::kName) {
          out.insert(term.text);
        }
        add_names_used(term.written, out);
      },
      [&](const Residual& r) { add_names_used(r.type, out); });
  return out;
}

bool reaches(const Output& output, const Version& from, std::string_view name) {
  std::set<std::string> reached = names_used(from);
  std::vector<std::string> open(reached.begin(), reached.end());
  while (!open.empty()) {
    const std::string called = std::move(open.back());
    open.pop_back();
    for (const Version& version : output.versions) {
      if (version.name == called) {
        for (const std::string& next : names_used(version)) {
          if (reached.insert(next).second) {
            open.push_back(next);
          }
        }
      }
    }
  }
  return reached.contains(std::string(name));
}

namespace {

/// The text with those cases of a switch only that are for one of these constants.
std::string with_cases(const std::string& text, const std::set<std::string>& constants) {
  constexpr std::string_view kCase = "\n    case ";
  constexpr std::string_view kBreak = "break;";
  std::string out = text;
  for (std::size_t at = out.find(kCase); at != out.npos; at = out.find(kCase, at)) {
    const std::size_t value = at + kCase.size();
    const std::size_t end = out.find(kBreak, at) + kBreak.size();
    if (!constants.contains(out.substr(value, out.find(':', at) - value))) {
      out.erase(at, end - at);
      continue;
    }
    at = end;
  }
  return out;
}

/// Sorts functions in the program's order. One that the template declares before it is defined may have callers before
/// its definition: it goes before these.
void callees_first(std::vector<Version>& versions) {
  std::ranges::sort(versions, std::greater(), &Version::sequence);  // callers before callees
  for (std::size_t caller = 0; caller < versions.size(); ++caller) {
    const std::set<std::string> names = names_used(versions[caller]);
    for (std::size_t callee = caller + 1; callee < versions.size(); ++callee) {
      if (names.contains(versions[callee].name)) {
        versions[callee].order = std::min(versions[callee].order, versions[caller].order);
      }
    }
  }
  std::ranges::sort(versions, {}, [](const Version& v) { return std::pair(v.order, v.sequence); });
}

}  // namespace

/// Takes over what the kernels reach, in the program's order.
void Evaluator::collect(Output& output, std::set<std::string> reached) {
  const std::vector<Item>& items = globals_.program().items;
  std::vector<std::string> open(reached.begin(), reached.end());
  const auto reach = [&](const std::set<std::string>& names) {
    for (const std::string& name : names) {
      if (reached.insert(name).second) {
        open.push_back(name);
      }
    }
  };
  while (!open.empty() && !error_) {
    const std::string name = std::move(open.back());
    open.pop_back();
    for (const Version& version : versions_) {
      if (version.name == name) {
        reach(names_used(version));
      }
    }
    if (const Primitive* primitive = globals_.primitive(name);
        primitive != nullptr && !substitute_of(name, architecture_)) {
      reach({primitive->uses.begin(), primitive->uses.end()});
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto* record = std::get_if<Record>(&items[i]);
      const auto* alias = std::get_if<Alias>(&items[i]);
      if ((record != nullptr && record->name == name) || (alias != nullptr && alias->name == name)) {
        output.types.push_back(spell_item(items[i], i));
        std::set<std::string> names;
        add_names_used(output.types.back().type, names);
        for (const Field& field : output.types.back().fields) {
          add_names_used(field.type, names);
        }
        reach(names);
      }
    }
  }
  for (const Item& item : items) {
    if (const auto* primitive = std::get_if<Primitive>(&item);
        primitive != nullptr && reached.contains(primitive->name)) {
      output.primitives.push_back(*primitive);
      std::string& text = output.primitives.back().text;
      const auto constants = constants_.find(primitive->name);
      if (const auto substitute = substitute_of(primitive->name, architecture_)) {
        text = *substitute;
      } else if (constants != constants_.end() && !constants->second.contains("")) {
        text = with_cases(text, constants->second);
      }
    }
  }
  for (const auto& [name, primitive] : printed_) {
    if (reached.contains(name)) {
      output.primitives.push_back(primitive);
    }
  }
  std::ranges::sort(output.types, {}, &ResidualType::order);
  for (Version& version : versions_) {
    if (reached.contains(version.name)) {
      output.versions.push_back(std::move(version));
    }
  }
  callees_first(output.versions);
}

/// Whether the architecture has all primitives of the output, or what takes their place; asks of those first that the
/// template itself calls.
void Evaluator::check_architecture(const Output& output) {
  for (const bool is_called : {true, false}) {
    for (const Primitive& primitive : output.primitives) {
      const auto call = first_calls_.find(primitive.name);
      // Functions that a template itself has with asm in them are its own business.
      const bool is_ours = !primitive.is_declaration &&
                           (primitive.place.file.starts_with("device/") || printed_.contains(primitive.name));
      if (error_ || !is_ours || (call != first_calls_.end()) != is_called ||
          substitute_of(primitive.name, architecture_)) {
        continue;
      }
      if (const Result<void> has = check_primitive(primitive.name, architecture_); !has) {
        error_ = is_called ? error_at(call->second, has.error().message)
                           : Error{fmt::format("the template {}: {}", globals_.program().name, has.error().message)};
      }
    }
  }
}

ResidualType Evaluator::spell_item(const Item& item, std::size_t order) {
  ResidualType out;
  out.order = order;
  out.record = std::get_if<Record>(&item);
  out.alias = std::get_if<Alias>(&item);
  // The item's own line is where errors are.
  Function here;
  here.place = out.record != nullptr ? out.record->place : out.alias->place;
  Frame frame;
  frame.function = &here;
  frame.scopes.emplace_back();
  frame_ = &frame;
  for (const std::string& text : out.record != nullptr ? out.record->comment : out.alias->comment) {
    out.comment.push_back(fill_holes(text));
  }
  if (out.alias != nullptr) {
    out.type = spell(out.alias->type);
  } else {
    for (const Field& field : out.record->fields) {
      out.fields.push_back({spell(field.type), field.name, field.trail});
    }
  }
  frame_ = nullptr;
  return out;
}

}  // namespace convtgen
