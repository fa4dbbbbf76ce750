#include "dns.hpp"

#include "bytes.hpp"
#include "deadline.hpp"

namespace w5500 {
namespace {

constexpr uint16_t server_port = 53;
constexpr uint16_t first_local_port = 49152;  // of 16384 (RFC 6335 6)
constexpr uint16_t local_ports = 16384;

constexpr uint16_t header_bytes = 12;
constexpr uint16_t type_a = 1;
constexpr uint16_t type_cname = 5;
constexpr uint16_t class_in = 1;
constexpr uint16_t flag_response = 0x8000;
constexpr uint16_t flags_opcode = 0x7800;
constexpr uint16_t flag_truncated = 0x0200;
constexpr uint16_t flag_recursion_desired = 0x0100;
constexpr uint8_t rcode_none = 0;
constexpr uint8_t rcode_name_error = 3;

constexpr uint8_t max_label = 63;
constexpr uint8_t max_name = 253;  // as text, without a dot at its end
constexpr uint8_t max_aliases = 8;
constexpr uint8_t max_labels = 128;

constexpr uint8_t rounds = 3;
constexpr uint32_t first_wait_us = 1000000;
constexpr uint32_t chip_patience_us = 1000;
constexpr uint32_t poll_interval_us = 1000;
constexpr uint8_t messages_per_poll = 4;

uint8_t lower(uint8_t letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<uint8_t>(letter + 32) : letter; }

// The label of a text from `at` on; 0 if it is none.
uint8_t label_length(const char* text, uint16_t at) {
  uint8_t length = 0;
  while (text[at + length] != '\0' && text[at + length] != '.') {
    if (++length > max_label) return 0;
  }
  return length;
}

// Labels behind each other, ended by an empty one. The bytes that were written, 0 if the text is no name or does not
// fit.
uint16_t store_name(const char* text, uint8_t* to, uint16_t capacity) {
  uint16_t at = 0;
  if (text == nullptr || text[0] == '\0') return 0;
  while (text[at] != '\0') {
    const uint8_t length = label_length(text, at);
    const uint16_t end = static_cast<uint16_t>(at + length);
    if (length == 0 || end > max_name || end + 2 > capacity) return 0;
    to[at] = length;
    for (uint8_t i = 0; i < length; ++i) to[at + 1 + i] = static_cast<uint8_t>(text[at + i]);
    at = static_cast<uint16_t>(end + 1);
    if (text[end] == '\0') break;
  }
  to[at] = 0;
  return static_cast<uint16_t>(at + 1);
}

// A message that may say anything. Each look stays within it.
class Message {
 public:
  Message(const uint8_t* bytes, uint16_t size) : bytes_(bytes), size_(size) {}

  bool has(uint16_t at, uint16_t count) const { return at <= size_ && count <= size_ - at; }
  uint16_t at16(uint16_t at) const { return load16(bytes_ + at); }
  uint32_t at32(uint16_t at) const { return load32(bytes_ + at); }
  const uint8_t* at(uint16_t offset) const { return bytes_ + offset; }

  // Behind the name that begins at `at`; 0 if it runs over the end.
  uint16_t behind_name(uint16_t at) const {
    while (has(at, 1)) {
      const uint8_t length = bytes_[at];
      if (length == 0) return static_cast<uint16_t>(at + 1);
      if (is_pointer(length)) return has(at, 2) ? static_cast<uint16_t>(at + 2) : uint16_t{0};
      if (length > max_label) return 0;
      at = static_cast<uint16_t>(at + 1 + length);
    }
    return 0;
  }

  // The label from here on: moves through pointers (RFC 1035 4.1.4), which lead to what came before. False: there is
  // no sound label.
  bool find_label(uint16_t& at) const {
    while (has(at, 1) && is_pointer(bytes_[at])) {
      if (!has(at, 2)) return false;
      const uint16_t to = static_cast<uint16_t>(at16(at) & 0x3FFF);
      if (to >= at) return false;
      at = to;
    }
    return has(at, 1) && bytes_[at] <= max_label && has(at, static_cast<uint16_t>(1 + bytes_[at]));
  }

  bool same_name(uint16_t a, uint16_t b) const {
    for (uint8_t labels = 0; labels < max_labels; ++labels) {
      if (!find_label(a) || !find_label(b) || bytes_[a] != bytes_[b]) return false;
      const uint8_t length = bytes_[a];
      if (length == 0) return true;
      for (uint8_t i = 1; i <= length; ++i) {
        if (lower(bytes_[a + i]) != lower(bytes_[b + i])) return false;
      }
      a = static_cast<uint16_t>(a + 1 + length);
      b = static_cast<uint16_t>(b + 1 + length);
    }
    return false;
  }

