#include "harness/gateway/pty_port.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>  // posix_openpt() is POSIX's, not C++'s
#include <sys/inotify.h>
#include <termios.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <cstring>
#include <utility>

namespace wizloop::gateway {

namespace {

Error cannot(std::string_view doing) {
  return Error{fmt::format("no pty for the console: cannot {}: {}", doing, std::strerror(errno)), ErrorKind::machine};
}

}  // namespace

Result<std::unique_ptr<PtyPort>> PtyPort::create(boost::asio::io_context& io, Console& console,
                                                 const std::optional<std::filesystem::path>& link) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master < 0) return cannot("open /dev/ptmx");
  std::array<char, 64> device{};
  if (::grantpt(master) != 0 || ::unlockpt(master) != 0 || ::ptsname_r(master, device.data(), device.size()) != 0) {
    Error error = cannot("unlock it");
    ::close(master);
    return error;
  }
  const int openings = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (openings < 0 || ::inotify_add_watch(openings, device.data(), IN_OPEN) < 0) {
    Error error = cannot("watch it with inotify");
    ::close(openings);
    ::close(master);
    return error;
  }
  std::unique_ptr<PtyPort> port{new PtyPort{io, console, master, openings, device.data()}};
  if (auto failed = port->make_ready()) return *failed;
  if (link) {
    Result<SerialLink> claimed = SerialLink::claim(*link, port->device_);
    if (!claimed) return claimed.error();
    port->link_.emplace(std::move(claimed).value());
    port->name_ = fmt::format("pty:{}", link->string());
  }
  console.attach(*port);
  port->look();
  return port;
}

PtyPort::PtyPort(boost::asio::io_context& io, Console& console, int master, int openings, std::string device)
    : master_{io, master},
      openings_{io, openings},
      console_{&console},
      device_{std::move(device)},
      name_{fmt::format("pty:{}", device_)} {}

PtyPort::~PtyPort() { console_->detach(*this); }

// As the next client is to find it: raw, and nothing to read. A pty that was never open looks as if it were; closing it
// makes it look closed.
std::optional<Error> PtyPort::make_ready() const {
  const int slave = ::open(device_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (slave < 0) return cannot(fmt::format("open {}", device_));
  termios settings{};
  std::optional<Error> failed;
  if (::tcgetattr(slave, &settings) != 0) {
    failed = cannot(fmt::format("read the settings of {}", device_));
  } else {
    ::cfmakeraw(&settings);
    settings.c_cflag |= CLOCAL | CREAD;
    ::cfsetspeed(&settings, B115200);
    if (::tcsetattr(slave, TCSANOW, &settings) != 0) failed = cannot(fmt::format("set {} raw", device_));
    ::tcflush(slave, TCIFLUSH);
  }
  ::close(slave);
  return failed;
}

void PtyPort::look() {
  std::array<std::uint8_t, 1024> events;
  while (::read(openings_.native_handle(), events.data(), events.size()) > 0) {
  }
  // Now, for whoever opens it from here on is heard of. A client that has gone again may have left something to read.
  pollfd state{master_.native_handle(), POLLIN, 0};
  ::poll(&state, 1, 0);
  if ((state.revents & POLLHUP) != 0 && (state.revents & POLLIN) == 0) {
    openings_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& failed) {
                           if (!failed) look();
                         });
    return;
  }
  open_ = true;
  console_->opened(*this);
  read();
}

void PtyPort::read() {
  if (reading_ || !open_ || !typed_.empty()) return;
  reading_ = true;
  master_.async_read_some(boost::asio::buffer(input_),
                          [this, opening = opening_](const boost::system::error_code& failed, std::size_t size) {
                            if (failed == boost::asio::error::operation_aborted || opening != opening_) return;
                            reading_ = false;
                            if (failed) {
                              gone();
                              return;
                            }
                            typed_.assign(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(size));
                            go_on();
                          });
}

// The last client has closed it: the read fails with EIO.
void PtyPort::gone() {
  open_ = false;
  ++opening_;
  reading_ = false;
  writing_ = false;
  boost::system::error_code ignored;
  master_.cancel(ignored);  // what waits to be written is for nobody now
  typed_.clear();
  backlog_.clear();
  console_->closed(*this);
  static_cast<void>(make_ready());  // where it fails now there is nothing to be done, and nobody to be told
  look();
}

void PtyPort::go_on() {
  const std::size_t taken = console_->type(*this, typed_);
  typed_.erase(typed_.begin(), typed_.begin() + static_cast<std::ptrdiff_t>(taken));
  read();
}

void PtyPort::drop_typed() {
  typed_.clear();
  read();
}

void PtyPort::show(std::span<const std::uint8_t> bytes) {
  if (!open_) return;
  backlog_.push(bytes);
  write();
}

void PtyPort::write() {
  if (writing_ || !open_ || backlog_.empty()) return;
  writing_ = true;
  const auto next = backlog_.front();
  master_.async_write_some(boost::asio::buffer(next.data(), next.size()),
                           [this, opening = opening_](const boost::system::error_code& failed, std::size_t size) {
                             if (failed == boost::asio::error::operation_aborted || opening != opening_) return;
                             writing_ = false;
                             if (failed) return;  // closed: the read says so too
                             backlog_.pop(size);
                             write();
                           });
}

}  // namespace wizloop::gateway
