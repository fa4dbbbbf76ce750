// Text that is put together in memory before it is sent, because its length goes first. What does not fit is left out.
//
//   Page page(buffer, sizeof buffer);
//   page.text(AGENT_TEXT("bytes "));
//   page.number(bytes);
//   send(buffer, page.length());
#ifndef WIZLOOP_AGENT_PAGE_HPP
#define WIZLOOP_AGENT_PAGE_HPP

#include "text.hpp"

namespace agent {

class Page {
 public:
  Page(uint8_t* data, uint16_t room) : data_(data), room_(room) {}

  void character(char c) {
    if (length_ < room_) data_[length_++] = static_cast<uint8_t>(c);
  }
  void text(Text text);
  void characters(const char* text);
  void number(uint64_t value);
  void ip(const uint8_t* ip);

  uint16_t length() const { return length_; }

 private:
  uint8_t* data_;
  uint16_t room_;
  uint16_t length_ = 0;
};

}  // namespace agent

#endif
