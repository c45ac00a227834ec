#include "tests/end_to_end/machine_code.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace convtgen {
namespace {

struct Registers {
  std::array<std::uint64_t, 4> bits = {};

  auto operator<=>(const Registers&) const = default;
  void add(int number) { bits[static_cast<std::size_t>(number / 64)] |= std::uint64_t{1} << number % 64; }
  void add(const Registers& others) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      bits[i] |= others.bits[i];
    }
  }
  void take(const Registers& others) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      bits[i] &= ~others.bits[i];
    }
  }
  bool holds(const Registers& others) const {
    Registers rest = others;
    rest.take(*this);
    return rest == Registers();
  }
  bool meets(const Registers& others) const {
    return ((bits[0] & others.bits[0]) | (bits[1] & others.bits[1]) | (bits[2] & others.bits[2]) |
            (bits[3] & others.bits[3])) != 0;
  }
};

bool starts_with_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.starts_with(word); });
}

int number_of(const std::string& digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

Registers registers_from(int first, int count) {
  Registers out;
  for (int i = first; i < first + count && i < 255; ++i) {
    out.add(i);
  }
  return out;
}

/// All registers that an instruction names, the first of a row alone.
Registers named_registers(const std::string& text) {
  static const std::regex kRegister(R"(\bR(\d+)\b)");
  Registers out;
  for (std::sregex_iterator it(text.begin(), text.end(), kRegister), end; it != end; ++it) {
    out.add(number_of((*it)[1]));
  }
  return out;
}

/// What an instruction that is no product writes.
Registers written_registers(const std::string& text) {
  if (starts_with_one_of(text, {"ST",     "BRA",  "BAR",    "SYNCS", "RED",  "EXIT",  "WARPSYNC", "BSSY",
                                "BSYNC",  "NOP",  "MEMBAR", "FENCE", "UBLK", "WARPG", "DEPBAR",   "LDGSTS",
                                "ERRBAR", "CCTL", "ARRIVE", "USETM", "NANO", "YIELD", "CALL",     "RET",
                                "BREAK",  "UTMA", "KILL",   "BMOV",  "R2UR", "HGMMA", "LDGDEP",   "ACQBULK"})) {
    return {};
  }
  // The first operand, or the second after a predicate.
  static const std::regex kDestination(R"(^(\S+) (?:U?P[T\d], )*R(\d+)\b)");
  std::smatch match;
  if (!std::regex_search(text, match, kDestination)) {
    return {};
  }
  const std::string operation = match[1];
  int count = 1;
  if (operation.find(".128") != std::string::npos || operation.starts_with("HMMA")) {
    count = 4;
  } else if (operation.find(".64") != std::string::npos || operation.find("WIDE") != std::string::npos ||
             (operation.starts_with("CS2R") && operation.find(".32") == std::string::npos)) {
    count = 2;
  }
  return registers_from(number_of(match[2]), count);
}

/// Products that end together: what they read, and their sums.
struct Group {
  Registers operands;
  Registers sums;

  auto operator<=>(const Group&) const = default;
};
using Groups = std::vector<Group>;  // the last one is not yet closed

constexpr std::size_t kMostGroups = 6;  // more are never in flight

void add_product(Groups& groups, const std::string& text) {
  static const std::regex kProduct(R"(^HGMMA\.64x(\d+)x\S* R(\d+), (?:R(\d+)|gdesc))");
  std::smatch match;
  if (std::regex_search(text, match, kProduct)) {
    groups.back().sums.add(registers_from(number_of(match[2]), number_of(match[1]) / 2));
    if (match[3].matched) {
      groups.back().operands.add(registers_from(number_of(match[3]), 4));
    }
  }
  if (text.find("gsb0") != std::string::npos) {
    groups.emplace_back();
    if (groups.size() > kMostGroups) {
      groups.erase(groups.begin());
    }
  }
}

/// After a wait that leaves so many groups in flight.
void retire(Groups& groups, const std::string& text) {
  static const std::regex kLeft(R"(gsb0, 0x([0-9a-f]+))");
  std::smatch match;
  const std::size_t left = std::regex_search(text, match, kLeft) ? static_cast<std::size_t>(number_of(match[1])) : 0;
  while (groups.size() > left + 1) {
    groups.erase(groups.begin());
  }
}

/// Groups of products that nothing has waited for, the last of them not yet closed.
struct Issued {
  Groups groups = {{}};
  std::vector<bool> gone_on = {false};  // of each: a loop has gone back since it was closed
  std::size_t from = 0;                 // the instruction before

  auto operator<=>(const Issued&) const = default;
};

/// What an instruction reads, of rows of registers at least the first.
Registers read_registers(const Instruction& instruction) {
  const std::string& text = instruction.text;
  Registers out;
  if (text.starts_with("HGMMA")) {
    Groups product = {{}};
    add_product(product, text);
    out.add(product.front().operands);
    out.add(product.front().sums);
    return out;
  }
  // Of a warp's product: rows of A, of B and of what it adds to.
  static const std::regex kWarpProduct(
      R"(^HMMA\.(\d+)\.(\S*) R\d+, R(\d+)(?:\.reuse)?, R(\d+)(?:\.reuse)?, (?:R(\d+)|RZ))");
  std::smatch product;
  if (std::regex_search(text, product, kWarpProduct)) {
    const bool is_short =
        product[1] == "1688" && product[2].str().find("TF32") == std::string::npos;  // K of 8, 16 bits
    out.add(registers_from(number_of(product[3]), is_short ? 2 : 4));
    out.add(registers_from(number_of(product[4]), is_short ? 1 : 2));
    if (product[5].matched) {
      out.add(registers_from(number_of(product[5]), 4));
    }
    return out;
  }
  // Without the destination, which is the first operand, or the second after a predicate.
  static const std::regex kDestination(R"(^\S+ (?:U?P[T\d], )*R\d+(?:\.64)?,)");
  std::smatch match;
  const bool writes = written_registers(text) != Registers() && std::regex_search(text, match, kDestination);
  out = named_registers(writes ? match.suffix().str() : text);
  static const std::regex kStored(R"(^ST\S*\.128\S* .*, R(\d+)$)");
  if (std::regex_search(text, match, kStored)) {
    out.add(registers_from(number_of(match[1]), 4));
  }
  return out;
}

/// Whether control may go on to the next instruction.
bool falls_through(const Instruction& instruction) {
  const bool leaves = !instruction.branch_to.empty() || instruction.text.starts_with("EXIT") ||
                      instruction.text.starts_with("BPT.TRAP");
  return !leaves || instruction.has_condition || !instruction.predicate.empty();
}

/// The branches that go back: to where the path that reaches them first has been.
std::set<std::size_t> branches_back(const MachineCode& code) {
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(code.instructions.size() + 1, Mark::kNew);
  std::set<std::size_t> out;
  std::vector<std::size_t> path;
  const auto enter = [&](std::size_t at) {
    if (at < code.instructions.size() && marks[at] == Mark::kNew) {
      marks[at] = Mark::kOpen;
      path.push_back(at);
      return true;
    }
    return false;
  };
  enter(0);
  while (!path.empty()) {
    const std::size_t at = path.back();
    const Instruction& instruction = code.instructions[at];
    if (falls_through(instruction) && enter(at + 1)) {
      continue;
    }
    if (const auto label = code.labels.find(instruction.branch_to); label != code.labels.end()) {
      if (enter(label->second)) {
        continue;
      }
      if (label->second < marks.size() && marks[label->second] == Mark::kOpen) {
        out.insert(at);
      }
    }
    marks[at] = Mark::kDone;
    path.pop_back();
  }
  return out;
}

/// For each instruction the registers that are read after it, before they are written, on some path.
std::vector<Registers> read_later(const MachineCode& code) {
  const std::size_t count = code.instructions.size();
  std::vector<Registers> before(count + 1), after(count);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t at = count; at-- > 0;) {
      const Instruction& instruction = code.instructions[at];
      Registers live = falls_through(instruction) ? before[at + 1] : Registers();
      if (const auto label = code.labels.find(instruction.branch_to); label != code.labels.end()) {
        live.add(before[label->second]);
      }
      after[at] = live;
      if (instruction.predicate.empty()) {
        live.take(written_registers(instruction.text));
      }
      live.add(read_registers(instruction));
      changed = changed || live != before[at];
      before[at] = live;
    }
  }
  return after;
}

