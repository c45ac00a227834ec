// The pass `settle`: what comments say only with a name stays where that name did.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "generator/program/comment.h"
#include "generator/specializer/residual.h"
#include "generator/specializer/visit.h"

namespace convtgen {
namespace {

using Names = std::set<std::string>;

std::string settled(const std::vector<CommentPart>& parts, const Names& names) {
  std::string out;
  for (const CommentPart& part : parts) {
    if (part.kind == CommentPart::Kind::kText) {
      out += part.text;
    } else if (part.kind == CommentPart::Kind::kWith && names.contains(part.text)) {
      out += settled(part.body, names);
    }
  }
  return out;
}

void settle(std::vector<std::string>& comment, const Names& names) {
  for (std::string& line : comment) {
    const std::vector<CommentPart> parts = parts_of_comment(line);
    if (!names_asked_for(parts).empty()) {
      line = with_single_blanks(settled(parts, names));
    }
  }
  std::erase(comment, "");
}

Names names_in(const Version& version) {
  Names names = names_used(version);
  for (const ResidualArgument& argument : version.arguments) {
    names.insert(argument.name);
  }
  for_each(
      version.body, [&](const Term& term) { names.insert(term.text); },
      [&](const Residual& r) { names.insert(r.name); });
  return names;
}

}  // namespace

void settle_comments(Output& output) {
  for (Version& version : output.versions) {
    settle(version.comment, names_in(version));
  }
  for (ResidualType& type : output.types) {
    Names names;
    for (const Field& field : type.fields) {
      names.insert(field.name);
    }
    settle(type.comment, names);
  }
}

}  // namespace convtgen
