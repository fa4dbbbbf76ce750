#include "sim/chip/latencies.hpp"

namespace wizloop::chip {
namespace {

constexpr std::string_view bounded = "bounded by driver limits, facts 9.2";

constexpr LatencySpec table[] = {
    {"command_accepted", &Latencies::command_accepted, Trust::inferred, "drivers find Sn_CR at 0 on their first poll",
     "Sn_CR write until Sn_CR reads 0"},
    {"command_to_status", &Latencies::command_to_status, Trust::inferred,
     "Mongoose and NuttX read Sn_SR without polling Sn_CR", "OPEN, CLOSE, LISTEN, DISCON until Sn_SR shows it"},
    {"send_to_frame", &Latencies::send_to_frame, Trust::unverified, bounded,
     "SEND with a known MAC until the first preamble bit"},
    {"send_to_frame_per_byte", &Latencies::send_to_frame_per_byte, Trust::unverified, bounded,
     "the same, for each byte of payload"},
    {"between_segments", &Latencies::between_segments, Trust::unverified, bounded,
     "between two segments of one SEND, on top of the inter-packet gap"},
    {"arp_to_reply", &Latencies::arp_to_reply, Trust::unverified, "facts 9.3", "ARP request in until the reply leaves"},
    {"ping_to_reply", &Latencies::ping_to_reply, Trust::unverified, "facts 9.3",
     "echo request in until the reply leaves"},
    {"ping_to_reply_per_byte", &Latencies::ping_to_reply_per_byte, Trust::unverified, "facts 9.3",
     "the same, for each byte of the IP packet"},
    {"segment_to_ack", &Latencies::segment_to_ack, Trust::unverified, "facts 9.3",
     "TCP segment in until its ACK leaves, without delayed ACK"},
    {"receive_to_update", &Latencies::receive_to_update, Trust::unverified, "facts 9.3",
     "RECV until the window update leaves"},
    {"syn_to_syn_ack", &Latencies::syn_to_syn_ack, Trust::unverified, "facts 9.3", "SYN in until the SYN/ACK leaves"},
    {"frame_to_sendok", &Latencies::frame_to_sendok, Trust::unverified, bounded,
     "last bit out until Sn_TX_RD moves and SENDOK rises"},
    {"frame_to_received", &Latencies::frame_to_received, Trust::unverified, "facts 9.3",
     "last bit in until Sn_RX_WR moves and RECV rises"},
    {"event_to_intn", &Latencies::event_to_intn, Trust::unverified, "facts 6: four PLL clocks",
     "a cause in IR or SIR until INTn moves"},
    {"link_lost", &Latencies::link_lost, Trust::unverified, "facts 7.2", "cable out until PHYCFGR.LNK falls"},
    {"link_negotiated", &Latencies::link_negotiated, Trust::observed, "one MicroPython user: 2 s too short, 4 s enough",
     "cable in or PHY reset until LNK rises, with auto-negotiation"},
    {"link_forced", &Latencies::link_forced, Trust::unverified, "facts 7.2", "the same with a forced mode"},
};

}  // namespace

std::span<const LatencySpec> latency_table() { return table; }

}  // namespace wizloop::chip
