// DNS (RFC 1035): names, and messages of one question.
//
//   const auto query = Dns::parse(payload);
//   if (query && query->question.name == DnsName::of("www.example.com")) ...
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/assert.hpp"
#include "sim/core/bytes.hpp"

namespace wizloop::wire {

// A name as on the wire, without compression: labels, each behind its length, and an empty one at the end. So any bytes
// may be in a label, and names are equal whatever the case of their letters (RFC 1035 2.3.3).
class DnsName {
 public:
  static constexpr std::size_t max_bytes = 255;
  static constexpr std::size_t max_label_bytes = 63;

  DnsName() = default;  // the root

  // "www.example.com", with or without a dot at the end; nothing where a label is empty or too long, or all is.
  static std::optional<DnsName> of(std::string_view dotted) {
    if (!dotted.empty() && dotted.back() == '.') dotted.remove_suffix(1);
    DnsName name;
    name.bytes_.clear();
    while (!dotted.empty()) {
      const std::string_view label = dotted.substr(0, dotted.find('.'));
      if (label.empty() || label.size() > max_label_bytes || label.size() + 1 == dotted.size()) return std::nullopt;
      name.append(label);
      dotted.remove_prefix(std::min(dotted.size(), label.size() + 1));
    }
    name.bytes_ += '\0';
    if (name.bytes_.size() > max_bytes) return std::nullopt;
    return name;
  }

  // Reads the name at `at` and moves `at` behind it. A pointer must lead to before the place where the labels that it
  // ends began, so that each goes further back and there is no way around in circles.
  static std::optional<DnsName> parse(Bytes message, std::size_t& at) {
    DnsName name;
    name.bytes_.clear();
    std::size_t from = at;
    std::size_t read_at = at;
    bool compressed = false;
    for (;;) {
      if (read_at >= message.size()) return std::nullopt;
      const std::uint8_t length = message[read_at++];
      if (length > max_label_bytes) {
        constexpr std::uint8_t pointer = 0xC0;
        if ((length & pointer) != pointer || read_at >= message.size()) return std::nullopt;
        const std::size_t target = static_cast<std::size_t>(length & ~pointer) << 8 | message[read_at++];
        if (target >= from) return std::nullopt;
        if (!compressed) at = read_at;
        compressed = true;
        from = read_at = target;
        continue;
      }
      if (length > message.size() - read_at || name.bytes_.size() + 1 + length > max_bytes) return std::nullopt;
      name.append({reinterpret_cast<const char*>(&message[0]) + read_at, length});
      read_at += length;
      if (length == 0) break;
    }
    if (!compressed) at = read_at;
    return name;
  }

  void emit(std::vector<std::uint8_t>& out) const { out.insert(out.end(), bytes_.begin(), bytes_.end()); }

  // For people: dots between the labels, bytes outside of printable ASCII as \DDD (RFC 1035 5.1).
  std::string text() const {
    std::string result;
    for (std::size_t at = 0; bytes_[at] != '\0';) {
      const std::size_t length = static_cast<std::uint8_t>(bytes_[at++]);
      if (!result.empty()) result += '.';
      for (const std::size_t end = at + length; at < end; ++at) {
        const auto c = static_cast<std::uint8_t>(bytes_[at]);
        if (c == '.' || c == '\\') {
          result += {'\\', bytes_[at]};
        } else if (c > 0x20 && c < 0x7F) {
          result += bytes_[at];
        } else {
          const auto digit = [](int value) { return static_cast<char>('0' + value % 10); };
          result += {'\\', digit(c / 100), digit(c / 10), digit(c)};
        }
      }
    }
    return result;
  }

  friend bool operator==(const DnsName& a, const DnsName& b) {
    // A label's length is below 'A', so that lengths compare as they are.
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
    return std::equal(a.bytes_.begin(), a.bytes_.end(), b.bytes_.begin(), b.bytes_.end(),
                      [&](char x, char y) { return lower(x) == lower(y); });
  }

 private:
  void append(std::string_view label) {
    bytes_ += static_cast<char>(label.size());
    bytes_ += label;
  }

  std::string bytes_ = std::string(1, '\0');
};

struct Dns {
  static constexpr std::uint16_t port = 53;
  static constexpr std::size_t header_bytes = 12;
  static constexpr std::size_t max_udp_bytes = 512;  // RFC 1035 4.2.1

  static constexpr std::uint16_t type_a = 1;
  static constexpr std::uint16_t type_any = 255;
  static constexpr std::uint16_t class_in = 1;
  static constexpr std::uint16_t class_any = 255;

  enum class Rcode : std::uint8_t { no_error, format_error, server_failure, name_error, not_implemented, refused };

