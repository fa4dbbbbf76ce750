// The thresholds of the rules, in one place: AC limits of the W5500 datasheet 5.5, and how long is too long where the
// datasheet names no figure.
#pragma once

#include <cstdint>

#include "sim/core/time.hpp"

namespace wizloop::limits {

// Datasheet 5.5.4.
inline constexpr Frequency guaranteed_sclk{33'300'000};
inline constexpr Frequency theoretical_sclk{80'000'000};
inline constexpr Duration select_high = 30ns;  // TCS
inline constexpr Duration select_setup = 5ns;  // TCSS
inline constexpr Duration select_hold = 5ns;   // TCSH
inline constexpr Duration sclk_high = 6ns;     // TWH
inline constexpr Duration sclk_low = 6ns;      // TWL
inline constexpr Duration mosi_setup = 3ns;    // TDS
inline constexpr Duration mosi_hold = 3ns;     // TDH
// Datasheet 5.5.1.
inline constexpr Duration reset_low = 500us;  // TRC
inline constexpr Duration pll_lock = 1ms;     // TPL

// A register polled this often, and for so long without any change, will not change any more. While the chip still
// retries something (ARP, a segment) it may take its longest timeout first, 36 s for usual settings.
inline constexpr std::uint32_t poll_reads = 1'000;
inline constexpr Duration poll_time = 10s;
inline constexpr Duration poll_time_with_retries = 60s;

// An interrupt that nobody came for. Drivers with an interrupt fall back to polling after 100 ms to 1 s.
inline constexpr Duration interrupt_unserved = 500ms;
// One of a socket that nobody came for, while the host was busy with other things.
inline constexpr Duration socket_unserved = 10s;
// Data read without RECV while the buffer is full, or until it is read again.
inline constexpr Duration receive_overdue = 1s;
// From DHCPACK until SIPR holds the address. Clients first probe whether somebody has it (ARP timeout: 1.8 s).
inline constexpr Duration lease_overdue = 10s;

}  // namespace wizloop::limits
