#include "harness/gateway/news.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <string>

namespace wizloop::gateway {

static_assert(News::longest_line <= PIPE_BUF);

void News::say(std::string_view line) {
  if (dropped_ > 0 && write(fmt::format("note dropped lines={}", dropped_))) dropped_ = 0;
  if (dropped_ > 0 || !write(line)) ++dropped_;
}

// False: there is no room. A reader that is gone for good misses nothing.
bool News::write(std::string_view line) const {
  pollfd room{descriptor_, POLLOUT, 0};
  if (::poll(&room, 1, 0) == 0) return false;
  std::string whole{line.substr(0, longest_line - 1)};
  whole += '\n';
  [[maybe_unused]] const ssize_t gone = ::write(descriptor_, whole.data(), whole.size());
  return true;
}

}  // namespace wizloop::gateway
