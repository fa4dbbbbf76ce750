#include "harness/gateway/peers/report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace wizloop::peers {
namespace {

struct Text {
  std::string operator()(std::uint64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{:.6g}", number); }
  std::string operator()(const std::string& words) const {
    return words.find(' ') == std::string::npos ? words : fmt::format("\"{}\"", words);
  }
};

}  // namespace

void Report::add(std::string_view what, std::initializer_list<Field> fields) {
  Line& line = lines_.emplace_back(Line{std::string{what}, {}});
  std::string text = line.what;
  for (const auto& [key, value] : fields) {
    line.fields.emplace_back(key, value);
    text += fmt::format(" {}={}", key, std::visit(Text{}, value));
  }
  std::puts(text.c_str());
  std::fflush(stdout);  // whoever reads a pipe waits for this line
}

std::optional<Error> Report::write_json(const std::filesystem::path& file) const {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Line& line : lines_) {
    nlohmann::ordered_json result{{"what", line.what}};
    for (const auto& [key, value] : line.fields) {
      std::visit([&, key = key](const auto& typed) { result[key] = typed; }, value);
    }
    results.push_back(std::move(result));
  }
  std::ofstream out{file};
  out << nlohmann::ordered_json{{"results", std::move(results)}}.dump(1) << '\n';
  out.close();
  if (!out) return Error{fmt::format("{} could not be written", file.string())};
  return std::nullopt;
}

}  // namespace wizloop::peers
