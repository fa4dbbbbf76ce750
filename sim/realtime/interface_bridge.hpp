// What bridges to an interface of the host have in common: one descriptor that gives and takes a frame at a time, read
// as far as the cable takes it; and an interface that may go down, come back, or go away.
#pragma once

#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <string>

#include "sim/core/result.hpp"
#include "sim/realtime/bridge.hpp"
#include "sim/realtime/host_interface.hpp"

namespace wizloop::realtime {

class InterfaceBridge : public Bridge {
 protected:
  InterfaceBridge(const BridgeSite& site, std::string name, const std::string& interface)
      : Bridge{site, std::move(name)}, interface_{interface}, descriptor_{site.io} {}

  // The frame that has come, which may be longer than what fits; below 0 and errno as read(2).
  virtual ssize_t read_frame(wire::Frame& into) = 0;
  // The same for write(2).
  virtual ssize_t write_frame(Bytes frame) = 0;
  // All that had come has been read.
  virtual void on_read_all() {}

  // From the start: the descriptor belongs to the interface of that name as it is now.
  void watch_interface();

  int descriptor() { return descriptor_.native_handle(); }
  static Error failed(const std::string& what);

  HostInterface interface_;
  boost::asio::posix::stream_descriptor descriptor_;

 private:
  void on_plugged_in() override { wait_for_frames(); }
  bool send_to_host(Bytes frame) override;
  void wait_for_frames();
  void receive();
  // False: the rest has to wait, for room on the cable or for ever.
  bool read_all();
  bool gone() const { return interface_.index() != index_; }
  void note_interface();

  int index_ = 0;
  bool down_ = false;
  bool waits_ = false;          // for the descriptor to be ready
  bool cable_is_full_ = false;  // and receive() is called when it has room
};

}  // namespace wizloop::realtime
