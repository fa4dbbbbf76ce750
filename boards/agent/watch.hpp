// Stands beside a verb that takes long: keeps its deadline, hears the console (Ctrl-C and cancel end the verb, anything
// else is told that the agent is busy), and reports progress. While it stands there, the waits of the driver end with
// it.
//
//   Watch watch(device, answer, request);        // reads timeout_ms and every_ms
//   if (!request.values_good()) return answer.bad_value(request);
//   watch.start(&bytes);                          // the request's values are gone from here on
//   while (bytes < wanted && !watch.over()) ...
//   watch.stop();                                 // so that closing can take its time
//   watch.conclude(error);                        // ok, err cancelled, err timeout, or the driver's error
#ifndef WIZLOOP_AGENT_WATCH_HPP
#define WIZLOOP_AGENT_WATCH_HPP

#include "device.hpp"

namespace agent {

class Watch final : private w5500::Patience {
 public:
  Watch(Device& device, Answer& answer, Request& request, uint32_t timeout_ms);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { stop(); }

  // `bytes` is what progress reports tell.
  void start(const uint64_t* bytes);
  // True once the verb has to end.
  bool over() override;
  void stop();
  uint64_t elapsed_us() { return device_.clock.now_us() - start_us_; }

  // Begins the answer. What cut the verb short explains an error of the driver, not the other way round.
  void conclude(w5500::Error error);
  bool cut_short() const { return end_ != End::none; }

  // Of the request, for events.
  const char* sequence() const { return answer_.sequence(); }
  bool checked() const { return answer_.checked(); }

 private:
  enum class End : uint8_t { none, cancelled, timeout };

  void hear();
  void hear_line();
  void report(uint64_t now_us);

  Device& device_;
  Answer& answer_;
  const Request& request_;
  uint64_t timeout_us_;
  uint64_t every_us_;
  const uint64_t* bytes_ = nullptr;
  uint64_t start_us_ = 0;
  uint64_t reported_us_ = 0;
  End end_ = End::none;
};

}  // namespace agent

#endif
