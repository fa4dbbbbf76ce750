// File descriptors by system call, past the C library: a driver under test may define functions of the names open,
// close, read, write or send for itself (WIZnet's ioLibrary does), and the linker would then hand us those.
//
// Results and errno as in the manual pages of section 2.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

namespace wizloop::descriptor {

inline int open(const char* path, int flags, mode_t mode = 0) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
inline int close(int file) { return static_cast<int>(syscall(SYS_close, file)); }
inline ssize_t write(int file, const void* data, std::size_t bytes) { return syscall(SYS_write, file, data, bytes); }
inline ssize_t read(int file, void* data, std::size_t bytes) { return syscall(SYS_read, file, data, bytes); }

}  // namespace wizloop::descriptor
