// What a peer has measured: one line per transfer as it ends, in the form of the board agent's replies (key=value, the
// unit last in the key, quotes around a value with spaces), and all of them as JSON when asked for.
//
//   report.add("tcp-sink", {{"from", "127.0.0.1:40000"}, {"bytes", bytes}, {"us", us}, {"mbit_s", 8.0 * bytes / us}});
//   -> tcp-sink from=127.0.0.1:40000 bytes=10485760 us=893211 mbit_s=93.9147
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/result.hpp"

namespace wizloop::peers {

class Report {
 public:
  using Value = std::variant<std::string, std::uint64_t, double>;
  using Field = std::pair<std::string_view, Value>;

  void add(std::string_view what, std::initializer_list<Field> fields);

  std::size_t lines() const { return lines_.size(); }
  // {"results": [{"what": "tcp-sink", "from": ..., ...}, ...]}
  std::optional<Error> write_json(const std::filesystem::path& file) const;

 private:
  struct Line {
    std::string what;
    std::vector<std::pair<std::string, Value>> fields;
  };

  std::vector<Line> lines_;
};

}  // namespace wizloop::peers
