// Faults of machine code that the assembler makes and no log of it reports, found in what nvdisasm prints.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convtgen {

struct Instruction {
  std::string address;    // hexadecimal, as printed
  std::string text;       // without predicate and semicolon
  std::string predicate;  // P2, !P2, ...; empty: none
  std::string branch_to;  // a label; empty: none
  bool has_condition;     // of its own: a branch that is not always taken where its predicate is true
};

/// A kernel, in the order of addresses.
struct MachineCode {
  std::string name;
  std::vector<Instruction> instructions;
  std::map<std::string, std::size_t> labels;  // of the instruction after each
};

/// The kernels of a listing of `nvdisasm -c`.
std::vector<MachineCode> kernels_of_listing(std::string_view listing);

/// What nvdisasm prints for a binary; nothing where it fails. `disassembler` is its path.
std::optional<std::string> listing_of(const std::string& disassembler, std::string_view binary);

/// Instructions that write registers which a product in flight reads or adds to, or that read its sums: on some path,
/// no WARPGROUP.DEPBAR stands between. Products are asynchronous, and the assembler keeps their registers for them in
/// straight code only, not from one turn of a loop to the next.
std::vector<std::string> overwritten_operands(const MachineCode& code);

/// Waits after which nothing reads some of the A registers of products that they wait for, where a loop has gone back
/// since the issue of these: the assembler was free to give such a register to another value before the wait, whether
/// it did or not. Registers that an instruction reads later are safe.
std::vector<std::string> unkept_operands(const MachineCode& code);

/// Arrivals at mbarriers after loads from shared memory whose values no instruction between has taken, but a later one
/// does. The arrival may be done first, and where it gives memory back, what comes there next may be read. A load under
/// a predicate is not on paths that a branch enters where the predicate is false.
std::vector<std::string> early_arrivals(const MachineCode& code);

}  // namespace convtgen
