#include "sim/rtl/fst_disk.hpp"

#include <fmt/format.h>
#include <gtkwave/fstapi.h>

#include <string>
#include <system_error>

namespace wizloop::rtl {

std::optional<Error> no_room_to_close_fst(const std::filesystem::path& path) {
  constexpr std::uintmax_t least_bytes = 1 << 20;
  std::error_code unknown;
  const auto room = std::filesystem::space(std::filesystem::absolute(path).parent_path(), unknown);
  if (unknown || room.available >= least_bytes) return std::nullopt;
  for (const std::string& half_written : {path.string() + ".hier", path.string()}) {
    std::filesystem::remove(half_written, unknown);
  }
  return Error{fmt::format("{}: the waveform could not be written whole: {} bytes are free on its disk, expected {}",
                           path.string(), room.available, least_bytes),
               ErrorKind::machine};
}

std::optional<Error> fst_cut_short(const std::filesystem::path& path, std::uint64_t last) {
  if (void* const reader = fstReaderOpen(path.c_str()); reader != nullptr) {
    const std::uint64_t end = fstReaderGetEndTime(reader);
    fstReaderClose(reader);
    if (end == last) return std::nullopt;
  }
  std::error_code unknown;
  std::filesystem::remove(path, unknown);
  return Error{fmt::format("{}: the waveform could not be written whole", path.string()), ErrorKind::machine};
}

}  // namespace wizloop::rtl
