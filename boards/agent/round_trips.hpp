// What round trips, or whatever else is measured again and again, came to.
#ifndef WIZLOOP_AGENT_ROUND_TRIPS_HPP
#define WIZLOOP_AGENT_ROUND_TRIPS_HPP

#include "answer.hpp"

namespace agent {

class RoundTrips {
 public:
  void add(uint32_t us) {
    if (count_ == 0 || us < shortest_) shortest_ = us;
    if (us > longest_) longest_ = us;
    sum_ += us;
    ++count_;
  }
  uint32_t count() const { return count_; }
  // rtt_min_us, rtt_avg_us, rtt_max_us, if there were any.
  void tell(Answer& answer) const;

 private:
  uint32_t count_ = 0;
  uint32_t shortest_ = 0;
  uint32_t longest_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace agent

#endif
