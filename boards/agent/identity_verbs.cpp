// Who the board is and how it is set up: hello, cancel, reset, net, link, path.
#include "drivers/w5500/bytes.hpp"
#include "verbs.hpp"
#include "watch.hpp"

namespace agent {

using w5500::Error;
using w5500::OPMDC;
using w5500::PHYCFGR;
using w5500::Result;

void write_identity(Device& device) {
  Writer& out = device.out;
  out.key(AGENT_TEXT("agent"));
  out.decimal(1);
  out.key(AGENT_TEXT("board"));
  out.characters(device.identity.board);
  out.key(AGENT_TEXT("chip"));
  out.text(device.chip_error == Error::none ? AGENT_TEXT("W5500") : AGENT_TEXT("none"));
  out.key(AGENT_TEXT("caps"));
#if defined(WIZLOOP_AGENT_REDUCED)
  out.text(AGENT_TEXT("reduced,byte,burst"));
#else
  out.text(AGENT_TEXT("full,byte,burst"));
#endif
  if (device.has_dma) out.text(AGENT_TEXT(",dma"));
  if (device.has_reset_pin) out.text(AGENT_TEXT(",rst"));
  if (device.has_interrupt_pin) out.text(AGENT_TEXT(",intn"));
  out.key(AGENT_TEXT("fw"));
  out.characters(device.identity.firmware);
  out.key(AGENT_TEXT("line"));
  out.decimal(device.in.longest());
}

void hello(Device& device, Request&, Answer& answer) {
  answer.ok();
  write_identity(device);
}

// A verb that takes long hears its own cancel; here there is nothing to cancel.
void cancel(Device&, Request&, Answer& answer) { answer.err(AGENT_TEXT("idle")); }

void reset(Device& device, Request& request, Answer& answer) {
  const uint8_t pin = request.choice(AGENT_TEXT("pin"), AGENT_TEXT("low high"), 2);
  if (!request.values_good()) return answer.bad_value(request);
  if (pin < 2) {
    if (!device.port.set_reset_pin(pin == 1)) return answer.err(AGENT_TEXT("not-supported"));
    device.memory_kib = 0;
    return answer.ok();
  }
  const uint64_t start_us = device.clock.now_us();
  const Error error = device.start_chip();
  if (error != Error::none) return answer.err(error);
  answer.ok();
  answer.number(AGENT_TEXT("us"), device.clock.now_us() - start_us);
}

void net(Device& device, Request& request, Answer& answer) {
  w5500::Network wanted = device.network;
  request.mac_if_given(AGENT_TEXT("mac"), wanted.mac);
  request.ip_if_given(AGENT_TEXT("ip"), wanted.ip);
  request.ip_if_given(AGENT_TEXT("mask"), wanted.subnet);
  request.ip_if_given(AGENT_TEXT("gw"), wanted.gateway);
  const bool retry = request.has(AGENT_TEXT("rtr_us")) || request.has(AGENT_TEXT("rcr"));
  const uint32_t rtr_us = request.number(AGENT_TEXT("rtr_us"), 100, 6553500, 200000);
  const uint8_t rcr = static_cast<uint8_t>(request.number16(AGENT_TEXT("rcr"), 0, 255, 8));
  if (!request.values_good()) return answer.bad_value(request);

  Result<void> done = device.chip.set_network(wanted);
  if (done && retry) done = device.chip.set_retry(static_cast<uint16_t>(rtr_us / 100), rcr);
  uint8_t raw[3] = {};
  if (done && !device.chip.read(w5500::CommonRegister::RTR, raw, sizeof raw)) done = Error::bus_failed;
  const Result<w5500::Network> now = device.chip.network();
  if (!done) return answer.err(done.error());
  if (!now) return answer.err(now.error());
  device.network = wanted;
  // What the chip has, which differs where there is none.
  answer.ok();
  answer.mac(AGENT_TEXT("mac"), now.value().mac);
  answer.ip(AGENT_TEXT("ip"), now.value().ip);
  answer.ip(AGENT_TEXT("mask"), now.value().subnet);
  answer.ip(AGENT_TEXT("gw"), now.value().gateway);
  answer.number(AGENT_TEXT("rtr_us"), w5500::load16(raw) * uint32_t{100});
  answer.number(AGENT_TEXT("rcr"), raw[2]);
}

void link(Device& device, Request& request, Answer& answer) {
  constexpr OPMDC modes[] = {OPMDC::half_10,  OPMDC::full_10,    OPMDC::half_100,
                             OPMDC::full_100, OPMDC::power_down, OPMDC::negotiate_all};
  constexpr uint8_t as_it_is = sizeof modes / sizeof modes[0];
  const uint8_t mode =
      request.choice(AGENT_TEXT("mode"), AGENT_TEXT("10-half 10-full 100-half 100-full off auto"), as_it_is);
  const uint32_t wait_ms = request.number(AGENT_TEXT("wait_ms"), 0, 60000, 0);
  // The wait is bounded by wait_ms; nothing else here takes time.
  Watch watch(device, answer, request, 120000);
  if (!request.values_good()) return answer.bad_value(request);

  const uint64_t nothing = 0;
  watch.start(&nothing);
  Result<void> done = Error::none;
  if (mode != as_it_is) done = device.chip.set_phy_mode(modes[mode]);
  if (done && wait_ms > 0) {
    done = device.chip.wait_for_link(wait_ms * 1000);
    if (done.error() == Error::state_timeout && !watch.cut_short()) done = Error::none;  // told as up=0
  }
  const uint64_t waited_us = watch.elapsed_us();
  watch.stop();
  const Result<PHYCFGR> phy = device.chip.phy();
  if (done && !phy) done = phy.error();
  watch.conclude(done.error());
  const PHYCFGR now = phy.value();
  answer.number(AGENT_TEXT("up"), now.LNK() ? 1 : 0);
  if (now.LNK()) {
    answer.number(AGENT_TEXT("mbit_s"), now.SPD() ? 100 : 10);
    answer.word(AGENT_TEXT("duplex"), now.DPX() ? AGENT_TEXT("full") : AGENT_TEXT("half"));
  }
  answer.hex(AGENT_TEXT("phycfgr"), &now.raw, 1);
  answer.number(AGENT_TEXT("us"), waited_us);
}

void path(Device& device, Request& request, Answer& answer) {
  const uint8_t wanted = request.choice(AGENT_TEXT("p"), AGENT_TEXT("byte burst dma"), 3);
  const uint8_t intn = request.choice(AGENT_TEXT("intn"), AGENT_TEXT("0 1"), 2);
  if (!request.values_good()) return answer.bad_value(request);
  if ((wanted == 2 && !device.has_dma) || (intn == 1 && !device.has_interrupt_pin)) {
    return answer.err(AGENT_TEXT("not-supported"));
  }
  if (wanted < 3) device.bus.use(static_cast<Path>(wanted));
  if (intn < 2) {
    const Result<void> done = device.chip.use_interrupt_pin(intn == 1 ? 0xFF : 0x00);
    if (!done) return answer.err(done.error());
  }
  answer.ok();
  const Path now = device.bus.path();
  answer.word(AGENT_TEXT("p"), now == Path::byte    ? AGENT_TEXT("byte")
                               : now == Path::burst ? AGENT_TEXT("burst")
                                                    : AGENT_TEXT("dma"));
  answer.number(AGENT_TEXT("intn"), device.chip.uses_interrupt_pin(0) ? 1 : 0);
}

}  // namespace agent
