#include "sim/core/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sim/core/descriptor.hpp"

namespace wizloop::output {
namespace {

Error cannot_write(const std::filesystem::path& path, int error_number) {
  return {fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error_number)), kind_of(error_number)};
}

}  // namespace

Result<int> hold(const std::filesystem::path& path) {
  const int file = descriptor::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return cannot_write(path, errno);
  struct stat what {};
  if (::fstat(file, &what) != 0 || !S_ISREG(what.st_mode)) return file;
  // A file system that knows no locks keeps nobody from writing.
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    descriptor::close(file);
    return Error{
        fmt::format("{}: is being written by another process, or by this one under another option", path.string())};
  }
  return file;
}

Result<int> open(const std::filesystem::path& path) {
  const Result<int> file = hold(path);
  if (!file) return file.error();
  // Not before it is ours; a pipe or a device has nothing to lose.
  struct stat what {};
  if (::fstat(file.value(), &what) != 0 || !S_ISREG(what.st_mode) || ::ftruncate(file.value(), 0) == 0) return file;
  const int error_number = errno;
  descriptor::close(file.value());
  return cannot_write(path, error_number);
}

Result<std::FILE*> open_stream(const std::filesystem::path& path) {
  const Result<int> file = open(path);
  if (!file) return file.error();
  std::FILE* const stream = ::fdopen(file.value(), "w");
  if (stream != nullptr) return stream;
  const int error_number = errno;
  descriptor::close(file.value());
  return cannot_write(path, error_number);
}

}  // namespace wizloop::output
