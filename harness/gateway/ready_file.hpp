// The file of `wizloop serve --json`: where its boards are, for as long as they can be connected to.
//
//   auto file = ReadyFile::write("rack.json", text);     // appears whole, to whoever waits for it
//   if (!file) return file.error();                      // that of a process that still serves, or cannot be written
//                                                        // removed by the destructor, unless it is another's by then
//
// A file that nobody holds is replaced, a symbolic link followed. What is no file at all, a device or a FIFO, is
// written to as it is, and stays.
#pragma once

#include <filesystem>
#include <string>

#include "sim/core/result.hpp"

namespace wizloop::gateway {

class ReadyFile {
 public:
  static Result<ReadyFile> write(const std::filesystem::path& path, const std::string& text);

  ReadyFile(ReadyFile&& other) noexcept;
  ReadyFile& operator=(ReadyFile&&) = delete;
  ~ReadyFile();

 private:
  ReadyFile(std::filesystem::path path, int file) : path_{std::move(path)}, file_{file} {}

  std::filesystem::path path_;
  int file_;  // open and locked while this process serves; -1 for what is not to be removed
};

}  // namespace wizloop::gateway
