#include "sim/net/services/ntp_server.hpp"

#include "sim/net/lwip_host.hpp"

namespace wizloop::net {
namespace {

using wire::Ntp;

// Reference identifiers (RFC 5905 7.3, 7.4).
constexpr std::uint32_t local_clock = 0x4C4F434C;  // "LOCL"
constexpr std::uint32_t rate = 0x52415445;         // "RATE": the kiss that asks for fewer queries

}  // namespace

NtpServer::NtpServer(LwipHost& host, const Config& config)
    : host_{host},
      config_{config},
      port_{host, Ntp::port, [this](const UdpPort::Address& from, Bytes payload) { on_datagram(from, payload); }},
      late_{host.queue(), config.answer_delay} {}

void NtpServer::on_datagram(const UdpPort::Address& from, Bytes payload) {
  const auto query = Ntp::parse(payload);
  if (!query || query->mode != Ntp::client || query->version < 1 || query->version > 4) {
    ++counters_.malformed;
    return;
  }
  ++counters_.queries;
  if (spend(config_.ignored_queries)) {
    ++counters_.ignored;
    return;
  }
  Ntp answer{.version = query->version,
             .mode = Ntp::server,
             .stratum = 1,
             .poll = query->poll,
             .precision = -30,  // about a nanosecond
             .reference_identifier = local_clock,
             .reference = now(),
             .origin = query->transmit,
             .receive = now()};
  if (spend(config_.refused_queries)) {
    ++counters_.refused;
    answer.leap = 3;
    answer.stratum = Ntp::kiss_of_death;
    answer.reference_identifier = rate;
  } else {
    ++counters_.answered;
  }
  const bool sent = late_.answer([this, from, answer]() mutable {
    answer.transmit = now();
    port_.send(from, answer.emit());
  });
  if (!sent) ++counters_.lost_answers;
}

Ntp::Timestamp NtpServer::now() const {
  return Ntp::timestamp(config_.start_unix_s, host_.queue().now().time_since_epoch());
}

}  // namespace wizloop::net
