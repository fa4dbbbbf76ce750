// Each named latency of the chip (sim/chip/latencies.cpp) moves its own effect, by as much as it is changed, to the
// picosecond.
#include "sim/chip/latencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/wire/igmp.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using Octets = std::vector<std::uint8_t>;

constexpr std::size_t payload = 100, ping_data = 32;

// A configured chip. Each case brings it to where something is about to happen, makes it happen, lets a time pass and
// says whether the effect shows by then.
struct Bench : TestBoard {
  explicit Bench(const ChipConfig& config) : TestBoard{config} { configure(); }

  void open(std::uint8_t mode) {
    set8(0, socket::Sn_MR, mode);
    set16(0, socket::Sn_PORT, 5000);
    command(0, sn_cr::OPEN);
    advance(1ms);
  }
  void open_udp() {
    open(sn_mr::UDP);
    set32(0, socket::Sn_DIPR, wire::broadcast_ipv4);
    set16(0, socket::Sn_DPORT, 9);
  }
  void send_now(std::size_t bytes) {
    write(tx_of(0), get16(0, socket::Sn_TX_WR), Octets(bytes, 1));
    set16(0, socket::Sn_TX_WR, static_cast<std::uint16_t>(get16(0, socket::Sn_TX_WR) + bytes));
    set8(0, socket::Sn_CR, sn_cr::SEND);
  }
  // So many frames have begun to leave after that time.
  bool left(std::size_t count, Duration after) {
    advance(after);
    const auto begun = [this](const SentFrame& frame) { return frame.at <= now(); };
    return static_cast<std::size_t>(std::count_if(sent.begin(), sent.end(), begun)) >= count;
  }
  std::uint8_t read8_after(Duration after, std::uint16_t offset) {
    advance(after);
    return read(0, offset, 1)[0];
  }
};

struct LatencyCase {
  std::string_view latency;
  std::int64_t times;  // how often it counts in the effect: once, or per byte
  bool (*shows_after)(Bench& board, Duration after);
};

constexpr LatencyCase cases[] = {
    {"command_accepted", 1,
     [](Bench& board, Duration after) {
       board.set8(0, socket::Sn_CR, sn_cr::OPEN);
       board.advance(after);
       return board.get8(0, socket::Sn_CR) == 0;
     }},
    {"command_to_status", 1,
     [](Bench& board, Duration after) {
       board.set8(0, socket::Sn_MR, sn_mr::UDP);
       board.set8(0, socket::Sn_CR, sn_cr::OPEN);
       board.advance(after);
       return board.status(0) == sn_sr::UDP;
     }},
    {"send_to_frame", 1,
     [](Bench& board, Duration after) {
       board.open_udp();
       board.send_now(payload);
       return board.left(1, after);
     }},
    {"send_to_frame_per_byte", payload,
     [](Bench& board, Duration after) {
       board.open_udp();
       board.send_now(payload);
       return board.left(1, after);
     }},
    {"macraw_to_frame", 1,
     [](Bench& board, Duration after) {
       board.open(sn_mr::MACRAW);
       board.send_now(payload);
       return board.left(1, after);
     }},
    {"between_segments", 1,
     [](Bench& board, Duration after) {
       board.open_udp();
       board.send_now(2000);  // two datagrams
       return board.left(2, after);
     }},
    {"arp_to_reply", 1,
     [](Bench& board, Duration after) {
       board.arrive_arp(wire::Arp::Operation::request, peer_mac, peer_ip, chip_ip);
       return board.left(1, after);
     }},
    {"ping_to_reply", 1,
     [](Bench& board, Duration after) {
       board.arrive_ping(1, ping_data);
       return board.left(1, after);
     }},
    {"ping_to_reply_per_byte", 20 + 8 + ping_data,
     [](Bench& board, Duration after) {
       board.arrive_ping(1, ping_data);
       return board.left(1, after);
     }},
    {"segment_to_ack", 1,
     [](Bench& board, Duration after) {
       TestConnection tcp{board};
       tcp.establish(sn_mr::ND);
       tcp.data({1, 2, 3});
       return board.left(1, after);
     }},
    {"receive_to_update", 1,
     [](Bench& board, Duration after) {
       TestConnection tcp{board};
       tcp.establish(sn_mr::ND);
       tcp.data({1, 2, 3});
       board.advance(1s);
       board.sent.clear();
       board.set16(0, socket::Sn_RX_RD, 3);
       board.set8(0, socket::Sn_CR, sn_cr::RECV);
       return board.left(1, after);
     }},
    {"syn_to_syn_ack", 1,
     [](Bench& board, Duration after) {
       TestConnection tcp{board};
       tcp.listen();
       tcp.syn();
       return board.left(1, after);
     }},
    {"frame_to_sendok", 1,
     [](Bench& board, Duration after) {
       board.open_udp();
       board.send_now(payload);
       board.advance(after);
       return board.interrupts(0) == sn_ir::SENDOK;
     }},
    {"frame_to_received", 1,
     [](Bench& board, Duration after) {
       board.open_udp();
       board.arrive_udp(1, 5000, {1});
       board.advance(after);
       return board.interrupts(0) == sn_ir::RECV;
     }},
    {"query_to_report", 1,
     [](Bench& board, Duration after) {
       board.write(TestBoard::registers_of(0), socket::Sn_DHAR, {0x01, 0x00, 0x5E, 0x01, 0x02, 0x03});
       board.set32(0, socket::Sn_DIPR, wire::ipv4(239, 1, 2, 3));
       board.open(sn_mr::UDP | sn_mr::MULTI);
       board.sent.clear();
       Octets query(wire::Igmp::bytes);
       wire::Igmp{wire::Igmp::query, 100, 0}.emit(query.data());
       board.arrive_ip(wire::protocol_igmp, query, wire::ipv4(224, 0, 0, 1), {0x01, 0x00, 0x5E, 0, 0, 1});
       return board.left(1, after);
     }},
    {"pll_lock", 1,
     [](Bench& board, Duration after) {
       board.chip.set_rstn(false);
       board.advance(500us);
       board.chip.set_rstn(true);
       return board.read8_after(after, common::VERSIONR) == 4;
     }},
    {"software_reset", 1,
     [](Bench& board, Duration after) {
       board.write(0, common::MR, {mr::RST});
       return board.read8_after(after, common::MR) == 0;
     }},
    {"versionr_valid", 1,
     [](Bench& board, Duration after) {
       board.write(0, common::MR, {mr::RST});
       return board.read8_after(after, common::VERSIONR) == 4;
     }},
    {"event_to_intn", 1,
     [](Bench& board, Duration after) {
       board.open_udp();
       board.write(0, common::SIMR, {0x01});
       board.arrive_udp(1, 5000, {1});
       board.advance(after);
       return !board.chip.intn();
     }},
    {"link_lost", 1,
     [](Bench& board, Duration after) {
       board.chip.plug(false);
       return (board.read8_after(after, common::PHYCFGR) & 1) == 0;
     }},
    {"link_negotiated", 1,
     [](Bench& board, Duration after) {
       board.chip.plug(false);
       board.advance(1s);
       board.chip.plug(true);
       return (board.read8_after(after, common::PHYCFGR) & 1) == 1;
     }},
    {"link_forced", 1,
     [](Bench& board, Duration after) {
       board.write(0, common::PHYCFGR, {0x58});  // 100 full, RST
       board.write(0, common::PHYCFGR, {0xD8});
       return (board.read8_after(after, common::PHYCFGR) & 1) == 1;
     }},
};

