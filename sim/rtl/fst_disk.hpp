// Whether the disk has taken an FST: GTKWave's library, which writes them, reports no error of the disk. One that it
// has not taken whole is removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "sim/core/result.hpp"

namespace wizloop::rtl {

// To ask before a file is closed: to do so the library maps another that it has written beside it, with the suffix
// .hier. What a full disk has not taken of that is not there to be mapped, which ends the process. Where there is too
// little room for it, both are removed, and the library must not close the first.
std::optional<Error> no_room_to_close_fst(const std::filesystem::path& path);

// To ask behind that: whether the file can be read up to its last instant, in its own unit of time.
std::optional<Error> fst_cut_short(const std::filesystem::path& path, std::uint64_t last);

}  // namespace wizloop::rtl
