#include "sim/realtime/interface_bridge.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace wizloop::realtime {

Error InterfaceBridge::failed(const std::string& what) {
  return Error{fmt::format("{}: {}", what, std::strerror(errno)), ErrorKind::machine};
}

void InterfaceBridge::watch_interface() {
  index_ = interface_.index();
  note_interface();
}

void InterfaceBridge::wait_for_frames() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (error) return;  // the bridge has gone
                           begin_input();
                           receive();
                         });
}

void InterfaceBridge::receive() {
  for (;;) {
    if (!cable_has_room()) {
      when_cable_has_room([this] { receive(); });
      return;
    }
    wire::FramePtr frame = site_.frames.take();
    const ssize_t bytes = read_frame(*frame);
    if (bytes < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      note_interface();
      if (gone()) return;  // its descriptor is ready for ever
      break;
    }
    if (down_) note_interface();
    if (bytes == 0) continue;
    frame->size = static_cast<std::size_t>(bytes);
    send_to_board(std::move(frame));
  }
  on_read_all();
  wait_for_frames();
}

bool InterfaceBridge::send_to_host(Bytes frame) {
  const bool sent = write_frame(frame) == static_cast<ssize_t>(frame.size());
  // Full queues are not worth a look at the interface.
  if (down_ || (!sent && errno != EAGAIN && errno != ENOBUFS)) note_interface();
  return sent;
}

void InterfaceBridge::note_interface() {
  const bool down = gone() || !interface_.is_up();
  if (std::exchange(down_, down) == down) return;
  if (!down) {
    report("the interface is up again");
  } else if (gone()) {
    report("the interface is gone; frames are dropped until the board is started anew");
  } else {
    report("the interface is down; frames are dropped until it is up");
  }
}

}  // namespace wizloop::realtime
