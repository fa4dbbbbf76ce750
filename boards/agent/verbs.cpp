#include "verbs.hpp"

namespace agent {
namespace {

constexpr uint8_t name_bytes = 12;
constexpr uint8_t keys_bytes = 64;

struct Verb {
  char name[name_bytes];
  char keys[keys_bytes];
  void (*run)(Device& device, Request& request, Answer& answer);
};

const Verb verbs[] AGENT_FLASH = {
    {"hello", "", hello},
    {"help", "verb", help},
    {"cancel", "", cancel},
    {"reset", "pin", reset},
    {"net", "mac ip mask gw rtr_us rcr", net},
    {"link", "mode wait_ms timeout_ms every_ms", link},
    {"path", "p intn", path},
    {"reg", "block offset count data", reg},
    {"spi", "tx timeout_ms", spi},
    {"stats", "clear", stats},
    {"tcp-echo", "ip port local count size kib tries timeout_ms every_ms", tcp_echo},
#if !defined(WIZLOOP_AGENT_REDUCED)
    {"dhcp", "host probe timeout_ms every_ms", dhcp},
    {"dns", "name server server2 timeout_ms every_ms", dns},
    {"ping-stats", "ip count size interval_ms wait_ms timeout_ms every_ms", ping_stats},
    {"tcp-send", "ip port local bytes chunk kib tries timeout_ms every_ms", tcp_send},
    {"tcp-recv", "ip port local bytes chunk kib tries timeout_ms every_ms", tcp_recv},
    {"tcp-server", "port mode s conns socks bytes timeout_ms every_ms", tcp_server},
    {"udp-echo", "ip port local count size wait_ms kib timeout_ms every_ms", udp_echo},
    {"udp-send", "ip port local count size kbit_s report kib timeout_ms every_ms", udp_send},
    {"udp-recv", "port count idle_ms report kib timeout_ms every_ms", udp_recv},
    {"selftest", "", selftest},
#endif
};
constexpr uint8_t verb_count = sizeof verbs / sizeof verbs[0];

Text name_of(uint8_t verb) { return Text(verbs[verb].name); }
Text keys_of(uint8_t verb) { return Text(verbs[verb].keys); }

void call(uint8_t verb, Device& device, Request& request, Answer& answer) {
#if defined(__AVR__)
  using Run = void (*)(Device&, Request&, Answer&);
  const Run run = reinterpret_cast<Run>(pgm_read_word(&verbs[verb].run));
#else
  const auto run = verbs[verb].run;
#endif
  run(device, request, answer);
}

// Whether `word` is one of these words, separated by blanks.
bool among(Text words, const char* word, uint16_t length) {
  uint16_t start = 0;
  while (words[start] != 0) {
    uint16_t i = 0;
    while (i < length && words[static_cast<uint16_t>(start + i)] == word[i]) ++i;
    const char after = words[static_cast<uint16_t>(start + i)];
    if (i == length && (after == ' ' || after == 0)) return true;
    while (words[start] != 0 && words[start] != ' ') ++start;
    if (words[start] == ' ') ++start;
  }
  return false;
}

bool same(const char* a, uint16_t a_length, const char* b, uint16_t b_length) {
  if (a_length != b_length) return false;
  for (uint16_t i = 0; i < a_length; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// Each key is one of the verb's, and there once; otherwise it is answered.
bool keys_good(const Request& request, Text known, Answer& answer) {
  uint16_t length = 0;
  for (const char* key = request.next_key(nullptr, &length); key != nullptr; key = request.next_key(key, &length)) {
    bool twice = false;
    uint16_t other_length = 0;
    for (const char* other = request.next_key(key, &other_length); other != nullptr;
         other = request.next_key(other, &other_length)) {
      twice = twice || same(key, length, other, other_length);
    }
    const bool is_known = among(known, key, length);
    if (is_known && !twice) continue;
    answer.err(is_known ? AGENT_TEXT("twice") : AGENT_TEXT("unknown-key"));
    answer.say(key, length);
    return false;
  }
  return true;
}

uint8_t find(const Request& request) {
  uint8_t verb = 0;
  while (verb < verb_count && !request.is(name_of(verb))) ++verb;
  return verb;
}

void list(Answer& answer, Text key, Text words) {
  answer.out().key(key);
  for (uint16_t i = 0; words[i] != 0; ++i) answer.out().character(words[i] == ' ' ? ',' : words[i]);
}

}  // namespace

void run_verb(Device& device, Request& request, Answer& answer) {
  const uint8_t verb = find(request);
  if (verb == verb_count) {
    answer.err(AGENT_TEXT("unknown-verb"));
    answer.say(AGENT_TEXT("try help"));
    return;
  }
  if (!keys_good(request, keys_of(verb), answer)) return;
  // What takes long takes it on a network, by a chip that is there.
  if (device.chip_error != w5500::Error::none && among(keys_of(verb), "every_ms", 8)) {
    return answer.err(device.chip_error);
  }
  // Only spi leaves SCSn low, and only for the next spi.
  if (!request.is(AGENT_TEXT("spi"))) device.release_select();
  call(verb, device, request, answer);
}

void help(Device&, Request& request, Answer& answer) {
  uint16_t length = 0;
  const char* wanted = request.value(AGENT_TEXT("verb"), &length);
  if (wanted == nullptr) {
    answer.ok();
    answer.out().key(AGENT_TEXT("verbs"));
    for (uint8_t verb = 0; verb < verb_count; ++verb) {
      if (verb > 0) answer.out().character(',');
      answer.out().text(name_of(verb));
    }
    return;
  }
  for (uint8_t verb = 0; verb < verb_count; ++verb) {
    if (!equals(name_of(verb), wanted, length)) continue;
    answer.ok();
    list(answer, AGENT_TEXT("keys"), keys_of(verb));
    return;
  }
  answer.err(AGENT_TEXT("unknown-verb"));
}

}  // namespace agent
