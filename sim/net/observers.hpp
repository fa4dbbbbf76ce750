// Two observers of a link: into a capture file, and into the fingerprint of a run.
//
//   CaptureObserver capture{*writer};
//   link.observe(capture);
#pragma once

#include "sim/core/fingerprint.hpp"
#include "sim/net/link.hpp"
#include "sim/wire/pcapng.hpp"

namespace wizloop::net {

class CaptureObserver final : public LinkObserver {
 public:
  explicit CaptureObserver(wire::PcapngWriter& writer) : writer_{writer} {}
  void on_frame(End /*from*/, Instant start, const wire::Frame& frame) override { writer_.write(start, frame); }

 private:
  wire::PcapngWriter& writer_;
};

class FingerprintObserver final : public LinkObserver {
 public:
  explicit FingerprintObserver(Fingerprint& fingerprint) : fingerprint_{fingerprint} {}
  void on_frame(End from, Instant start, const wire::Frame& frame) override {
    fingerprint_.add(static_cast<std::uint64_t>(from));
    fingerprint_.add(start);
    fingerprint_.add(frame.data());
  }

 private:
  Fingerprint& fingerprint_;
};

}  // namespace wizloop::net