const LatencyCase* case_of(std::string_view latency) {
  const auto found = std::ranges::find(cases, latency, &LatencyCase::latency);
  return found == std::end(cases) ? nullptr : found;
}

// The earliest time after the cause at which the effect shows, by bisection over fresh chips.
Duration effect_of(const LatencyCase& of, const ChipConfig& config) {
  Duration early{-1};  // not yet
  Duration late = 10s;
  while (late - early > Duration{1}) {
    const Duration middle = early + (late - early) / 2;
    Bench board{config};
    (of.shows_after(board, middle) ? late : early) = middle;
  }
  return late;
}

class LatencyTest : public testing::TestWithParam<LatencySpec> {};

TEST_P(LatencyTest, MovesItsEffectByExactlyAsMuch) {
  const LatencySpec& spec = GetParam();
  const LatencyCase* of = case_of(spec.name);
  ASSERT_NE(of, nullptr) << "no case shows what the latency " << spec.name << " does";
  constexpr Duration change = picoseconds(1'234'567);
  const ChipConfig standard;
  ChipConfig changed;
  changed.latencies.*(spec.member) += change;
  const Duration before = effect_of(*of, standard);
  EXPECT_LT(before, Duration{10s}) << "the effect never shows";
  EXPECT_EQ(effect_of(*of, changed) - before, change * of->times);
}

TEST_P(LatencyTest, IsTouchedOnceItsEffectIsDueAndNotBefore) {
  const LatencyCase* of = case_of(GetParam().name);
  ASSERT_NE(of, nullptr);
  Bench board{ChipConfig{}};
  const auto touched = [&] {
    const auto all = board.chip.latencies().touched();
    return std::ranges::find(all, GetParam().name, &LatencySpec::name) != all.end();
  };
  EXPECT_FALSE(touched());
  of->shows_after(board, 10s);
  EXPECT_TRUE(touched());
}

INSTANTIATE_TEST_SUITE_P(Each, LatencyTest, testing::ValuesIn(latency_table().begin(), latency_table().end()),
                         [](const auto& of) { return std::string{of.param.name}; });

TEST(LatencyTableTest, HasEachLatencyAndNoOther) {
  EXPECT_EQ(latency_table().size() * sizeof(Duration), sizeof(Latencies));
  for (const LatencyCase& of : cases) {
    EXPECT_EQ(std::ranges::count(latency_table(), of.latency, &LatencySpec::name), 1) << of.latency;
  }
}

}  // namespace
}  // namespace wizloop::test
