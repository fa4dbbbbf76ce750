#include "sim/net/services/dns_server.hpp"

#include <utility>

#include "sim/net/lwip_host.hpp"

namespace wizloop::net {

using wire::Dns;

DnsServer::DnsServer(LwipHost& host, const Config& config)
    : config_{config},
      port_{host, Dns::port, [this](const UdpPort::Address& from, Bytes payload) { on_datagram(from, payload); }},
      late_{host.queue(), config.answer_delay} {
  for (const Entry& entry : config_.names) {
    const auto name = wire::DnsName::of(entry.name);
    WIZ_ASSERT(name.has_value());
    table_.push_back({*name, entry.ip});
  }
}

void DnsServer::on_datagram(const UdpPort::Address& from, Bytes payload) {
  const auto header = Dns::Header::parse(payload);
  if (!header || header->response) {  // to answer an answer could go on for ever
    ++counters_.malformed;
    return;
  }
  ++counters_.queries;
  if (spend(config_.ignored_queries)) {
    ++counters_.ignored;
    return;
  }
  Dns answer{.header = {.id = header->id,
                        .response = true,
                        .opcode = header->opcode,
                        .recursion_desired = header->recursion_desired,
                        .recursion_available = true}};
  if (header->opcode != 0) {
    ++counters_.not_served;
    answer.header.rcode = Dns::Rcode::not_implemented;
  } else if (auto query = Dns::parse(payload); !query) {
    ++counters_.malformed;
    answer.header.rcode = Dns::Rcode::format_error;
  } else {
    answer.question = std::move(query->question);
    look_up(answer);
  }
  send(from, std::move(answer));
}

void DnsServer::look_up(Dns& answer) {
  const Dns::Question& question = *answer.question;
  if (spend(config_.failed_queries)) {
    ++counters_.failed;
    answer.header.rcode = Dns::Rcode::server_failure;
    return;
  }
  if (spend(config_.truncated_queries)) {
    ++counters_.truncated;
    answer.header.truncated = true;
    return;
  }
  if (question.klass != Dns::class_in && question.klass != Dns::class_any) {
    ++counters_.not_served;
    answer.header.rcode = Dns::Rcode::refused;
    return;
  }
  answer.header.authoritative = true;
  bool known = false;
  for (const Known& entry : table_) {
    if (entry.name != question.name) continue;
    known = true;
    if (question.type != Dns::type_a && question.type != Dns::type_any) continue;
    std::vector<std::uint8_t> data(4);
    store32(data.data(), entry.ip);
    // As asked for, letter by letter: some clients compare.
    answer.answers.push_back({.name = question.name, .ttl_s = config_.ttl_s, .data = std::move(data)});
  }
  if (!known) {
    ++counters_.unknown;
    answer.header.rcode = Dns::Rcode::name_error;
  } else if (answer.answers.empty()) {
    ++counters_.without_address;
  } else {
    ++counters_.answered;
  }
}

void DnsServer::send(const UdpPort::Address& to, Dns answer) {
  std::vector<std::uint8_t> payload = answer.emit();
  if (payload.size() > Dns::max_udp_bytes) {
    ++counters_.truncated;
    answer.header.truncated = true;
    constexpr std::size_t answer_bytes = 16;  // its name is a pointer
    const std::size_t excess = payload.size() - Dns::max_udp_bytes;
    answer.answers.resize(answer.answers.size() - (excess + answer_bytes - 1) / answer_bytes);
    payload = answer.emit();
  }
  const bool sent = late_.answer([this, to, payload = std::move(payload)] { port_.send(to, payload); });
  if (!sent) ++counters_.lost_answers;
}

}  // namespace wizloop::net
