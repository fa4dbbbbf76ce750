// What the datasheet leaves open, or gets wrong, as named switches: chip.quirk.NAME. Each has a default, alternatives,
// and a source that says how far to trust the default. The chip asks through choice(), which remembers that the
// question came up: so a run can tell which assumptions its figures rest on.
//
//   if (quirks.choice(Quirk::tx_wr_readback) == TxWrReadback::plain) ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/chip/trust.hpp"

namespace wizloop::chip {

enum class Quirk : std::uint8_t {
  header_miso,
  write_data_miso,
  reserved_read,
  fdm_under_select,
  byte_commit,
  address_wrap,
  wide_read,
  spi_before_pll,
  short_reset_pulse,
  mr_rst_phy,
  mr_rst_memory,
  phycfgr_without_link,
  overcommitted_memory,
  illegal_buffer_size,
  zero_buffer,
  tx_wr_readback,
  tx_fsr_falls,
  stale_tx_wr,
  illegal_command,
  open_on_open_socket,
  sn_ir_at_open,
  send_during_send,
  empty_send,
  recv_raised_again,
  sn_ir_masking,
  intn_between_sources,
  mssr_after_open,
  udp_data_after_arp_timeout,
  arp_before_send,
  unasked_arp,
  conflict_without_address,
  unicast_without_address,
  conflict_by_reply,
  largest_ping,
  port_unreachable,
  ip_identification,
  stack_beside_macraw,
  macraw_padding,
  macraw_multicast,
  macraw_without_link,
  late_sendok_clear,
  tx_pointers_at_connection,
  rx_pointers_at_connection,
  isn_source,
  status_while_resolving,
  rst_received_cause,
  close_of_connection,
  time_wait,
  missing_fin,
  rst_in_synrecv,
  second_syn_in_synrecv,
  zero_window_probe,
  retransmission,
  out_of_order,
  delayed_ack,
  window_update,
  advertised_window,
  psh,
  mss_without_option,
  tcp_transmissions,
  keepalive_needs,
  group_query_answer,
};
inline constexpr std::size_t quirk_count = 62;

struct QuirkSpec {
  Quirk quirk;
  std::string_view name;                  // as in chip.quirk.NAME
  std::vector<std::string_view> choices;  // the first is the default
  Trust trust;
  std::string_view source;
  std::string_view question;  // one line
};

std::span<const QuirkSpec> quirk_table();  // indexed by Quirk

// The choices of each quirk in the order of the table.
enum class HeaderMiso : std::uint8_t { counts, zeros };
enum class WriteDataMiso : std::uint8_t { zeros, ones, echo };
enum class ReservedRead : std::uint8_t { zeros, ones };
enum class FdmUnderSelect : std::uint8_t { next_frame, ignored, capped };
enum class ByteCommit : std::uint8_t { eighth_edge, next_byte };
enum class AddressWrap : std::uint8_t { wraps, sticks };
enum class WideRead : std::uint8_t { torn, latched };
enum class SpiBeforePll : std::uint8_t { dead, alive };
enum class ShortResetPulse : std::uint8_t { resets, ignored };
enum class MrRstPhy : std::uint8_t { link_kept, renegotiates };
enum class MrRstMemory : std::uint8_t { kept, cleared };
enum class PhycfgrWithoutLink : std::uint8_t { code_010, code_000 };
enum class OvercommittedMemory : std::uint8_t { wraps, no_storage };
enum class IllegalBufferSize : std::uint8_t { rounds_down, zero };
enum class ZeroBuffer : std::uint8_t { no_storage, whole_memory };
enum class TxWrReadback : std::uint8_t { latched, plain };
enum class TxFsrFalls : std::uint8_t { at_send, at_write };
enum class StaleTxWr : std::uint8_t { unclamped, clamped };
enum class IllegalCommand : std::uint8_t { ignored, stuck };
enum class OpenOnOpenSocket : std::uint8_t { ignored, reopens };
enum class SnIrAtOpen : std::uint8_t { kept, cleared };
enum class SendDuringSend : std::uint8_t { queued, ignored };
enum class EmptySend : std::uint8_t { sendok, silent, empty_datagram };
enum class RecvRaisedAgain : std::uint8_t { yes, no };
enum class SnIrMasking : std::uint8_t { latches, masked };
enum class IntnBetweenSources : std::uint8_t { stays_low, pulses };
enum class MssrAfterOpen : std::uint8_t { loaded, unchanged };
enum class UdpDataAfterArpTimeout : std::uint8_t { dropped, kept };
enum class ArpBeforeSend : std::uint8_t { on_change, each_send };
enum class UnaskedArp : std::uint8_t { ignored, updates };
enum class ConflictWithoutAddress : std::uint8_t { never, reported };
enum class UnicastWithoutAddress : std::uint8_t { taken, dropped };
enum class ConflictByReply : std::uint8_t { reported, ignored };
enum class LargestPing : std::uint8_t { data_1472, data_512 };
enum class PortUnreachable : std::uint8_t { sent, silent };
enum class IpIdentification : std::uint8_t { per_chip, per_socket, zero };
enum class StackBesideMacraw : std::uint8_t { arp_and_ping, everything, nothing };
enum class MacrawPadding : std::uint8_t { zeros, none };
enum class MacrawMulticast : std::uint8_t { observed, datasheet };
enum class MacrawWithoutLink : std::uint8_t { no_sendok, sendok };
enum class LateSendokClear : std::uint8_t { harmless, stalls };
enum class TxPointersAtConnection : std::uint8_t { isn, zero };
enum class RxPointersAtConnection : std::uint8_t { stay, irs };
enum class IsnSource : std::uint8_t { seeded, clock, zero };
enum class StatusWhileResolving : std::uint8_t { init, synsent, arp };
enum class RstReceivedCause : std::uint8_t { discon, timeout, none };
enum class CloseOfConnection : std::uint8_t { silent, rst };
enum class TimeWait : std::uint8_t { rtr, none };
enum class MissingFin : std::uint8_t { timeout, waits };
enum class RstInSynrecv : std::uint8_t { closed, listen };
enum class SecondSynInSynrecv : std::uint8_t { rst, ignored };
enum class ZeroWindowProbe : std::uint8_t { unlimited, limited, none };
enum class Retransmission : std::uint8_t { go_back_n, first_segment };
enum class OutOfOrder : std::uint8_t { duplicate_ack, silent };
enum class DelayedAck : std::uint8_t { second_segment, timer_only };
enum class WindowUpdate : std::uint8_t { each_recv, below_mss, after_a_second };
enum class AdvertisedWindow : std::uint8_t { by_recv, by_pointer };
enum class Psh : std::uint8_t { every_segment, last_segment };
enum class MssWithoutOption : std::uint8_t { rfc_536, own };
enum class TcpTransmissions : std::uint8_t { rcr_plus_1, rcr_plus_2 };
enum class KeepaliveNeeds : std::uint8_t { sent_byte, any_byte };
enum class GroupQueryAnswer : std::uint8_t { at_once, random_delay };

class Quirks {
 public:
  // What the switch stands at; the question counts as touched from now on.
  template <typename Choice>
  Choice choice(Quirk quirk) {
    touch(quirk);
    return peek<Choice>(quirk);
  }

  // The same without touching it: for what may run ahead of the host, or goes where nobody looks. touch() follows when
  // the host has really seen the answer.
  template <typename Choice>
  Choice peek(Quirk quirk) const {
    return static_cast<Choice>(chosen_[static_cast<std::size_t>(quirk)]);
  }
  void touch(Quirk quirk) { touched_[static_cast<std::size_t>(quirk)] = true; }

  // False if there is no such quirk or choice.
  bool set(std::string_view name, std::string_view choice);

  // The choice that a quirk stands at, as a word; without touching it.
  std::string_view chosen(Quirk quirk) const;

  std::vector<Quirk> touched() const;

 private:
  std::array<std::uint8_t, quirk_count> chosen_{};
  std::array<bool, quirk_count> touched_{};
};

}  // namespace wizloop::chip
