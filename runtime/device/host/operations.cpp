#include "runtime/device/host/operations.h"

#include <utility>

namespace convtgen::host {

void Operations::begin(std::uint32_t streams, Random& random) {
  timing_ = static_cast<Timing>(random.below(3));
  streams_.resize(streams);
  for (Stream& stream : streams_) {
    stream.waiting.clear();
    stream.groups.clear();
    stream.issued = 0;
    stream.waited = 0;
  }
  alone_.clear();
  count_ = 0;
}

bool Operations::at_once(Random& random) const {
  return timing_ == Timing::kEarly || (timing_ == Timing::kAnyTime && random.below(3) == 0);
}

std::optional<Fault> Operations::perform_first(Stream& stream) {
  const Effect effect = std::move(stream.waiting.front());
  stream.waiting.pop_front();
  --count_;
  return effect();
}

std::optional<Fault> Operations::issue(std::uint32_t index, Effect effect, Random& random) {
  Stream& stream = streams_[index];
  ++stream.issued;
  stream.waiting.push_back(std::move(effect));
  ++count_;
  return at_once(random) ? finish(index, stream.issued) : std::nullopt;
}

std::optional<Fault> Operations::issue_alone(Effect effect, Random& random) {
  if (at_once(random)) {
    return effect();
  }
  alone_.push_back(std::move(effect));
  ++count_;
  return std::nullopt;
}

void Operations::close_group(std::uint32_t index, Time time) {
  Stream& stream = streams_[index];
  stream.groups.push_back({stream.issued, time});
}

const Stream::Group* Operations::newest_covered(std::uint32_t index, std::uint32_t pending) const {
  const std::vector<Stream::Group>& groups = streams_[index].groups;
  return pending < groups.size() ? &groups[groups.size() - 1 - pending] : nullptr;
}

std::optional<Fault> Operations::finish(std::uint32_t index, std::uint64_t end) {
  Stream& stream = streams_[index];
  while (stream.issued - stream.waiting.size() < end) {
    if (auto fault = perform_first(stream)) {
      return fault;
    }
  }
  return std::nullopt;
}

std::optional<Fault> Operations::perform_one(Random& random) {
  if (!alone_.empty() && (alone_.size() == count_ || random.below(2) == 0)) {
    std::swap(alone_[random.below(static_cast<std::uint32_t>(alone_.size()))], alone_.back());
    const Effect effect = std::move(alone_.back());
    alone_.pop_back();
    --count_;
    return effect();
  }
  std::uint32_t index = random.below(static_cast<std::uint32_t>(streams_.size()));
  while (streams_[index].waiting.empty()) {
    index = index + 1 == streams_.size() ? 0 : index + 1;
  }
  return perform_first(streams_[index]);
}

}  // namespace convtgen::host