  struct Header {
    std::uint16_t id = 0;
    bool response = false;              // QR
    std::uint8_t opcode = 0;            // 0: a standard query
    bool authoritative = false;         // AA
    bool truncated = false;             // TC
    bool recursion_desired = false;     // RD
    bool recursion_available = false;   // RA
    Rcode rcode = Rcode::no_error;      // as it is, if it has no name here
    std::uint16_t question_count = 0;   // filled by parse
    std::uint16_t answer_count = 0;     // filled by parse
    std::uint16_t authority_count = 0;  // filled by parse
    std::uint16_t other_count = 0;      // filled by parse

    // Nothing if too short.
    static std::optional<Header> parse(Bytes message) {
      if (message.size() < header_bytes) return std::nullopt;
      const std::uint16_t flags = load16(&message[2]);
      return Header{.id = load16(&message[0]),
                    .response = (flags & 0x8000) != 0,
                    .opcode = static_cast<std::uint8_t>(flags >> 11 & 0xF),
                    .authoritative = (flags & 0x0400) != 0,
                    .truncated = (flags & 0x0200) != 0,
                    .recursion_desired = (flags & 0x0100) != 0,
                    .recursion_available = (flags & 0x0080) != 0,
                    .rcode = static_cast<Rcode>(flags & 0xF),
                    .question_count = load16(&message[4]),
                    .answer_count = load16(&message[6]),
                    .authority_count = load16(&message[8]),
                    .other_count = load16(&message[10])};
    }

    void emit(std::uint8_t* at) const {
      store16(at, id);
      store16(at + 2, static_cast<std::uint16_t>((response ? 0x8000 : 0) | (opcode & 0xF) << 11 |
                                                 (authoritative ? 0x0400 : 0) | (truncated ? 0x0200 : 0) |
                                                 (recursion_desired ? 0x0100 : 0) | (recursion_available ? 0x0080 : 0) |
                                                 (static_cast<std::uint8_t>(rcode) & 0xF)));
      store16(at + 4, question_count);
      store16(at + 6, answer_count);
      store16(at + 8, authority_count);
      store16(at + 10, other_count);
    }
  };

  struct Question {
    DnsName name{};
    std::uint16_t type = type_a;
    std::uint16_t klass = class_in;
  };

  struct Record {
    DnsName name{};
    std::uint16_t type = type_a;
    std::uint16_t klass = class_in;
    std::uint32_t ttl_s = 0;
    std::vector<std::uint8_t> data{};
  };

  Header header{};
  std::optional<Question> question{};  // absent from the answer to a question that could not be read
  std::vector<Record> answers{};

  // Nothing if it is cut short, a name is broken, or there is not exactly one question, the only number in use. What
  // follows the answers (authorities, EDNS) is not looked at.
  static std::optional<Dns> parse(Bytes message) {
    const auto header = Header::parse(message);
    if (!header || header->question_count != 1) return std::nullopt;
    Dns result{.header = *header};
    std::size_t at = header_bytes;
    const auto name = DnsName::parse(message, at);
    if (!name || message.size() - at < 4) return std::nullopt;
    result.question = Question{*name, load16(&message[at]), load16(&message[at + 2])};
    at += 4;
    for (std::uint16_t i = 0; i < header->answer_count; ++i) {
      const auto owner = DnsName::parse(message, at);
      if (!owner || message.size() - at < 10) return std::nullopt;
      Record record{*owner, load16(&message[at]), load16(&message[at + 2]), load32(&message[at + 4])};
      const std::size_t size = load16(&message[at + 8]);
      at += 10;
      if (size > message.size() - at) return std::nullopt;
      record.data.assign(message.begin() + static_cast<std::ptrdiff_t>(at),
                         message.begin() + static_cast<std::ptrdiff_t>(at + size));
      at += size;
      result.answers.push_back(std::move(record));
    }
    return result;
  }

  // The name of an answer is a pointer to that of the question if it is the same, as every server does.
  std::vector<std::uint8_t> emit() const {
    std::vector<std::uint8_t> out(header_bytes);
    Header counted = header;
    counted.question_count = question ? 1 : 0;
    counted.answer_count = static_cast<std::uint16_t>(answers.size());
    counted.emit(out.data());
    if (question) {
      question->name.emit(out);
      put16(out, question->type);
      put16(out, question->klass);
    }
    for (const Record& record : answers) {
      WIZ_ASSERT(record.data.size() <= 0xFFFF);
      if (question && record.name == question->name) {
        put16(out, static_cast<std::uint16_t>(0xC000 | header_bytes));
      } else {
        record.name.emit(out);
      }
      put16(out, record.type);
      put16(out, record.klass);
      put16(out, static_cast<std::uint16_t>(record.ttl_s >> 16));
      put16(out, static_cast<std::uint16_t>(record.ttl_s));
      put16(out, static_cast<std::uint16_t>(record.data.size()));
      out.insert(out.end(), record.data.begin(), record.data.end());
    }
    return out;
  }

 private:
  static void put16(std::vector<std::uint8_t>& out, std::uint16_t value) {
    out.push_back(static_cast<std::uint8_t>(value >> 8));
    out.push_back(static_cast<std::uint8_t>(value));
  }
};

}  // namespace wizloop::wire
