// The known word that is nearest to what somebody typed (Levenshtein), for messages that help.
//
//   fmt::format("unknown key {}; the nearest is {}", word, nearest(word, known));
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace wizloop {

// How many letters have to be changed, added or dropped to make one word of another.
inline std::size_t letters_between(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// `known` is any range of strings that is not empty; of equally near ones the first.
template <typename Words>
std::string_view nearest(std::string_view word, const Words& known) {
  return *std::min_element(known.begin(), known.end(), [word](std::string_view a, std::string_view b) {
    return letters_between(word, a) < letters_between(word, b);
  });
}

}  // namespace wizloop
