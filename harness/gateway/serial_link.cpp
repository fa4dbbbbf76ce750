#include "harness/gateway/serial_link.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace wizloop::gateway {

namespace {

namespace fs = std::filesystem;

fs::path lock_of(const fs::path& path) {
  return path.parent_path() / fmt::format(".{}.lock", path.filename().string());
}

Error cannot(const fs::path& path, std::string_view doing) {
  const int error_number = errno;
  return Error{fmt::format("--serial {}: cannot {}: {}", path.string(), doing, std::strerror(error_number)),
               kind_of(error_number)};
}

std::string read_owner(int lock) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(lock, text.data(), text.size(), 0);
  std::string owner{text.data(), static_cast<std::size_t>(size > 0 ? size : 0)};
  while (!owner.empty() && owner.back() == '\n') owner.pop_back();
  return owner.empty() ? "another process" : owner;
}

// A lock on the file that has the name now: its last owner may have removed the one that was opened here.
Result<int> lock(const fs::path& path) {
  const fs::path name = lock_of(path);
  for (;;) {
    const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0) return cannot(path, fmt::format("make {}", name.string()));
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      const std::string owner = read_owner(file);
      ::close(file);
      return Error{fmt::format("--serial {}: held by {}, which is running", path.string(), owner), ErrorKind::machine};
    }
    struct stat opened {};
    struct stat named {};
    if (::fstat(file, &opened) == 0 && ::stat(name.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
        opened.st_dev == named.st_dev) {
      return file;
    }
    ::close(file);
  }
}

// What is in the way at `path` and nobody's to remove.
std::optional<Error> obstacle(const fs::path& path, bool was_ours) {
  std::error_code none;
  const fs::file_status there = fs::symlink_status(path, none);
  if (!fs::exists(there)) return std::nullopt;
  if (!fs::is_symlink(there)) {
    return Error{
        fmt::format("--serial {}: is there already and no symbolic link; expected a free name", path.string())};
  }
  const fs::path target = fs::read_symlink(path, none);
  const bool to_a_pty = target.parent_path() == "/dev/pts";
  if (to_a_pty && (was_ours || !fs::exists(target, none))) return std::nullopt;
  return Error{fmt::format("--serial {}: leads to {}, and no board was served there; expected a free name",
                           path.string(), target.string())};
}

}  // namespace

Result<SerialLink> SerialLink::claim(const fs::path& path, const fs::path& device) {
  if (path.filename().empty()) return Error{fmt::format("--serial {}: expected the name of a link", path.string())};
  std::error_code none;
  const bool was_ours = fs::exists(lock_of(path), none);
  Result<int> locked = lock(path);
  if (!locked) return locked.error();
  SerialLink link{path, device, locked.value()};
  if (auto in_the_way = obstacle(path, was_ours)) return *in_the_way;
  const std::string owner = fmt::format("process {}\n", ::getpid());
  if (::ftruncate(link.lock_, 0) != 0 || ::pwrite(link.lock_, owner.data(), owner.size(), 0) < 0) {
    return cannot(path, "say in its lock who holds it");
  }
  // Renaming puts it there in one step: whoever opens the name finds the old pty or the new one.
  const fs::path made = path.parent_path() / fmt::format(".{}.{}", path.filename().string(), ::getpid());
  ::unlink(made.c_str());
  if (::symlink(device.c_str(), made.c_str()) != 0) return cannot(path, "make the link");
  if (::rename(made.c_str(), path.c_str()) != 0) {
    Error error = cannot(path, "put the link in its place");
    ::unlink(made.c_str());
    return error;
  }
  return link;
}

SerialLink::SerialLink(fs::path path, fs::path device, int lock)
    : path_{std::move(path)}, device_{std::move(device)}, lock_{lock} {}

SerialLink::SerialLink(SerialLink&& other) noexcept
    : path_{std::move(other.path_)}, device_{std::move(other.device_)}, lock_{std::exchange(other.lock_, -1)} {}

SerialLink::~SerialLink() {
  if (lock_ < 0) return;
  std::error_code none;
  if (fs::read_symlink(path_, none) == device_) ::unlink(path_.c_str());
  // While the lock still holds: whoever opens the file from now on makes a new one.
  ::unlink(lock_of(path_).c_str());
  ::close(lock_);
}

}  // namespace wizloop::gateway
