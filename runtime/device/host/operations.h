// Asynchronous operations, and when they take effect: at once, as late as possible, or in between.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/device/host/clock.h"
#include "runtime/device/host/fault.h"
#include "runtime/device/host/random.h"

namespace convtgen::host {

/// What an operation does when it takes effect. Returns the fault that this shows, if any.
using Effect = std::function<std::optional<Fault>()>;

/// Operations of one thread (or warp) that take effect in the order in which they were issued, in groups. A wait covers
/// groups.
struct Stream {
  struct Group {
    std::uint64_t end = 0;  // how many operations had been issued when it was closed
    Time time = 0;          // their accesses carry an earlier one
  };
  std::deque<Effect> waiting;
  std::uint64_t issued = 0;
  std::vector<Group> groups;
  std::uint64_t waited = 0;  // so many have been waited for
};

/// When operations take effect; drawn anew for each cluster.
enum class Timing : std::uint8_t { kEarly, kLate, kAnyTime };

class Operations {
 public:
  /// No operation is in flight in any of `streams` streams.
  void begin(std::uint32_t streams, Random& random);

  [[nodiscard]] Stream& stream(std::uint32_t index) { return streams_[index]; }

  /// Issues an operation in a stream; it takes effect now if the timing is so.
  [[nodiscard]] std::optional<Fault> issue(std::uint32_t stream, Effect effect, Random& random);
  /// The same for an operation without an order to others, such as one that reports to an mbarrier.
  [[nodiscard]] std::optional<Fault> issue_alone(Effect effect, Random& random);

  /// Closes a group of the stream at a time of its own.
  void close_group(std::uint32_t stream, Time time);
  /// The newest group that a wait for all groups except the `pending` newest covers; null without one.
  [[nodiscard]] const Stream::Group* newest_covered(std::uint32_t stream, std::uint32_t pending) const;
  /// Makes the first `end` operations of the stream take effect, unless they have already.
  [[nodiscard]] std::optional<Fault> finish(std::uint32_t stream, std::uint64_t end);

  [[nodiscard]] bool idle() const { return count_ == 0; }
  /// Whether now is a moment for one to take effect, where any may be.
  [[nodiscard]] bool due(Random& random) const {
    return count_ != 0 && timing_ == Timing::kAnyTime && random.below(8) == 0;
  }
  /// Makes one operation take effect, a random one; at least one is in flight.
  [[nodiscard]] std::optional<Fault> perform_one(Random& random);

 private:
  [[nodiscard]] bool at_once(Random& random) const;
  [[nodiscard]] std::optional<Fault> perform_first(Stream& stream);

  Timing timing_ = Timing::kEarly;
  std::vector<Stream> streams_;
  std::vector<Effect> alone_;
  std::size_t count_ = 0;  // in flight
};

}  // namespace convtgen::host
