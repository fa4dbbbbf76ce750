#include "round_trips.hpp"

namespace agent {

void RoundTrips::tell(Answer& answer) const {
  if (count_ == 0) return;
  answer.number(AGENT_TEXT("rtt_min_us"), shortest_);
  answer.number(AGENT_TEXT("rtt_avg_us"), sum_ / count_);
  answer.number(AGENT_TEXT("rtt_max_us"), longest_);
}

}  // namespace agent
