// The server's side of telnet (RFC 854, RFC 855, RFC 1143) with the COM port control option (RFC 2217): takes the bytes
// of a client apart into what is typed and what is asked of the line, and says what is to be answered.
//
// It answers and never asks first, but for BINARY (RFC 856) as soon as the client wants the COM port option: a client
// that is no telnet at all sees nothing but the board. Whatever comes in, the state is a few bytes.
//
//   Rfc2217 telnet{session};                       // session is an Rfc2217::Line
//   telnet.receive(bytes_from_the_client);         // calls session.typed(), session.answer(), ...
//   Rfc2217::escape(from_the_board, out);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wizloop::gateway {

class Rfc2217 {
 public:
  // RFC 2217, SET-CONTROL: the values that a client sends, and that the server answers as the state in force.
  enum Control : std::uint8_t {
    ask_flow_control = 0,
    no_flow_control = 1,
    software_flow_control = 2,
    hardware_flow_control = 3,
    ask_break = 4,
    break_on = 5,
    break_off = 6,
    ask_dtr = 7,
    dtr_on = 8,
    dtr_off = 9,
    ask_rts = 10,
    rts_on = 11,
    rts_off = 12,
    no_inbound_flow_control = 14,
  };
  // PURGE-DATA: from the board to the client, from the client to the board.
  enum Purge : std::uint8_t { purge_received = 1, purge_typed = 2 };
  // NOTIFY-MODEMSTATE.
  enum ModemState : std::uint8_t {
    delta_cts = 0x01,
    delta_dsr = 0x02,
    delta_cd = 0x08,
    cts = 0x10,
    dsr = 0x20,
    cd = 0x80
  };

  // What is at the far end of the client's line.
  class Line {
   public:
    virtual ~Line() = default;
    virtual void typed(std::span<const std::uint8_t> bytes) = 0;
    virtual void answer(std::span<const std::uint8_t> bytes) = 0;
    // Each sets a value, unless it is 0 (which asks) or cannot be had, and returns the one in force.
    virtual std::uint32_t baud(std::uint32_t wanted) = 0;
    virtual std::uint8_t data_bits(std::uint8_t wanted) = 0;
    virtual std::uint8_t parity(std::uint8_t wanted) = 0;
    virtual std::uint8_t stop_bits(std::uint8_t wanted) = 0;
    virtual std::uint8_t control(std::uint8_t wanted) = 0;
    virtual void purge(std::uint8_t what) = 0;
    // The client wants no more of the board for now.
    virtual void suspend(bool on) = 0;
    virtual bool powered() const = 0;
  };

  explicit Rfc2217(Line& line) : line_{&line} {}

  void receive(std::span<const std::uint8_t> bytes);
  // CTS, DSR and CD are those of a board with power. Sent if they have changed and the client wants to know.
  void notify_modem_state();
  bool com_port() const { return com_port_; }

  // Appends, with each IAC doubled.
  static void escape(std::span<const std::uint8_t> bytes, std::vector<std::uint8_t>& out);

 private:
  static constexpr std::size_t longest_suboption = 64;
  enum class State : std::uint8_t { data, after_cr, iac, option, suboption, suboption_iac };

  void negotiate(std::uint8_t verb, std::uint8_t option);
  void suboption();
  void answer_com_port(std::uint8_t command, std::span<const std::uint8_t> value);
  void send(std::uint8_t verb, std::uint8_t option);
  void start_com_port();

  Line* line_;
  State state_ = State::data;
  std::uint8_t verb_ = 0;
  // What is on, each way; all is off at first.
  std::array<bool, 256> ours_{};
  std::array<bool, 256> theirs_{};
  bool asked_will_binary_ = false;
  bool asked_do_binary_ = false;
  bool com_port_ = false;
  std::array<std::uint8_t, longest_suboption> suboption_{};
  std::size_t suboption_size_ = 0;  // one more than fits: it is too long
  std::optional<bool> told_powered_;
  std::uint8_t modem_mask_ = 0xFF;
};

}  // namespace wizloop::gateway
