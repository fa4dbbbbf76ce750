// The rules that firmware is judged by, as `wizloop explain ID` prints them. Each comes from the W5500 datasheet v1.1.0
// or from what users have met on silicon; rules.cpp holds the texts.
//
//   const RuleText& text = text_of(Rule::send_while_sending);
//   std::optional<Rule> rule = rule_of("send-while-sending");
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wizloop {

enum class Severity : std::uint8_t {
  note,     // works, but a reader of the code would stop here; never fails a run unless it is strict
  warning,  // works today and fails under another timing, load or board
  error,    // does not do what the datasheet asks for
};

enum class Rule : std::uint8_t {
  // The pins.
  sclk_above_rating,
  sclk_above_limit,
  select_high_too_short,
  select_setup_too_short,
  select_hold_too_short,
  reset_too_short,
  access_before_pll_lock,
  never_reset,
  spi_mode_unsupported,
  sclk_pulse_too_short,
  mosi_unsteady,
  header_cut_short,
  clocks_without_select,
  two_selects_low,
  frame_of_two_threads,
  // Blocks and registers.
  reserved_block,
  reserved_register,
  write_to_read_only,
  wrong_version,
  reserved_bits_written,
  reserved_bits_read,
  illegal_buffer_size,
  buffers_over_committed,
  buffer_resized_while_open,
  // Commands.
  open_on_open_socket,
  illegal_command,
  command_while_busy,
  send_while_sending,
  send_result_not_cleared,
  close_without_disconnect,
  connection_readdressed,
  multicast_without_group,
  duplex_mismatch,
  own_mac_missing,
  own_ip_missing,
  destination_missing,
  // Buffers and their pointers.
  unsent_bytes_overwritten,
  write_beyond_free,
  uninitialised_bytes_sent,
  bytes_written_twice,
  stale_write_pointer,
  read_beyond_received,
  read_pointer_outside,
  receive_forgotten,
  torn_read,
  // What firmware leaves undone.
  interrupt_masked,
  interrupt_ignored,
  endless_poll,
  socket_leaked,
  lease_not_applied,
  // And what this model leaves undone.
  not_modelled,
};
inline constexpr std::size_t rule_count = static_cast<std::size_t>(Rule::not_modelled) + 1;

struct RuleText {
  Rule rule;
  std::string_view id;  // as a person types it, e.g. "sclk-above-rating"
  Severity severity;
  std::string_view section;  // of the datasheet; "-" where it has none
  std::string_view what;     // it means
  std::string_view cause;    // the likely one
  std::string_view cure;
};

const RuleText& text_of(Rule rule);
// Nothing if there is no rule of that id.
std::optional<Rule> rule_of(std::string_view id);
std::string_view name_of(Severity severity);  // "note", "warning", "error"

}  // namespace wizloop
