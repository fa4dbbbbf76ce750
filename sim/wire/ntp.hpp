// NTP, version 4 and before (RFC 5905 7.3): the header, without extensions or authentication.
//
//   const auto request = Ntp::parse(payload);
//   if (request && request->mode == Ntp::client) ...
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/core/bytes.hpp"
#include "sim/core/time.hpp"

namespace wizloop::wire {

struct Ntp {
  static constexpr std::uint16_t port = 123;
  static constexpr std::size_t bytes = 48;

  static constexpr std::uint8_t client = 3;         // mode
  static constexpr std::uint8_t server = 4;         // mode
  static constexpr std::uint8_t kiss_of_death = 0;  // stratum: the reference identifier says why (RFC 5905 7.4)

  // Seconds since 1900 in the upper half, their fraction in the lower. The seconds wrap in 2036.
  using Timestamp = std::uint64_t;

  std::uint8_t leap = 0;  // 3: the clock is not synchronised
  std::uint8_t version = 4;
  std::uint8_t mode = client;
  std::uint8_t stratum = 0;
  std::int8_t poll = 0;       // log2 of seconds
  std::int8_t precision = 0;  // log2 of seconds
  std::uint32_t root_delay = 0;
  std::uint32_t root_dispersion = 0;
  std::uint32_t reference_identifier = 0;
  Timestamp reference = 0;
  Timestamp origin = 0;
  Timestamp receive = 0;
  Timestamp transmit = 0;

  // The instant `since` after a moment of Unix time, rounded down; `since` is not negative.
  static Timestamp timestamp(std::int64_t unix_s, Duration since) {
    constexpr std::int64_t from_1900_to_1970_s = 2'208'988'800;
    constexpr std::int64_t second = Duration{std::chrono::seconds{1}}.count();
    const auto seconds = static_cast<std::uint64_t>(unix_s + from_1900_to_1970_s + since.count() / second);
    const auto fraction = static_cast<uint128>(since.count() % second) << 32;
    return seconds << 32 | static_cast<std::uint64_t>(fraction / static_cast<std::uint64_t>(second));
  }

  // Nothing if too short. What follows the header is not looked at.
  static std::optional<Ntp> parse(Bytes message) {
    if (message.size() < bytes) return std::nullopt;
    const auto load64 = [&](std::size_t at) {
      return static_cast<Timestamp>(load32(&message[at])) << 32 | load32(&message[at + 4]);
    };
    return Ntp{.leap = static_cast<std::uint8_t>(message[0] >> 6),
               .version = static_cast<std::uint8_t>(message[0] >> 3 & 7),
               .mode = static_cast<std::uint8_t>(message[0] & 7),
               .stratum = message[1],
               .poll = static_cast<std::int8_t>(message[2]),
               .precision = static_cast<std::int8_t>(message[3]),
               .root_delay = load32(&message[4]),
               .root_dispersion = load32(&message[8]),
               .reference_identifier = load32(&message[12]),
               .reference = load64(16),
               .origin = load64(24),
               .receive = load64(32),
               .transmit = load64(40)};
  }

  std::array<std::uint8_t, bytes> emit() const {
    std::array<std::uint8_t, bytes> out;
    out[0] = static_cast<std::uint8_t>(leap << 6 | (version & 7) << 3 | (mode & 7));
    out[1] = stratum;
    out[2] = static_cast<std::uint8_t>(poll);
    out[3] = static_cast<std::uint8_t>(precision);
    store32(&out[4], root_delay);
    store32(&out[8], root_dispersion);
    store32(&out[12], reference_identifier);
    std::uint8_t* at = &out[16];
    for (const Timestamp value : {reference, origin, receive, transmit}) {
      store32(at, static_cast<std::uint32_t>(value >> 32));
      store32(at + 4, static_cast<std::uint32_t>(value));
      at += 8;
    }
    return out;
  }
};

}  // namespace wizloop::wire
