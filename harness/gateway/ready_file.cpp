#include "harness/gateway/ready_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

namespace wizloop::gateway {

namespace {

namespace fs = std::filesystem;

Error cannot_write(const fs::path& path) {
  const int error_number = errno;
  return Error{fmt::format("--json {}: {}", path.string(), std::strerror(error_number)), kind_of(error_number)};
}

bool write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return true;
}

// A FIFO without a reader is an error: whoever serves does not wait for one.
std::optional<Error> write_in_place(const fs::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return cannot_write(path);
  ::fcntl(file, F_SETFL, 0);
  const bool is_written = write_all(file, text);
  std::optional<Error> failed;
  if (!is_written) failed = cannot_write(path);
  ::close(file);
  return failed;
}

// Even where nothing is there yet.
fs::path behind_links(fs::path path) {
  constexpr int links_most = 40;  // as the kernel's
  std::error_code none;
  for (int i = 0; i < links_most && fs::is_symlink(path, none); ++i) {
    path = path.parent_path() / fs::read_symlink(path, none);
  }
  return path;
}

bool is_held(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool held = ::flock(file, LOCK_SH | LOCK_NB) != 0;
  ::close(file);
  return held;
}

}  // namespace

Result<ReadyFile> ReadyFile::write(const fs::path& path, const std::string& text) {
  std::error_code none;
  const fs::file_status there = fs::status(path, none);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    if (auto failed = write_in_place(path, text)) return *failed;
    return ReadyFile{path, -1};
  }
  if (is_held(path)) {
    return Error{
        fmt::format("--json {}: belongs to a process that still serves; expected a name of its own", path.string()),
        ErrorKind::machine};
  }
  const fs::path target = behind_links(path);
  fs::path unfinished = target;
  unfinished += fmt::format(".{}", ::getpid());
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return cannot_write(path);
  if (!write_all(file, text) || ::flock(file, LOCK_EX | LOCK_NB) != 0 ||
      std::rename(unfinished.c_str(), target.c_str()) != 0) {
    const Error failed = cannot_write(path);
    ::unlink(unfinished.c_str());
    ::close(file);
    return failed;
  }
  return ReadyFile{target, file};
}

ReadyFile::ReadyFile(ReadyFile&& other) noexcept
    : path_{std::move(other.path_)}, file_{std::exchange(other.file_, -1)} {}

ReadyFile::~ReadyFile() {
  if (file_ < 0) return;
  struct stat written {};
  struct stat named {};
  if (::fstat(file_, &written) == 0 && ::stat(path_.c_str(), &named) == 0 && written.st_ino == named.st_ino &&
      written.st_dev == named.st_dev) {
    ::unlink(path_.c_str());
  }
  ::close(file_);
}

}  // namespace wizloop::gateway
