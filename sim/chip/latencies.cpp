#include "sim/chip/latencies.hpp"

namespace wizloop::chip {
namespace {

constexpr std::string_view assumption = "no public source: an assumption";
constexpr std::string_view bounded =
    "no public source; bounded by how long drivers wait for SENDOK (espressif/esp-eth-drivers)";

constexpr LatencySpec table[] = {
    {"command_accepted", &Latencies::command_accepted, Trust::inferred,
     "WIZnet ioLibrary_Driver and others find Sn_CR at 0 on their first poll", "Sn_CR write until Sn_CR reads 0"},
    {"command_to_status", &Latencies::command_to_status, Trust::inferred,
     "Mongoose and NuttX read Sn_SR without polling Sn_CR", "OPEN, CLOSE, LISTEN, DISCON until Sn_SR shows it"},
    {"send_to_frame", &Latencies::send_to_frame, Trust::unverified, bounded,
     "SEND with a known MAC until the first preamble bit"},
    {"send_to_frame_per_byte", &Latencies::send_to_frame_per_byte, Trust::unverified, bounded,
     "the same, for each byte of payload"},
    {"macraw_to_frame", &Latencies::macraw_to_frame, Trust::unverified, bounded,
     "MACRAW SEND until the first preamble bit"},
    {"between_segments", &Latencies::between_segments, Trust::unverified, bounded,
     "between two segments of one SEND, on top of the inter-packet gap"},
    {"arp_to_reply", &Latencies::arp_to_reply, Trust::unverified, assumption, "ARP request in until the reply leaves"},
    {"ping_to_reply", &Latencies::ping_to_reply, Trust::unverified, assumption,
     "echo request in until the reply leaves"},
    {"ping_to_reply_per_byte", &Latencies::ping_to_reply_per_byte, Trust::unverified, assumption,
     "the same, for each byte of the IP packet"},
    {"segment_to_ack", &Latencies::segment_to_ack, Trust::unverified, assumption,
     "TCP segment in until its ACK leaves, without delayed ACK"},
    {"receive_to_update", &Latencies::receive_to_update, Trust::unverified, assumption,
     "RECV until the window update leaves"},
    {"syn_to_syn_ack", &Latencies::syn_to_syn_ack, Trust::unverified, assumption, "SYN in until the SYN/ACK leaves"},
    {"frame_to_sendok", &Latencies::frame_to_sendok, Trust::unverified, bounded,
     "last bit out until Sn_TX_RD moves and SENDOK rises"},
    {"frame_to_received", &Latencies::frame_to_received, Trust::unverified, assumption,
     "last bit in until Sn_RX_WR moves and RECV rises"},
    {"query_to_report", &Latencies::query_to_report, Trust::unverified, assumption,
     "IGMP query in until the report leaves"},
    {"pll_lock", &Latencies::pll_lock, Trust::datasheet, "datasheet 5.5.1: at most 1 ms",
     "RSTn high until the PLL has locked"},
    {"software_reset", &Latencies::software_reset, Trust::inferred,
     "Ethernet2, embassy, kellerkindt/w5500, TinyGo and Mongoose write in the next frame; others poll up to 20 ms",
     "MR.RST until registers take writes"},
    {"versionr_valid", &Latencies::versionr_valid, Trust::observed,
     "espressif/esp-eth-drivers, w5500, comment: some units read 0 for a while", "a reset until VERSIONR reads 4"},
    {"event_to_intn", &Latencies::event_to_intn, Trust::unverified,
     "no public source: an assumption of four PLL clocks", "a cause in IR or SIR until INTn moves"},
    {"link_lost", &Latencies::link_lost, Trust::unverified, assumption, "cable out until PHYCFGR.LNK falls"},
    {"link_negotiated", &Latencies::link_negotiated, Trust::observed, "one MicroPython user: 2 s too short, 4 s enough",
     "cable in or PHY reset until LNK rises, with auto-negotiation"},
    {"link_forced", &Latencies::link_forced, Trust::unverified, assumption, "the same with a forced mode"},
};

}  // namespace

std::span<const LatencySpec> latency_table() { return table; }

std::vector<LatencySpec> LatenciesInUse::touched() const {
  std::vector<LatencySpec> latencies;
  for (const LatencySpec& spec : table) {
    if ((touched_ >> index_of(spec.member) & 1) != 0) latencies.push_back(spec);
  }
  return latencies;
}

}  // namespace wizloop::chip
