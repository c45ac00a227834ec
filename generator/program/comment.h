// Holes in a template's comments, which the specializer fills.
//
//   {name}                                     the value of something static
//   {A to B}                                   the values of two such names as `0 to 2`, or one value where both are
//                                              equal
//   {for name from A below B step C: text}     the text once for each value of the name, a blank between; `from A` (0)
//                                              and `step C` (1) may be left out. A, B, C: numbers, or names of what is
//                                              static. The text may have holes too, of this name and of others.
//   {if name: text}, {if not name: text}       the text where something static is true, or is not
//   {with name: text}                          the text where the function, or the struct, still has this name when all
//                                              that is constant or unused is gone. Only above functions and structs
// So `taps {for kh below P::kernel_h: ({kh}, {kw})}` becomes `taps (0, 2) (1, 2) (2, 2)`. Other braces are text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convtgen {

struct CommentPart {
  enum class Kind { kText, kHole, kRange, kRepeat, kIf, kWith };
  Kind kind = Kind::kText;
  std::string text;  // of kText; the name, of all others (of kRange its first)
  std::string last;  // of kRange
  std::string from = "0";
  std::string below;
  std::string step = "1";
  bool negated = false;           // of kIf
  std::vector<CommentPart> body;  // of kRepeat, kIf and kWith
};

[[nodiscard]] std::vector<CommentPart> parts_of_comment(std::string_view text);

/// The text with single blanks, and none at its ends: where something was left out there are two.
[[nodiscard]] std::string with_single_blanks(std::string_view text);

/// The names of what is static that a comment's holes need from around it.
[[nodiscard]] std::vector<std::string> holes_of(const std::vector<CommentPart>& parts);

/// The names that a comment's `{with ...}` ask for.
[[nodiscard]] std::vector<std::string> names_asked_for(const std::vector<CommentPart>& parts);

}  // namespace convtgen
