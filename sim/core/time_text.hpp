// Times as users write them: a whole number and its unit, "250us".
#pragma once

#include <optional>
#include <string_view>

#include "sim/core/time.hpp"

namespace wizloop {

inline constexpr Duration longest_time = Duration::max() / 4;  // so that sums of a few do not overflow

// Units are ps, ns, us, ms and s; none if the text is no such time, or longer than `longest_time`.
std::optional<Duration> time_of(std::string_view text);

}  // namespace wizloop
