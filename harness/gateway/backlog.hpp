// What a client has not taken yet: a ring of fixed size, so that a client that reads slowly costs no more than that.
// What does not fit is dropped, and nothing more is kept until the client has taken all that was: it sees one gap, with
// a line of its own in it that says how large it is.
//
//   Backlog backlog{backlog_bytes};
//   backlog.push(from_the_board);
//   backlog.pop(write(fd, backlog.front()));
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace wizloop::gateway {

// 2.6 s of a console at 1 Mbaud.
inline constexpr std::size_t backlog_bytes = std::size_t{256} * 1024;

class Backlog {
 public:
  explicit Backlog(std::size_t capacity) : ring_(capacity) {}

  void push(std::span<const std::uint8_t> bytes) {
    const std::size_t kept = gap_ > 0 ? 0 : std::min(bytes.size(), ring_.size() - size_);
    for (std::size_t done = 0; done < kept;) {
      const std::size_t at = (head_ + size_) % ring_.size();
      const std::size_t run = std::min(kept - done, ring_.size() - at);
      std::memcpy(&ring_[at], &bytes[done], run);
      size_ += run;
      done += run;
    }
    gap_ += bytes.size() - kept;
  }
  void push(std::string_view text) { push({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); }

  // What comes next, in one piece; not all there is where the ring closes. Stays where it is until it is popped.
  std::span<const std::uint8_t> front() const {
    return std::span{ring_}.subspan(head_, std::min(size_, ring_.size() - head_));
  }

  void pop(std::size_t bytes) {
    head_ = (head_ + bytes) % ring_.size();
    size_ -= bytes;
    if (size_ == 0 && gap_ > 0) {
      dropped_ += gap_;
      const std::string notice = "\r\n! dropped bytes=" + std::to_string(gap_) + " reason=slow-reader\r\n";
      gap_ = 0;
      push(notice);
    }
  }

  // Forgets what waits, and any gap.
  void clear() {
    dropped_ += gap_;
    gap_ = 0;
    size_ = 0;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::uint64_t dropped() const { return dropped_ + gap_; }

 private:
  std::vector<std::uint8_t> ring_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  std::uint64_t gap_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace wizloop::gateway
