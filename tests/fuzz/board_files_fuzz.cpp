// Board files: any text through load_board. What follows a NUL byte is an override, KEY=VALUE, of the board that came
// out.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sim/bus/profile.hpp"

namespace {

// load_board wants a file; this one lives in memory.
class MemoryFile {
 public:
  MemoryFile() : descriptor_{memfd_create("board.toml", 0)} {
    if (descriptor_ < 0) std::abort();
  }
  void write(std::string_view text) const {
    if (ftruncate(descriptor_, 0) != 0) std::abort();
    if (pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) std::abort();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::size_t end = std::min(input.find('\0'), size);
  file.write(input.substr(0, end));
  auto board = wizloop::bus::load_board(file.path());
  if (!board || end == size) return 0;
  const std::string_view change = input.substr(end + 1);
  const std::size_t equals = std::min(change.find('='), change.size());
  const std::string_view value = equals == change.size() ? std::string_view{} : change.substr(equals + 1);
  static_cast<void>(wizloop::bus::apply_override(board.value(), change.substr(0, equals), value));
  return 0;
}
