// The name under which a pty is found, whatever number the kernel gave it: a symbolic link that is there from the
// moment the pty can be opened until the process ends.
//
// Who owns the link holds a lock on the hidden file beside it (".NAME.lock", with the process's number in it). The
// kernel drops the lock of a process that was killed, so the next one takes over what it has left behind; a link whose
// owner lives is refused, and so is anything that no other wizloop has put there.
//
//   Result<SerialLink> link = SerialLink::claim("/tmp/board", "/dev/pts/7");
#pragma once

#include <filesystem>
#include <string>

#include "sim/core/result.hpp"

namespace wizloop::gateway {

class SerialLink {
 public:
  static Result<SerialLink> claim(const std::filesystem::path& path, const std::filesystem::path& device);
  SerialLink(SerialLink&& other) noexcept;
  SerialLink& operator=(SerialLink&&) = delete;
  // Removes the link, unless somebody has put another in its place.
  ~SerialLink();

  const std::filesystem::path& path() const { return path_; }

 private:
  SerialLink(std::filesystem::path path, std::filesystem::path device, int lock);

  std::filesystem::path path_;
  std::filesystem::path device_;
  int lock_;
};

}  // namespace wizloop::gateway
