// A multicast UDP socket as a member of one group (datasheet 4.2, Sn_MR.MULTI and MC; RFC 1112, RFC 2236): a report at
// OPEN and for each query, a leave message at CLOSE from version 2 on. Steps without a clock, like ArpResolver.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/time.hpp"
#include "sim/wire/igmp.hpp"

namespace wizloop::chip {

class GroupMember {
 public:
  void join(wire::Ipv4Address group, const wire::MacAddress& mac, bool version_1, Instant ready) {
    group_ = group;
    mac_ = mac;
    version_1_ = version_1;
    member_ = true;
    report_at(ready);
  }

  bool member() const { return member_; }
  wire::Ipv4Address group() const { return group_; }
  const wire::MacAddress& mac() const { return mac_; }
  bool version_1() const { return version_1_; }

  // A query that asks for all groups (0) or for this one.
  bool is_asked_by(const wire::Igmp& query) const {
    return member_ && query.type == wire::Igmp::query && (query.group == 0 || query.group == group_);
  }
  void report_at(Instant ready) { report_ready_ = std::min(report_ready_, ready); }
  // A report that is due later than `latest` is brought forward to `drawn`; one that is due before stays (RFC 2236 3).
  void report_by(Instant latest, Instant drawn) {
    if (report_ready_ > latest) report_ready_ = drawn;
  }
  // Another member has reported `group`: one report is enough for the routers.
  void on_report_heard(wire::Ipv4Address group) {
    if (member_ && group == group_) report_ready_ = Instant::max();
  }
  Instant next_output() const { return report_ready_; }
  void on_report_leaves() { report_ready_ = Instant::max(); }

 private:
  wire::Ipv4Address group_ = 0;
  wire::MacAddress mac_{};
  bool version_1_ = false;
  bool member_ = false;
  Instant report_ready_ = Instant::max();
};

}  // namespace wizloop::chip