/// The predicate that is true where this one is false.
std::string opposite_of(const std::string& predicate) {
  return predicate.starts_with('!') ? predicate.substr(1) : '!' + predicate;
}

/// The predicates that an instruction may write: all that it names, except its own.
std::set<std::string> named_predicates(const std::string& text) {
  static const std::regex kPredicate(R"(\bU?P\d\b)");
  std::set<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), kPredicate), end; it != end; ++it) {
    out.insert(it->str());
  }
  return out;
}

/// A load from shared memory whose value nothing has waited for.
struct Load {
  Registers registers;
  std::string predicate;    // it was done where this is true; empty: always
  std::size_t arrival = 0;  // the first one after it, counted from 1; 0: none yet

  auto operator<=>(const Load&) const = default;
};
using Loads = std::set<Load>;

/// Takes out what an instruction reads or writes, and puts in what it loads.
void follow_loads(Loads& loads, const Instruction& instruction) {
  Registers named = named_registers(instruction.text);
  named.add(read_registers(instruction));
  named.add(written_registers(instruction.text));
  std::erase_if(loads, [&](const Load& load) { return load.registers.meets(named); });
  // After a new value of its predicate, nothing says any more that a load was not done.
  const std::set<std::string> written = named_predicates(instruction.text);
  Loads kept;
  for (Load load : loads) {
    if (instruction.text.starts_with("R2P") ||
        written.contains(load.predicate.substr(load.predicate.starts_with('!')))) {
      load.predicate.clear();
    }
    kept.insert(std::move(load));
  }
  loads = std::move(kept);
  if (instruction.text.starts_with("LDS")) {
    if (const Registers loaded = written_registers(instruction.text); loaded != Registers()) {
      loads.insert({loaded, instruction.predicate});
    }
  }
}

