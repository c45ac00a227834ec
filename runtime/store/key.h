// What an entry of the store depends on, and by what name it is found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convtgen {

enum class EntryKind { kCubin, kPtx, kHostLibrary, kTuningRecord, kChoice };

/// "cubin", "ptx", "host library", "tuning record", "choice".
[[nodiscard]] std::string_view name_of(EntryKind kind);

struct KeyField {
  std::string name;
  std::string value;
  bool operator==(const KeyField&) const = default;
};
using KeyFields = std::vector<KeyField>;

/// The field of a key that may be unknown: what made, or would make, the bytes.
inline constexpr std::string_view kCompilerField = "compiler";

/// The named fields that the bytes depend on, in order, and SHA-256 over them, each name and value with its length. No
/// field is a path, a time, a locale or a layer's name. A key whose field "compiler" is empty, there being no compiler
/// on this machine, is answered by an entry that any compiler made.
class Key {
 public:
  /// Fields "format" and "kind" come before those given.
  Key(EntryKind kind, KeyFields fields);
  /// Of an entry's recorded fields, all of them.
  explicit Key(KeyFields recorded);

  /// All of them.
  [[nodiscard]] const KeyFields& fields() const { return fields_; }
  /// The value of a field; "" where no field has that name.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  /// SHA-256 over all fields, 64 hexadecimal digits.
  [[nodiscard]] const std::string& hex() const { return hex_; }
  /// The same over all but the compiler's.
  [[nodiscard]] const std::string& family() const { return family_; }
  /// The name of its files: the family, and the part of hex() that distinguishes members.
  [[nodiscard]] std::string name() const { return family_ + "-" + hex_.substr(0, kMemberDigits); }
  [[nodiscard]] bool any_compiler() const { return any_compiler_; }

  /// Whether an entry of these fields answers this key.
  [[nodiscard]] bool accepts(const KeyFields& recorded) const;

  static constexpr std::size_t kFamilyDigits = 64;
  static constexpr std::size_t kMemberDigits = 16;

 private:
  KeyFields fields_;
  std::string hex_;
  std::string family_;
  bool any_compiler_ = false;
};

/// The key of a compiled kernel. `compiler` is nvrtc_identity() or the host compiler's words, empty if
/// unknown; `options` are those that are not in the architecture, in the order the compiler gets them.
[[nodiscard]] Key kernel_key(EntryKind kind, std::string_view source, std::string_view architecture,
                             std::string_view compiler, const std::vector<std::string>& options);

/// A field whose values differ, for people: a long or many-lined value by its digest and its first line that differs.
struct FieldDifference {
  std::string name;
  std::string recorded;  // "none" where there is no such field
  std::string wanted;
  bool operator==(const FieldDifference&) const = default;
};

/// In the order of `wanted`, then what only `recorded` has. Fields of one name are compared in their order.
[[nodiscard]] std::vector<FieldDifference> differences(const KeyFields& recorded, const KeyFields& wanted);

}  // namespace convtgen
