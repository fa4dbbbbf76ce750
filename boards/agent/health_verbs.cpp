// How the board and its bus are: stats, selftest.
#include "drivers/w5500/bytes.hpp"
#include "verbs.hpp"

namespace agent {

using w5500::Error;

namespace {

// Sn_PORT to Sn_DPORT of a closed socket keep what is written: 14 bytes side by side.
constexpr uint8_t walked_socket = 7;
constexpr uint8_t walked_bytes = 14;
constexpr uint16_t buffer_kib_each = 2;

struct Faults {
  uint32_t registers = 0;
  uint32_t buffers = 0;
};

// Byte i of a pattern that differs from path to path, from address to address and from bit to bit.
uint8_t pattern_byte(uint8_t path, uint16_t at) {
  return static_cast<uint8_t>((at * 7u + (at >> 8) * 13u + path * 85u + 1u) & 0xFF);
}

bool walk_registers(Device& device, Faults* faults) {
  constexpr uint16_t first = static_cast<uint16_t>(w5500::SocketRegister::Sn_PORT);
  const uint8_t block = w5500::socket_block(walked_socket);
  uint8_t before[walked_bytes];
  if (!device.bus.read(block, first, before, walked_bytes)) return false;
  for (uint8_t round = 0; round < 10; ++round) {
    uint8_t written[walked_bytes];
    uint8_t kept[walked_bytes];
    // All zeros, all ones, then a one that walks, in another place of each byte.
    for (uint8_t i = 0; i < walked_bytes; ++i) {
      written[i] = round == 0   ? uint8_t{0x00}
                   : round == 1 ? uint8_t{0xFF}
                                : static_cast<uint8_t>(1u << ((round + i) % 8));
    }
    if (!device.bus.write(block, first, written, walked_bytes)) return false;
    if (!device.bus.read(block, first, kept, walked_bytes)) return false;
    for (uint8_t i = 0; i < walked_bytes; ++i) faults->registers += kept[i] != written[i] ? 1 : 0;
  }
  return device.bus.write(block, first, before, walked_bytes);
}

// All 16 KiB of TX memory, in pieces, written and read back.
bool walk_buffers(Device& device, uint8_t path, Faults* faults) {
  constexpr uint16_t ring = buffer_kib_each * 1024;
  uint8_t* const data = device.buffers.data;
  const uint16_t longest = w5500::smaller(device.buffers.data_bytes, uint16_t{1024});
  for (uint8_t socket = 0; socket < w5500::socket_count; ++socket) {
    const uint8_t block = w5500::tx_buffer_block(socket);
    for (uint8_t reading = 0; reading < 2; ++reading) {
      for (uint16_t at = 0; at < ring;) {
        const uint16_t piece = w5500::smaller(longest, static_cast<uint16_t>(ring - at));
        const uint16_t address = static_cast<uint16_t>(socket * ring + at);
        if (reading == 0) {
          for (uint16_t i = 0; i < piece; ++i) data[i] = pattern_byte(path, static_cast<uint16_t>(address + i));
          if (!device.bus.write(block, at, data, piece)) return false;
        } else {
          if (!device.bus.read(block, at, data, piece)) return false;
          for (uint16_t i = 0; i < piece; ++i) {
            faults->buffers += data[i] != pattern_byte(path, static_cast<uint16_t>(address + i)) ? 1 : 0;
          }
        }
        at = static_cast<uint16_t>(at + piece);
      }
    }
  }
  return true;
}

}  // namespace

void stats(Device& device, Request& request, Answer& answer) {
  const bool clear = request.flag(AGENT_TEXT("clear"), false);
  if (!request.values_good()) return answer.bad_value(request);
  const Counters& counters = device.counters;
  answer.ok();
  answer.number(AGENT_TEXT("uptime_us"), device.clock.now_us());
  answer.number(AGENT_TEXT("requests"), counters.requests);
  answer.number(AGENT_TEXT("errors"), counters.errors);
  answer.number(AGENT_TEXT("crc_errors"), counters.crc_errors);
  answer.number(AGENT_TEXT("bad_lines"), counters.bad_lines);
  answer.number(AGENT_TEXT("overruns"), counters.overruns);
  answer.number(AGENT_TEXT("busy"), counters.busy);
  answer.number(AGENT_TEXT("cancelled"), counters.cancelled);
  answer.number(AGENT_TEXT("timeouts"), counters.timeouts);
  answer.number(AGENT_TEXT("spi_frames"), device.bus.counters.frames);
  answer.number(AGENT_TEXT("spi_bytes"), device.bus.counters.bytes);
  answer.number(AGENT_TEXT("spi_errors"), device.bus.counters.errors);
  answer.number(AGENT_TEXT("last_verb_us"), counters.last_us);
  answer.number(AGENT_TEXT("longest_verb_us"), counters.longest_us);
  if (StatsSource* const source = device.identity.more_stats) {
    const char* key = nullptr;
    uint64_t value = 0;
    for (uint8_t i = 0; source->stat(i, &key, &value); ++i) {
      answer.out().character(' ');
      answer.out().characters(key);
      answer.out().character('=');
      answer.out().decimal(value);
    }
  }
  if (clear) {
    device.counters = Counters();
    device.bus.counters = SwitchBus::Counters();
  }
}

void selftest(Device& device, Request&, Answer& answer) {
  const uint64_t start_us = device.clock.now_us();
  const uint32_t errors_before = device.bus.counters.errors;
  const Path path_before = device.bus.path();
  Error error = device.chip.identify().error();
  if (error == Error::none) error = device.share_memory(w5500::socket_count, buffer_kib_each);
  if (error != Error::none) return answer.err(error);

  Faults faults[3];
  for (uint8_t path = 0; path < 3; ++path) {
    if (path == 2 && !device.has_dma) continue;
    device.bus.use(static_cast<Path>(path));
    // A transfer that fails is counted by the bus.
    if (walk_registers(device, &faults[path])) (void)walk_buffers(device, path, &faults[path]);
  }
  device.bus.use(path_before);
  const uint32_t spi_errors = device.bus.counters.errors - errors_before;
  uint32_t sum = spi_errors;
  for (const Faults& each : faults) sum += each.registers + each.buffers;

  if (sum == 0) {
    answer.ok();
  } else {
    answer.err(AGENT_TEXT("selftest"));
  }
  answer.number(AGENT_TEXT("bad_registers_byte"), faults[0].registers);
  answer.number(AGENT_TEXT("bad_registers_burst"), faults[1].registers);
  answer.number(AGENT_TEXT("bad_bytes_byte"), faults[0].buffers);
  answer.number(AGENT_TEXT("bad_bytes_burst"), faults[1].buffers);
  if (device.has_dma) {
    answer.number(AGENT_TEXT("bad_registers_dma"), faults[2].registers);
    answer.number(AGENT_TEXT("bad_bytes_dma"), faults[2].buffers);
  }
  answer.number(AGENT_TEXT("spi_errors"), spi_errors);
  answer.number(AGENT_TEXT("us"), device.clock.now_us() - start_us);
}

}  // namespace agent