/// Goes all paths through a kernel: `step` changes the state at an instruction, and says whether something is wrong
/// there; `learn` changes it where a path goes on only if a predicate is true. Places where paths meet are gone on from
/// once for each state.
template <typename State, typename Step, typename Learn>
std::vector<std::string> faults_on_paths(const MachineCode& code, const State& first, const Step& step,
                                         const Learn& learn) {
  std::set<std::size_t> wrong;
  std::set<std::size_t> meeting;
  for (const auto& [label, place] : code.labels) {
    meeting.insert(place);
  }
  std::set<std::pair<std::size_t, State>> seen;
  std::vector<std::pair<std::size_t, State>> open = {{0, first}};
  while (!open.empty()) {
    auto [at, state] = std::move(open.back());
    open.pop_back();
    for (; at < code.instructions.size(); ++at) {
      if (meeting.contains(at) && !seen.emplace(at, state).second) {
        break;
      }
      const Instruction& instruction = code.instructions[at];
      if (step(state, instruction)) {
        wrong.insert(at);
      }
      if (code.labels.contains(instruction.branch_to)) {
        open.emplace_back(code.labels.at(instruction.branch_to), state);
        learn(open.back().second, instruction.predicate);
      }
      if (!falls_through(instruction)) {
        break;
      }
      if ((!instruction.branch_to.empty() || instruction.text.starts_with("EXIT")) && !instruction.has_condition) {
        learn(state, opposite_of(instruction.predicate));
      }
    }
  }
  std::vector<std::string> out;
  for (const std::size_t at : wrong) {
    out.push_back(fmt::format("{}: {}", code.instructions[at].address, code.instructions[at].text));
  }
  return out;
}

}  // namespace

std::vector<MachineCode> kernels_of_listing(std::string_view listing) {
  static const std::regex kInstruction(R"(^\s*/\*([0-9a-f]{4,6})\*/\s+(?:@(!?U?P\S+)\s+)?(.*?)\s*;)");
  static const std::regex kBranch(R"(^BRA.*`\((\S+)\))");
  std::vector<MachineCode> out;
  std::istringstream lines{std::string(listing)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with(".text.")) {
      out.push_back({line.substr(6, line.find(':') - 6), {}, {}});
    } else if (out.empty()) {
      continue;
    } else if (line.starts_with(".L_") && line.ends_with(':')) {
      out.back().labels[line.substr(0, line.size() - 1)] = out.back().instructions.size();
    } else if (std::regex_search(line, match, kInstruction)) {
      Instruction instruction{match[1], match[3], match[2], {}, false};
      std::smatch branch;
      if (std::regex_search(instruction.text, branch, kBranch)) {
        instruction.branch_to = branch[1];
        // BRA.DIV, BRA.U.ANY and BRA UP0, ...
        instruction.has_condition = instruction.text.find(".DIV") != std::string::npos ||
                                    instruction.text.find(".ANY") != std::string::npos ||
                                    instruction.text.find(", `(") != std::string::npos;
      }
      out.back().instructions.push_back(std::move(instruction));
    }
  }
  return out;
}

