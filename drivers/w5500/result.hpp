// What a driver call came to: Result<T> holds a value or the Error that kept it from one; Progress holds how far a
// transfer got and, if it stopped early, why. Neither allocates, and a compiler that knows [[nodiscard]] warns about a
// result that nobody looks at.
//
//   Result<uint16_t> waiting = socket.available();
//   if (!waiting) return waiting.error();
//   use(waiting.value());
#ifndef WIZLOOP_W5500_RESULT_HPP
#define WIZLOOP_W5500_RESULT_HPP

#include <stddef.h>
#include <stdint.h>

// avr-g++ 5.4 has no class-level [[nodiscard]] and would warn about it.
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(nodiscard)
#define W5500_NODISCARD [[nodiscard]]
#endif
#endif
#ifndef W5500_NODISCARD
#define W5500_NODISCARD
#endif

namespace w5500 {

enum class Error : uint8_t {
  none,
  invalid_argument,     // the chip was left alone
  bus_failed,           // the bus could not complete a transfer: a DMA that did not end
  no_chip,              // MR does not keep what is written: no chip, no power, no wire
  wrong_version,        // something answers, but its VERSIONR is not 0x04
  command_timeout,      // Sn_CR did not clear: the chip hangs or MISO is stuck
  state_timeout,        // Sn_SR did not become what was waited for
  send_timeout,         // a SEND brought neither SENDOK nor TIMEOUT
  space_timeout,        // the peer did not acknowledge enough to free TX memory
  unstable_counter,     // no two reads of a 16-bit counter agreed
  implausible_counter,  // a counter is above the size of its buffer: the bus or the pointers are wrong
  wrong_state,          // the socket's state does not allow this call
  refused,              // the peer answered the SYN with RST
  peer_timeout,         // the chip gave up: ARP or TCP went unanswered (Sn_IR TIMEOUT)
  closed_by_peer,       // FIN and everything before it was read, or RST
  no_datagram,          // none is waiting
  out_of_step,          // a UDP record header that cannot be one; the receive buffer was emptied
  no_answer,            // nobody answered in time
  no_such_name,         // DNS: the name does not exist
  no_address,           // DNS: the name exists and has no IPv4 address
  server_failed,        // DNS: the servers fail, refuse, or answer what makes no sense
  answer_truncated,     // DNS: the answer does not fit a datagram, or the buffer
};

template <typename T>
class W5500_NODISCARD Result {
 public:
  Result(const T& value) : value_(value), error_(Error::none) {}  // implicit, so that `return value;` works
  Result(Error error) : value_(), error_(error) {}                // implicit, so that `return Error::refused;` works

  explicit operator bool() const { return error_ == Error::none; }
  const T& value() const { return value_; }  // T{} if there was an error
  Error error() const { return error_; }

 private:
  T value_;
  Error error_;
};

template <>
class W5500_NODISCARD Result<void> {
 public:
  Result(Error error) : error_(error) {}  // Error::none is success

  explicit operator bool() const { return error_ == Error::none; }
  Error error() const { return error_; }

 private:
  Error error_;
};

struct W5500_NODISCARD Progress {
  size_t count;  // bytes that were accepted
  Error error;   // why no more were; none if all were

  explicit operator bool() const { return error == Error::none; }
};

}  // namespace w5500

#endif
