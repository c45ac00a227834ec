#include "runtime/device/host/clocked_shadow.h"

#include <algorithm>
#include <unordered_map>

namespace convtgen::host {
namespace {

constexpr std::size_t kFewLists = std::size_t{1} << 17;
constexpr std::size_t kFirstPlaces = 1024;

}  // namespace

void ClockedShadow::begin(std::uint32_t bytes, const Ordering& ordering) {
  if (writer_.size() < bytes || ordering.first() < first_) {
    writer_.assign(bytes, Cell());
    writer_pc_.assign(bytes / 4 + 1, 0);
    readers_.assign(bytes, 0);
  }
  std::ranges::fill(readers_, 0);
  forget_lists();
  most_lists_ = kFewLists;
  first_ = ordering.first();
}

std::optional<Conflict> ClockedShadow::find_conflict(std::uint32_t offset, std::uint32_t bytes, bool write,
                                                     std::uint32_t thread, const Ordering& ordering) const {
  for (std::uint32_t i = offset; i < offset + bytes; ++i) {
    const bool as_before = i > offset && writer_[i] == writer_[i - 1] && readers_[i] == readers_[i - 1];
    if (as_before) {
      continue;
    }
    const Cell& writer = writer_[i];
    if (writer.time < first_) {
      if (!write) {
        return Conflict{.kind = Conflict::Kind::kNeverWritten, .byte = i};
      }
    } else if (writer.time == kInFlight || !ordering.knows(thread, writer.id, writer.time)) {
      return Conflict{.kind = Conflict::Kind::kWrite,
                      .byte = i,
                      .id = writer.id,
                      .pc = writer_pc_[i / 4],
                      .in_flight = writer.time == kInFlight};
    }
    for (std::uint32_t list = write ? readers_[i] : 0; list != 0; list = lists_[list].next) {
      const Reader& reader = lists_[list];
      if (!ordering.knows(thread, reader.id, reader.time)) {
        return Conflict{.kind = Conflict::Kind::kRead, .byte = i, .id = reader.id, .pc = reader.pc};
      }
    }
  }
  return std::nullopt;
}

std::optional<Conflict> ClockedShadow::find_unfenced(std::uint32_t offset, std::uint32_t bytes, std::uint32_t thread,
                                                     const Ordering& ordering) const {
  for (std::uint32_t i = offset; i < offset + bytes; ++i) {
    const Cell& writer = writer_[i];
    if (writer.time < first_ || (i > offset && writer == writer_[i - 1])) {
      continue;
    }
    const Agent agent = ordering.agent(writer.id);
    // cp.async writes as its thread does; what TMA wrote needs no fence.
    const bool plain = agent.kind == AgentKind::kThread || agent.kind == AgentKind::kCopies;
    if (plain && !ordering.fenced(thread, agent.owner, writer.time, FenceKind::kProxy)) {
      return Conflict{.kind = Conflict::Kind::kUnfenced, .byte = i, .id = writer.id, .pc = writer_pc_[i / 4]};
    }
  }
  return std::nullopt;
}

void ClockedShadow::note_read(std::uint32_t offset, std::uint32_t bytes, std::uint32_t id, Time time,
                              std::uint32_t pc) {
  std::uint32_t from = ~0U;
  std::uint32_t to = 0;
  for (std::uint32_t i = offset; i < offset + bytes; ++i) {
    if (readers_[i] != from) {
      from = readers_[i];
      to = with_reader(from, id, time, pc);
    }
    readers_[i] = to;
  }
  if (lists_.size() > most_lists_) {
    forget_unused_lists();
    most_lists_ = std::max(kFewLists, 2 * lists_.size());
  }
}

void ClockedShadow::note_write(std::uint32_t offset, std::uint32_t bytes, std::uint32_t id, Time time,
                               std::uint32_t pc) {
  // Who may write knows of all readers, and who will know of the write will know of them.
  std::fill_n(writer_.begin() + offset, bytes, Cell{time, id});
  std::fill_n(readers_.begin() + offset, bytes, 0);
  std::fill_n(writer_pc_.begin() + offset / 4, (offset % 4 + bytes + 3) / 4, pc);
}

std::uint32_t ClockedShadow::with_reader(std::uint32_t list, std::uint32_t id, Time time, std::uint32_t pc) {
  if (list != 0 && lists_[list].id == id) {
    if (lists_[list].time == time) {
      return list;
    }
    list = lists_[list].next;  // its later read stands for the earlier
  }
  const Reader wanted{list, id, time, pc};
  const std::size_t place = place_of(wanted);
  if (found_[place] != 0) {
    return found_[place];
  }
  const auto made = static_cast<std::uint32_t>(lists_.size());
  lists_.push_back(wanted);
  found_[place] = made;
  if (2 * lists_.size() > found_.size()) {
    found_.assign(2 * found_.size(), 0);
    for (std::uint32_t each = 1; each < lists_.size(); ++each) {
      found_[place_of(lists_[each])] = each;
    }
  }
  return made;
}

std::size_t ClockedShadow::place_of(const Reader& list) const {
  const std::uint64_t hash =
      ((std::uint64_t{list.next} << 32 | list.id) ^ std::uint64_t{list.time} << 13) * 0x9e3779b97f4a7c15ULL;
  for (std::size_t place = hash >> 40;; ++place) {  // the upper bits are made of all
    place &= found_.size() - 1;
    const Reader& there = lists_[found_[place]];
    if (found_[place] == 0 || (there.next == list.next && there.id == list.id && there.time == list.time)) {
      return place;
    }
  }
}

void ClockedShadow::forget_lists() {
  lists_.resize(1);
  found_.assign(kFirstPlaces, 0);
}

// Keeps the lists that bytes have, each with the last read of everybody in it.
void ClockedShadow::forget_unused_lists() {
  const std::vector<Reader> old = lists_;
  forget_lists();
  std::unordered_map<std::uint32_t, std::uint32_t> renamed{{0, 0}};
  std::vector<Reader> members;
  for (std::uint32_t& cell : readers_) {
    const auto [found, fresh] = renamed.try_emplace(cell, 0);
    if (fresh) {
      members.clear();
      for (std::uint32_t list = cell; list != 0; list = old[list].next) {
        members.push_back(old[list]);
      }
      std::ranges::stable_sort(
          members, [](const Reader& a, const Reader& b) { return a.id != b.id ? a.id < b.id : a.time > b.time; });
      const auto repeated = std::ranges::unique(members, {}, &Reader::id);
      members.erase(repeated.begin(), repeated.end());
      std::uint32_t list = 0;
      for (const Reader& reader : members) {
        list = with_reader(list, reader.id, reader.time, reader.pc);
      }
      found->second = list;
    }
    cell = found->second;
  }
}

}  // namespace convtgen::host
