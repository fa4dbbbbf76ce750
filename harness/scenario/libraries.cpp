#include "harness/scenario/libraries.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace wizloop::scenario {

std::span<const LibraryInfo> libraries() {
  static const std::vector<LibraryInfo> table = {
      {"ethernet2", /*uses_intn=*/false, /*fixed_buffers=*/true},
      {"ethernet3"},
      {"pjrc_ethernet",
       /*uses_intn=*/false,
       /*fixed_buffers=*/false,
       {{Rule::reserved_block,
         "the library first looks for a W5200, whose frames a W5500 takes for reads of a reserved block",
         Origin::library}}},
      {"iolibrary"},
      {"lwip_macraw",
       /*uses_intn=*/false,
       /*fixed_buffers=*/true,
       {{Rule::buffers_over_committed,
         "the driver gives socket 0 all 16 KiB and leaves 2 KiB to each of the others, which it never opens",
         Origin::library}}},
      {"mongoose",
       /*uses_intn=*/false,
       /*fixed_buffers=*/true,
       {{Rule::buffers_over_committed, "the driver gives socket 0 all 16 KiB and leaves 2 KiB to each of the others",
         Origin::library}}},
      {"qnethernet",
       /*uses_intn=*/false,
       /*fixed_buffers=*/true,
       {{Rule::send_result_not_cleared,
         "the driver takes a send to be over by Sn_TX_RD, and never clears the SENDOK that nobody looks at",
         Origin::library}}},
      {"esp_idf", /*uses_intn=*/false, /*fixed_buffers=*/true},
      {"nuttx", /*uses_intn=*/false, /*fixed_buffers=*/true},
      {"zephyr",
       /*uses_intn=*/false,
       /*fixed_buffers=*/true,
       {{Rule::send_while_sending,
         "the semaphore of a send starts at one, so that each send goes while the one before it may be under way",
         Origin::library},
        {Rule::send_result_not_cleared, "for the same reason SENDOK of the one before may be there still",
         Origin::library}}},
      {"wizloop", /*uses_intn=*/true},
  };
  return table;
}

Result<const LibraryInfo*> find_library(std::string_view name) {
  const auto found = std::ranges::find(libraries(), name, &LibraryInfo::name);
  if (found != libraries().end()) return &*found;
  std::vector<std::string_view> names;
  for (const LibraryInfo& library : libraries()) names.push_back(library.name);
  return Error{fmt::format("unknown library \"{}\", expected one of {}", name, fmt::join(names, ", "))};
}

}  // namespace wizloop::scenario
