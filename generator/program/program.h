// A template program: a kernel template as templatec read it, every function body a tree.
//
// The text format (program_text.h) is S-expressions, a line for each parameter, item and statement, indented by two
// blanks a level. Atoms are words, or strings in double quotes with \" \\ and \n. In the forms below [] is optional,
// ... repeats, and LINE is `@` and a number: of an item, its line in its file; of a statement, its line minus the line
// of its function. Every comment text stands without its slashes; it may have holes for what is static (comment.h).
//
// clang-format off
//   (program NAME
//     (digest "SHA-256 of the template's files")
//     PARAMETER...
//     (file "direct.cu")                                the items that follow stand in this file
//     ITEM...)
//
//   PARAMETER
//     (parameter TYPE NAME EXPRESSION)                  with its default; TYPE (array int) for an array
//     (type_parameter NAME TYPE)
//   ITEM; the first element of all but (file) is LINE; (comment "...")... are the comment lines above it
//     (section LINE "title")                           what follows, to the next one, stands under this heading
//     (constant LINE TYPE NAME EXPRESSION [(trail "...")])
//     (enum LINE NAME (ENUMERATOR VALUE)...)            NAME may be "" for an unnamed one
//     (alias LINE NAME TYPE [(comment "...")...])
//     (record LINE NAME [(attribute "__align__(16)")] [(comment "...")...] (field TYPE NAME [(trail "...")])...)
//     (static_assert LINE EXPRESSION "message")
//     (primitive LINE EFFECT TYPE NAME (uses NAME...) "text")  verbatim, with the comment above it; TYPE is what a
//                                                       call gives. EFFECT: computes (a call whose result is not used
//                                                       may go) or acts
//     (verbatim LINE NAME "text")                       a declaration that primitives use
//     (printed LINE NAME [(static NAME) | (argument NAME)]...)  a primitive that the specializer prints; its parameters
//     (function LINE KIND TYPE NAME                     KIND: constexpr, device or kernel (one, and pack_weights)
//       [(comment "...")...] [(attributes "__forceinline__ ...")] [(launch_bounds EXPRESSION...)]
//       [(argument TYPE NAME [grid_constant])...]
//       STATEMENT...)
//   STATEMENT; each may end in (trail "..."), the comment after it on its line
//     (declare LINE TYPE NAME [EXPRESSION])             TYPE (const T) where it is const
//     (declare_constexpr LINE TYPE NAME EXPRESSION)
//     (declare_shared LINE TYPE NAME)                   __shared__
//     (using LINE NAME TYPE)
//     (do LINE EXPRESSION)
//     (if LINE EXPRESSION (then STATEMENT...) [(else STATEMENT...)])        also if_constexpr
//     (for LINE LOOP INIT CONDITION STEP STATEMENT...)  LOOP: unrolled (by templatec), plain, or (pragma "unroll 1");
//                                                       INIT: a declare or do; each of the three may be none
//     (while LINE EXPRESSION STATEMENT...)
//     (return LINE [EXPRESSION])   (break LINE)   (continue LINE)
//     (block LINE STATEMENT...)
//     (asm LINE "text")                                 verbatim, with its semicolon
//     (comment LINE "text")   (blank LINE)
//     (static_assert LINE EXPRESSION "message")
//   EXPRESSION; implicit conversions and parentheses are left out, the reader of the tree makes them again
//     5  7u  3ll  1.5f  true                            literals, as C++ spells them (no sign)
//     name                                              a variable, constant or enumerator
//     P::name                                           a parameter, arrays too
//     (OP a) (OP a b)                                   OP as in C++; unary * and & are dereference and address
//     (post++ a) (post-- a) (? c a b) (at a i) (. a NAME) (-> a NAME) (init e...) (call NAME e...)
//     (static_cast TYPE e)                              also reinterpret_cast, const_cast; (cast TYPE e...) for TYPE(e...)
//     (sizeof TYPE)
//     (text "...")                                      verbatim; always dynamic
//   TYPE
//     int  "unsigned int"  Stage  P::Element            scalar types, records and aliases, type parameters
//     (const T)  (restrict T)  (pointer T)  (reference T)  (array T [EXPRESSION])
// clang-format on
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "generator/program/value.h"