std::optional<std::string> listing_of(const std::string& disassembler, std::string_view binary) {
  static std::atomic<int> number = 0;
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("convtgen_listing_{}_{}.cubin", ::getpid(), ++number);
  std::ofstream(file, std::ios::binary) << binary;
  FILE* pipe = ::popen(fmt::format("'{}' -c '{}'", disassembler, file.string()).c_str(), "r");
  if (pipe == nullptr) {
    return std::nullopt;
  }
  std::string out;
  char buffer[65536];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    out.append(buffer, count);
  }
  const int status = ::pclose(pipe);
  std::filesystem::remove(file);
  return status == 0 ? std::optional(out) : std::nullopt;
}

std::vector<std::string> overwritten_operands(const MachineCode& code) {
  const auto step = [](Groups& groups, const Instruction& instruction) {
    const std::string& text = instruction.text;
    if (text.starts_with("HGMMA")) {
      add_product(groups, text);
      return false;
    }
    if (text.starts_with("WARPGROUP.DEPBAR")) {
      retire(groups, text);
      return false;
    }
    const Registers written = written_registers(text);
    const Registers named = instruction.branch_to.empty() ? named_registers(text) : Registers();
    return std::ranges::any_of(groups, [&](const Group& group) {
      return written.meets(group.operands) || written.meets(group.sums) || named.meets(group.sums);
    });
  };
  return faults_on_paths(code, Groups{{}}, step, [](Groups&, const std::string&) {});
}

std::vector<std::string> unkept_operands(const MachineCode& code) {
  const std::vector<Registers> later = read_later(code);
  const std::set<std::size_t> back = branches_back(code);
  const auto step = [&](Issued& issued, const Instruction& instruction) {
    const std::string& text = instruction.text;
    const auto at = static_cast<std::size_t>(&instruction - code.instructions.data());
    if (back.contains(issued.from) && at != issued.from + 1) {
      for (std::size_t i = 0; i + 1 < issued.groups.size(); ++i) {
        issued.gone_on[i] = true;
      }
    }
    issued.from = at;
    if (text.starts_with("HGMMA")) {
      add_product(issued.groups, text);
    }
    bool unkept = false;
    if (text.starts_with("WARPGROUP.DEPBAR")) {
      const Groups before = issued.groups;
      retire(issued.groups, text);
      const std::size_t done = before.size() - issued.groups.size();
      for (std::size_t i = 0; i < done; ++i) {
        unkept = unkept || (issued.gone_on[i] && !later[at].holds(before[i].operands));
      }
      issued.gone_on.erase(issued.gone_on.begin(), issued.gone_on.begin() + static_cast<std::ptrdiff_t>(done));
    }
    issued.gone_on.resize(issued.groups.size(), false);
    return unkept;
  };
  return faults_on_paths(code, Issued{}, step, [](Issued&, const std::string&) {});
}

std::vector<std::string> early_arrivals(const MachineCode& code) {
  std::set<std::size_t> early;
  const auto step = [&](Loads& loads, const Instruction& instruction) {
    const Registers read = read_registers(instruction);
    for (const Load& load : loads) {
      if (load.arrival != 0 && load.registers.meets(read)) {
        early.insert(load.arrival - 1);
      }
    }
    follow_loads(loads, instruction);
    if (instruction.text.starts_with("SYNCS.ARRIVE")) {
      Loads after;
      for (Load load : loads) {
        load.arrival =
            load.arrival != 0 ? load.arrival : 1 + static_cast<std::size_t>(&instruction - code.instructions.data());
        after.insert(std::move(load));
      }
      loads = std::move(after);
    }
    return false;
  };
  faults_on_paths(code, Loads(), step, [](Loads& loads, const std::string& predicate) {
    std::erase_if(loads,
                  [&](const Load& load) { return !predicate.empty() && load.predicate == opposite_of(predicate); });
  });
  std::vector<std::string> out;
  for (const std::size_t at : early) {
    out.push_back(fmt::format("{}: {}", code.instructions[at].address, code.instructions[at].text));
  }
  return out;
}

}  // namespace convtgen
