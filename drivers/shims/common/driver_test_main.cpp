// wizloop-driver-test: runs a driver that was linked into a shared object of its own, and says what came of it. The
// object is loaded so that its symbols are its own business: a driver may define socket(), close() or send().
//
//   wizloop-driver-test DRIVER.so [--board B] [--seed N] [--set NAME=VALUE]... [--serve "SERVICE OPTIONS"]...
//       [--announce RULE=REASON]... [--pcap FILE] [--trace FILE] [--poll-limit-ms N]
//
// Exit codes: 0 the driver passed; 1 it failed, hung, or earned a finding that nobody announced; 2 wrong usage; 5 the
// machine lacks something.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "wizloop.h"

namespace {

constexpr int passed = 0, failed = 1, usage = 2, machine = 5;

struct Options {
  const char* driver = nullptr;
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  std::vector<const char*> settings;
  std::vector<std::string> services;
  std::vector<std::pair<std::string, std::string>> announced;
};

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "wizloop-driver-test: %s\n", what.c_str());
  std::fputs(
      "usage: wizloop-driver-test DRIVER.so [--board B] [--seed N] [--set NAME=VALUE]... [--serve \"SERVICE "
      "OPTIONS\"]...\n"
      "           [--announce RULE=REASON]... [--pcap FILE] [--trace FILE] [--poll-limit-ms N]\n",
      stderr);
  std::exit(usage);
}

std::uint64_t number(std::string_view option, const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 0);
  if (*text == '\0' || *text == '-' || *end != '\0') {
    refuse(std::string{option} + " is \"" + text + "\", expected a whole number");
  }
  return value;
}

Options parse(int argc, char** argv) {
  constexpr std::uint64_t ns_per_ms = 1'000'000;
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      if (options.driver != nullptr) refuse("a second driver, \"" + std::string{word} + "\"");
      options.driver = argv[i];
      continue;
    }
    if (i + 1 == argc) refuse(std::string{word} + " wants a value");
    const char* const value = argv[++i];
    if (word == "--board") {
      options.config.board = value;
    } else if (word == "--seed") {
      options.config.seed = number(word, value);
    } else if (word == "--set") {
      options.settings.push_back(value);
    } else if (word == "--serve") {
      options.services.emplace_back(value);
    } else if (word == "--announce") {
      const std::string text = value;
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos) refuse("--announce is \"" + text + "\", expected RULE=REASON");
      options.announced.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    } else if (word == "--pcap") {
      options.config.pcap_file = value;
    } else if (word == "--trace") {
      options.config.trace_file = value;
    } else if (word == "--poll-limit-ms") {
      options.config.poll_limit_ns = number(word, value) * ns_per_ms;
    } else {
      refuse("unknown option " + std::string{word});
    }
  }
  if (options.driver == nullptr) refuse("no driver is named");
  options.config.name = options.driver;
  options.config.settings = options.settings.data();
  options.config.setting_count = options.settings.size();
  return options;
}

int complain(int code) {
  std::fprintf(stderr, "wizloop-driver-test: %s\n", wizloop_error());
  return code == WIZLOOP_E_MACHINE ? machine : usage;
}

// A driver that calls exit() would end this process with a code of its own choosing, and no verdict.
bool judged = false;
void refuse_early_exit() {
  if (judged) return;
  std::fputs("failed: the driver has called exit()\n", stdout);
  std::fflush(stdout);
  std::_Exit(failed);
}

// What wizloop_run() calls.
struct Run {
  int (*test)(wizloop_t*);
  wizloop_t* bed;
  int result;
};

int judge(wizloop_t* bed, int outcome, int result) {
  std::fputs(wizloop_report(bed), stdout);
  if (outcome == WIZLOOP_E_HANG) {
    std::printf("failed: %s\n", wizloop_error());
    return failed;
  }
  const int rules = wizloop_failing(bed);
  if (result != 0) std::printf("failed: driver_test() returned %d\n", result);
  if (rules > 0)
    std::printf("failed: %d kinds of findings that nobody announced; wizloop explain tells about each\n", rules);
  if (result != 0 || rules > 0) return failed;
  std::puts("passed");
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);

  wizloop_t* const bed = wizloop_create(&options.config);
  if (bed == nullptr) return complain(WIZLOOP_E_ARGUMENT);
  wizloop_set_default(bed);
  for (const std::string& service : options.services) {
    const std::size_t space = service.find(' ');
    const std::string name = service.substr(0, space);
    const std::string words = space == std::string::npos ? "" : service.substr(space);
    if (const int code = wizloop_pc_serve(bed, name.c_str(), words.c_str()); code < 0) return complain(code);
  }
  for (const auto& [rule, reason] : options.announced) {
    if (const int code = wizloop_announce(bed, rule.c_str(), reason.c_str()); code < 0) return complain(code);
  }

  void* const driver = dlopen(options.driver, RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) refuse(dlerror());
  Run run{reinterpret_cast<int (*)(wizloop_t*)>(dlsym(driver, "driver_test")), bed, 0};
  if (run.test == nullptr) refuse(std::string{options.driver} + " has no function driver_test() (driver_test.h)");

  std::atexit(refuse_early_exit);
  constexpr std::uint64_t pll_lock_ns = 1'000'000;
  wizloop_advance_ns(bed, pll_lock_ns);
  const int outcome = wizloop_run(
      bed, [](void* of) { static_cast<Run*>(of)->result = static_cast<Run*>(of)->test(static_cast<Run*>(of)->bed); },
      &run);
  judged = true;
  const int verdict = judge(bed, outcome, run.result);
  if (const int code = wizloop_destroy(bed); code != WIZLOOP_OK) return complain(code);
  return verdict;
}