namespace convtgen {

struct Expression;

/// A type as it is written. Scalars have their C++ spelling as name, type parameters "P::Element".
struct Type {
  enum class Kind { kNamed, kPointer, kReference, kArray };
  Kind kind = Kind::kNamed;
  std::string name;                // of kNamed: "int", "void", "Stage", "Accumulators", "P::Sum"
  bool is_const = false;           // of the pointer itself, where kind is kPointer
  bool is_restrict = false;        // kPointer
  std::vector<Type> element;       // one, of all kinds but kNamed
  std::vector<Expression> extent;  // one or none, of kArray
  bool operator==(const Type&) const;
};

struct Expression {
  enum class Kind {
    kLiteral,  // value
    kName,     // text; "P::name" is a parameter
    kUnary,    // text is the operator ("-", "!", "~", "+", "*", "&", "++", "--", "post++", "post--")
    kBinary,   // text is the operator, assignments and "," among them
    kConditional,
    kIndex,
    kMember,  // text is the member
    kArrow,   // text is the member
    kCall,    // text is the function's name
    kCast,    // text is "static_cast", "reinterpret_cast", "const_cast" or "cast"; type
    kSizeof,  // type
    kInit,    // a braced list
    kText,    // verbatim
  };
  Kind kind = Kind::kLiteral;
  std::string text;
  Value value;
  Type type;
  std::vector<Expression> operands;
  bool operator==(const Expression&) const = default;
};

inline bool Type::operator==(const Type& other) const {
  return kind == other.kind && name == other.name && is_const == other.is_const && is_restrict == other.is_restrict &&
         element == other.element && extent == other.extent;
}

struct Statement {
  enum class Kind {
    kDeclare,           // type, name; expressions: the initialiser, if any
    kDeclareConstexpr,  // the same
    kDeclareShared,
    kUsing,        // name, type
    kExpression,   // one expression
    kIf,           // expressions: the condition; body, otherwise
    kIfConstexpr,  // the same
    kFor,          // init: none or one; condition, step: none or one; text: the pragma; unrolled; body
    kWhile,        // condition, body
    kReturn,       // expressions: none or one
    kBreak,
    kContinue,
    kBlock,  // body
    kAsm,    // text
    kComment,
    kBlank,
    kStaticAssert,  // expressions: the condition; text: the message
  };
  Kind kind = Kind::kBlank;
  int line = 0;  // minus the line of the function
  Type type;
  std::string name;
  std::string text;
  std::vector<Expression> expressions;
  bool unrolled = false;
  std::vector<Statement> init;
  std::vector<Expression> condition;  // of kFor and kWhile
  std::vector<Expression> step;
  std::vector<Statement> body;
  std::vector<Statement> otherwise;
  std::string trail;  // the comment after it on its line
  bool operator==(const Statement&) const = default;
};

/// What all items have: where they stand, and the comment lines above them.
struct Place {
  std::string file;  // relative to its template's folder or, what templates share, to templates/
  int line = 0;
  bool operator==(const Place&) const = default;
};

struct ParameterDeclaration {
  bool is_type = false;
  std::string name;          // without "P::"
  Type type;                 // of a type parameter, its default
  Expression default_value;  // of the others; kInit for an array
  bool operator==(const ParameterDeclaration&) const = default;
};

/// A heading over the items that follow.
struct Section {
  Place place;
  std::string title;
  bool operator==(const Section&) const = default;
};

/// A variable at namespace scope that is constexpr; static. Sources name it where the template does (name_constants()).
struct Constant {
  Place place;
  Type type;
  std::string name;
  Expression value;
  std::string trail;
  bool operator==(const Constant&) const = default;
};

struct Enumeration {
  Place place;
  std::string name;
  std::vector<std::pair<std::string, std::int64_t>> enumerators;
  bool operator==(const Enumeration&) const = default;
};

struct Alias {
  Place place;
  std::vector<std::string> comment;
  std::string name;
  Type type;
  bool operator==(const Alias&) const = default;
};

struct Field {
  Type type;
  std::string name;
  std::string trail;
  bool operator==(const Field&) const = default;
};

struct Record {
  Place place;
  std::vector<std::string> comment;
  std::string attribute;
  std::string name;
  std::vector<Field> fields;
  bool operator==(const Record&) const = default;
};

struct StaticAssertion {
  Place place;
  Expression condition;
  std::string message;
  bool operator==(const StaticAssertion&) const = default;
};

/// A function of a header of device primitives, or (is_declaration) something else there: a variable or a struct.
struct Primitive {
  Place place;
  bool is_declaration = false;
  bool only_computes = false;  // a call whose result is not used may go
  Type type;                   // what a call gives
  std::string name;
  std::vector<std::string> uses;
  std::string text;  // no newline at the end
  bool operator==(const Primitive&) const = default;
};

/// A primitive that templates declare and the specializer prints, once for each set of static arguments
/// (generator/specializer/primitives.h).
struct PrintedPrimitive {
  struct Parameter {
    bool is_static = false;
    std::string name;
    bool operator==(const Parameter&) const = default;
  };
  Place place;
  std::string name;
  std::vector<Parameter> parameters;
  bool operator==(const PrintedPrimitive&) const = default;
};

struct Argument {
  Type type;
  std::string name;
  bool is_grid_constant = false;  // of a kernel: __grid_constant__
  bool operator==(const Argument&) const = default;
};

struct Function {
  enum class Kind { kConstexpr, kDevice, kKernel };
  Place place;
  Kind kind = Kind::kDevice;
  std::vector<std::string> comment;
  // "__forceinline__"; "inline": needs no name where it is one expression. __device__, __global__ and launch bounds are
  // not among them.
  std::string attributes;
  std::vector<Expression> launch_bounds;
  Type type;
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Statement> body;
  bool operator==(const Function&) const = default;
};

using Item =
    std::variant<Section, Constant, Enumeration, Alias, Record, StaticAssertion, Primitive, PrintedPrimitive, Function>;

struct Program {
  std::string name;
  std::string digest;
  std::vector<ParameterDeclaration> parameters;
  std::vector<Item> items;  // in the order of the text; what is used stands before its use
  bool operator==(const Program&) const = default;
};

}  // namespace convtgen