  // Whether the name at `at` is that of the text; both without regard to case.
  bool is_name(uint16_t at, const char* text) const {
    while (find_label(at)) {
      const uint8_t length = bytes_[at];
      if (length == 0) return *text == '\0';
      for (uint8_t i = 1; i <= length; ++i, ++text) {
        // A label may hold any byte; of the text, these two end one.
        if (*text == '\0' || *text == '.' || lower(bytes_[at + i]) != lower(static_cast<uint8_t>(*text))) return false;
      }
      if (*text == '.') {
        ++text;
      } else if (*text != '\0') {
        return false;
      }
      at = static_cast<uint16_t>(at + 1 + length);
    }
    return false;
  }

 private:
  static bool is_pointer(uint8_t length) { return (length & 0xC0) == 0xC0; }

  const uint8_t* bytes_;
  uint16_t size_;
};

enum class Search : uint8_t { found, alias, nothing, broken };

// One walk over the answers for the addresses of the name at `target`, or for the name that it is an alias of.
Search walk(const Message& message, uint16_t at, uint16_t records, uint16_t& target, DnsAnswer& answer) {
  constexpr uint16_t fixed_bytes = 10;  // type, class, TTL, length
  uint16_t alias = 0;
  answer.count = 0;
  for (uint16_t record = 0; record < records; ++record) {
    const uint16_t fixed = message.behind_name(at);
    if (fixed == 0 || !message.has(fixed, fixed_bytes)) return answer.count > 0 ? Search::found : Search::broken;
    const uint16_t data = static_cast<uint16_t>(fixed + fixed_bytes);
    const uint16_t length = message.at16(static_cast<uint16_t>(fixed + 8));
    if (!message.has(data, length)) return answer.count > 0 ? Search::found : Search::broken;
    const uint16_t type = message.at16(fixed);
    const bool wanted = message.at16(static_cast<uint16_t>(fixed + 2)) == class_in && message.same_name(at, target);
    if (wanted && type == type_cname) alias = data;
    if (wanted && type == type_a && length == 4 && answer.count < DnsAnswer::max_addresses) {
      const uint32_t ttl_s = message.at32(static_cast<uint16_t>(fixed + 4));
      answer.ttl_s = answer.count == 0 ? ttl_s : smaller(answer.ttl_s, ttl_s);
      copy_bytes(answer.ip[answer.count++], message.at(data), 4);
    }
    at = static_cast<uint16_t>(data + length);
  }
  if (answer.count > 0) return Search::found;
  if (alias == 0) return Search::nothing;
  target = alias;
  return Search::alias;
}

}  // namespace

Result<void> DnsResolver::start(const char* name, const uint8_t (&servers)[2][4]) {
  active_ = false;
  usable_ = 0;
  for (uint8_t n = 0; n < 2; ++n) {
    copy_bytes(servers_[n], servers[n], 4);
    if (load32(servers[n]) != 0) usable_ = static_cast<uint8_t>(usable_ | (1 << n));
  }
  if (usable_ == 0 || buffer_ == nullptr || capacity_ < min_buffer) return Error::invalid_argument;
  if (store_name(name, buffer_ + header_bytes, static_cast<uint16_t>(capacity_ - header_bytes - 4)) == 0) {
    return Error::invalid_argument;
  }
  name_ = name;
  turn_ = 0;
  asked_ = false;
  failure_ = Error::no_answer;
  id_ = random16();
  local_port_ = static_cast<uint16_t>(first_local_port + random16() % local_ports);
  const Error error = socket_.open(local_port_).error();
  active_ = error == Error::none;
  return error;
}

Result<bool> DnsResolver::poll() {
  if (!active_) return Error::wrong_state;
  for (uint8_t i = 0; i < messages_per_poll; ++i) {
    const Result<Datagram> datagram = socket_.receive_from(buffer_, smaller(capacity_, max_message));
    if (datagram.error() == Error::no_datagram) break;
    if (datagram.error() == Error::out_of_step) continue;
    if (!datagram) return end(datagram.error());
    const Error outcome = judge(datagram.value());
    if (outcome == Error::none) {
      const Error closed = end(Error::none);
      if (closed != Error::none) return closed;
      return true;
    }
    if (outcome != Error::no_datagram) return end(outcome);
  }
  const uint32_t wait_us = first_wait_us << (turn_ / 2);
  if (asked_ && port_.now_us() - asked_us_ < wait_us && ((usable_ >> (turn_ & 1)) & 1) != 0) return false;
  if (!next_server()) return end(failure_);
  const Error error = ask();
  if (error != Error::none) return end(error);
  return false;
}

Result<void> DnsResolver::stop() { return end(Error::none); }

Result<DnsAnswer> DnsResolver::resolve(const char* name, const uint8_t (&servers)[2][4], uint32_t timeout_us) {
  const Deadline deadline(port_, timeout_us);
  const Result<void> started = start(name, servers);
  if (!started) return started.error();
  for (;;) {
    const Result<bool> done = poll();
    if (!done) return done.error();
    if (done.value()) return answer_;
    if (deadline.passed()) return end(failure_);
    port_.delay_us(smaller(deadline.left_us(), poll_interval_us));
  }
}

// xorshift32, with the time of the look-up in it.
uint16_t DnsResolver::random16() {
  random_ ^= port_.now_us();
  if (random_ == 0) random_ = 1;
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return static_cast<uint16_t>(random_ >> 8);
}

bool DnsResolver::next_server() {
  if (asked_) ++turn_;
  asked_ = true;
  while (usable_ != 0 && ((usable_ >> (turn_ & 1)) & 1) == 0) ++turn_;
  return usable_ != 0 && turn_ < 2 * rounds;
}

Error DnsResolver::ask() {
  // What the last server's address keeps the chip from sending (ARP) is given up.
  Error error = socket_.flush(chip_patience_us).error();
  if (error != Error::none && error != Error::peer_timeout) error = socket_.open(local_port_).error();
  if (error != Error::none && error != Error::peer_timeout) return error;

  store16(buffer_, id_);
  store16(buffer_ + 2, flag_recursion_desired);
  store16(buffer_ + 4, 1);  // questions
  store16(buffer_ + 6, 0);
  store32(buffer_ + 8, 0);
  const uint16_t name_bytes =
      store_name(name_, buffer_ + header_bytes, static_cast<uint16_t>(capacity_ - header_bytes - 4));
  uint8_t* const behind = buffer_ + header_bytes + name_bytes;
  store16(behind, type_a);
  store16(behind + 2, class_in);
  Endpoint server = {{}, server_port};
  copy_bytes(server.ip, servers_[turn_ & 1], 4);
  error =
      socket_.send_to(server, buffer_, static_cast<uint16_t>(header_bytes + name_bytes + 4), chip_patience_us).error();
  asked_us_ = port_.now_us();
  return error;
}

Error DnsResolver::judge(const Datagram& datagram) {
  uint8_t server = 0;
  while (server < 2 && (load32(servers_[server]) != load32(datagram.from.ip) || ((usable_ >> server) & 1) == 0)) {
    ++server;
  }
  const Message message(buffer_, datagram.stored);
  if (server == 2 || datagram.from.port != server_port || !message.has(0, header_bytes)) return Error::no_datagram;
  const uint16_t flags = message.at16(2);
  if (message.at16(0) != id_ || (flags & (flag_response | flags_opcode)) != flag_response) return Error::no_datagram;

  const uint8_t rcode = static_cast<uint8_t>(flags & 0x0F);
  const bool fails = rcode != rcode_none && rcode != rcode_name_error;
  bool truncated = (flags & flag_truncated) != 0 || datagram.stored < datagram.size;
  const uint16_t questions = message.at16(4);
  const uint16_t behind = message.behind_name(header_bytes);
  const bool repeats = questions == 1 && behind != 0 && message.has(behind, 4) &&
                       message.is_name(header_bytes, name_) && message.at16(behind) == type_a &&
                       message.at16(static_cast<uint16_t>(behind + 2)) == class_in;
  // Some servers leave the question out when they fail.
  if (!repeats && !(fails && questions == 0)) return Error::no_datagram;
  if (rcode == rcode_name_error) return Error::no_such_name;
  if (!fails) {
    uint16_t target = header_bytes;
    Search search = Search::alias;
    for (uint8_t i = 0; i <= max_aliases && search == Search::alias; ++i) {
      search = walk(message, static_cast<uint16_t>(behind + 4), message.at16(6), target, answer_);
    }
    if (search == Search::found) return Error::none;
    if (search == Search::nothing && !truncated) return Error::no_address;
  } else {
    truncated = false;
  }
  // Broken, or a ring of aliases: no better than a server that fails.
  failure_ = truncated ? Error::answer_truncated : Error::server_failed;
  usable_ = static_cast<uint8_t>(usable_ & ~(1 << server));
  return Error::no_datagram;
}

Error DnsResolver::end(Error outcome) {
  active_ = false;
  const Error closed = socket_.close().error();
  return outcome == Error::none ? closed : outcome;
}

}  // namespace w5500
