// A remote host that misbehaves: a filter between the cable and any host, which drops, changes or adds frames as a run
// plans it. The host itself goes on as if nothing were wrong.
//
//   FaultyPeer filter{queue, frames, faults, addresses};
//   link.filter_host(filter);
//   pc.plug_into(link, End::host);
#pragma once

#include "sim/core/fault.hpp"
#include "sim/core/timer.hpp"
#include "sim/net/link.hpp"
#include "sim/wire/ethernet.hpp"
#include "sim/wire/ipv4.hpp"
#include "sim/wire/tcp.hpp"

namespace wizloop::net {

class FaultyPeer final : public StationFilter {
 public:
  // Whom a SYN flood is aimed at, and whose subnet it seems to come from.
  struct Target {
    wire::MacAddress mac{};
    wire::Ipv4Address ip = 0;
  };

  FaultyPeer(EventQueue& queue, wire::FramePool& frames, Faults& faults, const Target& board);
  FaultyPeer(const FaultyPeer&) = delete;
  FaultyPeer& operator=(const FaultyPeer&) = delete;

  static bool wanted(const Faults& faults) { return faults.planned("peer"); }

  wire::FrameSink& before_station(wire::FrameSink& station) override;
  wire::FrameSink& before_cable(wire::FrameSink& cable, const Link& link) override;

 private:
  class Hearing final : public wire::FrameSink {
   public:
    explicit Hearing(FaultyPeer& peer) : peer_{peer} {}
    void accept(wire::FramePtr frame, Instant at) override { peer_.hear(std::move(frame), at); }
    void announce(const wire::Frame& frame, Instant at) override { peer_.station_->announce(frame, at); }

   private:
    FaultyPeer& peer_;
  };
  class Speaking final : public wire::FrameSink {
   public:
    explicit Speaking(FaultyPeer& peer) : peer_{peer} {}
    void accept(wire::FramePtr frame, Instant start) override { peer_.speak(std::move(frame), start); }

   private:
    FaultyPeer& peer_;
  };

  void hear(wire::FramePtr frame, Instant at);
  void speak(wire::FramePtr frame, Instant start);
  void change_tcp(MutableBytes packet, const wire::Ipv4Header& ip);
  void break_checksum(MutableBytes packet, const wire::Ipv4Header& ip);
  void reset(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, const wire::TcpHeader& segment,
             std::size_t payload_bytes);
  void flood();
  void send(const wire::EthernetHeader& ethernet, wire::Ipv4Address source, wire::Ipv4Address destination,
            const wire::TcpHeader& segment);
  // Onto the cable, behind what is on it already.
  void put_on_cable(wire::FramePtr frame, Instant start);

  EventQueue& queue_;
  wire::FramePool& frames_;
  Target board_;
  FaultPoint* rst_;
  FaultPoint* silence_;
  FaultPoint* zero_window_;
  FaultPoint* tiny_mss_;
  FaultPoint* bad_checksum_;
  FaultPoint* syn_flood_;
  FaultPoint* no_arp_;
  Hearing hearing_{*this};
  Speaking speaking_{*this};
  wire::FrameSink* station_ = nullptr;
  wire::FrameSink* cable_ = nullptr;
  const Link* link_ = nullptr;
  Instant cable_free_ = Instant::min();
  Timer flood_timer_;
};

}  // namespace wizloop::net
