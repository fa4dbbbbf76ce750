#include "sim/net/switch.hpp"

#include <utility>

namespace wizloop::net {
namespace {

// With a full table each new station asks for room; the table is searched for the silent no more often than this.
constexpr Duration shortest_between_searches = 1s;

std::uint64_t number_of(const wire::MacAddress& mac) {
  return static_cast<std::uint64_t>(load16(mac.data())) << 32 | load32(mac.data() + 2);
}

bool is_reserved(const wire::MacAddress& mac) {
  return number_of(mac) >> 4 == 0x0180'C200'0000 >> 4;  // 01-80-C2-00-00-00 to -0F
}

bool is_damaged(const wire::Frame& frame) {
  return !frame.fcs_good || frame.size < wire::min_frame_bytes || frame.size > wire::max_frame_bytes;
}

}  // namespace

SwitchPort::SwitchPort(Switch& owner, std::size_t number)
    : switch_{owner}, number_{number}, queue_(owner.profile().queue_frames), cable_busy_{owner.queue_} {}

void SwitchPort::plug_into(Link& link, End end) {
  WIZ_ASSERT(!plugged_in());
  link.attach(end, *this);
  link_ = &link;
  cable_ = &link.transmitter(end);
}

void SwitchPort::unplug() {
  cable_busy_.stop();
  for (; count_ > 0; --count_) {
    queue_[first_].reset();
    first_ = (first_ + 1) % queue_.size();
  }
  link_ = nullptr;
  cable_ = nullptr;
  switch_.forget_port(number_);
}

void SwitchPort::accept(wire::FramePtr frame, Instant /*at*/) {
  ++counters_.received;
  if (is_damaged(*frame)) {
    ++counters_.damaged;
    return;
  }
  switch_.forward(*this, frame->data());
}

void SwitchPort::send(Bytes frame) {
  if (cable_busy_.deadline() == Instant::max()) return transmit(switch_.frames_.copy(frame));
  if (count_ == queue_.size()) {
    ++counters_.queue_full;
    return;
  }
  queue_[(first_ + count_) % queue_.size()] = switch_.frames_.copy(frame);
  ++count_;
}

void SwitchPort::transmit(wire::FramePtr frame) {
  ++counters_.sent;
  const Frequency bit_rate = link_->bit_rate();
  const Instant start = switch_.queue_.now();
  cable_busy_.start_at(start + wire::time_on_wire(frame->size, bit_rate) + wire::inter_packet_gap(bit_rate),
                       [this] { on_cable_free(); });
  cable_->accept(std::move(frame), start);
}

void SwitchPort::on_cable_free() {
  cable_busy_.stop();
  if (count_ == 0) return;
  wire::FramePtr next = std::move(queue_[first_]);
  first_ = (first_ + 1) % queue_.size();
  --count_;
  transmit(std::move(next));
}

Switch::Switch(EventQueue& queue, wire::FramePool& frames, const SwitchProfile& profile)
    : queue_{queue}, frames_{frames}, profile_{profile} {
  for (std::size_t number = 0; number < profile_.ports; ++number) {
    ports_.push_back(std::make_unique<SwitchPort>(*this, number));
  }
  stations_.reserve(profile_.addresses);
}

void Switch::forward(SwitchPort& from, Bytes frame) {
  const auto header = wire::EthernetHeader::parse(frame).value();
  learn(header.source, from.number());
  if (is_reserved(header.destination)) {
    ++from.counters_.reserved;
    return;
  }
  const auto known = stations_.find(number_of(header.destination));
  if (known != stations_.end() && believes(known->second)) {
    if (known->second.port == from.number()) {
      ++from.counters_.at_home;
    } else {
      port(known->second.port).send(frame);
    }
    return;
  }
  for (const auto& port : ports_) {
    if (port->plugged_in() && port.get() != &from) port->send(frame);
  }
}

void Switch::learn(const wire::MacAddress& mac, std::size_t port) {
  if (wire::is_multicast(mac)) return;  // no station's address
  const std::uint64_t key = number_of(mac);
  if (const auto known = stations_.find(key); known != stations_.end()) {
    known->second = {port, queue_.now()};
    return;
  }
  if (stations_.size() >= profile_.addresses) forget_silent();
  if (stations_.size() < profile_.addresses) stations_.emplace(key, Station{port, queue_.now()});
}

void Switch::forget_silent() {
  if (forgotten_at_ != Instant::min() && queue_.now() - forgotten_at_ < shortest_between_searches) return;
  forgotten_at_ = queue_.now();
  std::erase_if(stations_, [this](const auto& entry) { return !believes(entry.second); });
}

void Switch::forget_port(std::size_t port) {
  std::erase_if(stations_, [port](const auto& entry) { return entry.second.port == port; });
}

}  // namespace wizloop::net
