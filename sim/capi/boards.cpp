#include "sim/capi/boards.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "sim/core/limits.hpp"

namespace wizloop::capi {

Result<bus::BoardProfile> load_named_board(const std::string& name) {
  const std::filesystem::path path{name};
  if (path.has_parent_path() || path.extension() == ".toml") return bus::load_board(path);
  std::vector<std::string> folders;
  if (const char* const own = std::getenv("WIZLOOP_BOARDS")) folders.emplace_back(own);
  folders.emplace_back(WIZLOOP_INSTALLED_BOARDS);
  folders.emplace_back(WIZLOOP_SOURCE_BOARDS);
  for (const std::string& folder : folders) {
    const std::filesystem::path file = std::filesystem::path{folder} / (name + ".toml");
    std::error_code unknown;
    if (std::filesystem::is_regular_file(file, unknown)) return bus::load_board(file);
  }
  return Error{fmt::format("there is no board \"{}\": no {}.toml in {}", name, name, fmt::join(folders, ", "))};
}

bus::BoardProfile free_board(Frequency sclk) {
  bus::BoardProfile board;
  board.name = "free";
  board.title = "a board whose code costs no time";
  board.chip = "W5500";
  board.sclk = sclk;
  board.burst.emplace();
  board.dma.emplace();
  board.select = limits::select_high;
  board.deselect = limits::select_hold;
  return board;
}

}  // namespace wizloop::capi
