// The socket libraries that a run can put on the board, and what is known of each before it runs.
//
//   const auto library = find_library("ethernet2");
//   if (!library) return library.error();
//   if (library.value()->fixed_buffers && buffer_kib != 2) ...
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/core/finding.hpp"
#include "sim/core/result.hpp"

namespace wizloop::scenario {

struct LibraryInfo {
  std::string_view name;                     // as in board files
  bool uses_intn = false;                    // can sleep on INTn where it would poll
  bool fixed_buffers = false;                // gives sockets their memory as it likes
  std::vector<Announcement> announced = {};  // findings that the original earns too, on every board
};

std::span<const LibraryInfo> libraries();

// The error names them all.
Result<const LibraryInfo*> find_library(std::string_view name);

}  // namespace wizloop::scenario
