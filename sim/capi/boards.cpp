#include "sim/capi/boards.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "sim/core/limits.hpp"

namespace wizloop::capi {

namespace {

// share/wizloop/boards of the prefix that this library was installed to, wherever that was moved.
std::optional<std::string> beside_the_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&free_board), &info) == 0 || info.dli_fname == nullptr) return std::nullopt;
  std::error_code unknown;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, unknown);
  if (unknown) return std::nullopt;
  for (std::filesystem::path at = library.parent_path(); at.has_relative_path(); at = at.parent_path()) {
    const std::filesystem::path boards = at / "share/wizloop/boards";
    if (std::filesystem::is_directory(boards, unknown)) return boards.string();
  }
  return std::nullopt;
}

}  // namespace

Result<bus::BoardProfile> load_named_board(const std::string& name) {
  const std::filesystem::path path{name};
  if (path.has_parent_path() || path.extension() == ".toml") return bus::load_board(path);
  std::vector<std::string> folders;
  if (const char* const own = std::getenv("WIZLOOP_BOARDS")) folders.emplace_back(own);
  if (const auto folder = beside_the_library()) folders.push_back(*folder);
  folders.emplace_back(WIZLOOP_SOURCE_BOARDS);
  for (const std::string& folder : folders) {
    const std::filesystem::path file = std::filesystem::path{folder} / (name + ".toml");
    std::error_code unknown;
    if (std::filesystem::is_regular_file(file, unknown)) return bus::load_board(file);
  }
  std::vector<std::string> known;
  for (const std::string& folder : folders) {
    std::error_code unknown;
    for (const auto& file : std::filesystem::directory_iterator{folder, unknown}) {
      if (file.path().extension() == ".toml") known.push_back(file.path().stem().string());
    }
  }
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  return Error{fmt::format("there is no board \"{}\": no {}.toml in {}; expected a path, or one of {}", name, name,
                           fmt::join(folders, ", "), fmt::join(known, ", "))};
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
