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
  if (std::exchange(waits_, true)) return;
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (error) return;  // the bridge has gone
                           waits_ = false;
                           if (cable_is_full_) return;
                           begin_input();
                           receive();
                         });
}

void InterfaceBridge::receive() {
  if (!read_all()) return;
  on_read_all();
  wait_for_frames();
}

bool InterfaceBridge::read_all() {
  for (;;) {
    if (!cable_has_room()) {
      cable_is_full_ = true;
      when_cable_has_room([this] {
        cable_is_full_ = false;
        receive();
      });
      return false;
    }
    wire::FramePtr frame = site_.frames.take();
    const ssize_t bytes = read_frame(*frame);
    if (bytes < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return true;
      note_interface();
      return !gone();  // the descriptor of one that is gone is ready for ever
    }
    if (down_) note_interface();
    if (bytes == 0) continue;
    frame->size = static_cast<std::size_t>(bytes);
    send_to_board(std::move(frame));
  }
}

// The host answers a segment within write(2). Read here, its answer has the instant at which the segment arrived; a
// handler of the io_context would have its turn only when firmware that is busy pauses, by 200 us later.
bool InterfaceBridge::send_to_host(Bytes frame) {
  const bool sent = write_frame(frame) == static_cast<ssize_t>(frame.size());
  // Full queues are not worth a look at the interface.
  if (down_ || (!sent && errno != EAGAIN && errno != ENOBUFS)) note_interface();
  if (sent && !cable_is_full_) (void)read_all();
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
