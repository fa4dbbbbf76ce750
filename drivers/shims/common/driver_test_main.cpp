// wizloop-driver-test: runs a driver that was linked into a shared object of its own, and says what came of it. The
// object is loaded so that its symbols are its own business: a driver may define socket(), close() or send().
//
//   wizloop-driver-test DRIVER.so [--board B] [--seed N] [--set NAME=VALUE]... [--serve "SERVICE OPTIONS"]...
//       [--announce RULE=REASON]... [--pcap FILE] [--trace FILE] [--poll-limit-ms N] [--wants-spi]
//
// --wants-spi: a driver that has moved no byte of SPI fails, whatever it says.
//
// Exit codes: 0 the driver passed; 1 it failed, hung, or earned a finding that nobody announced; 2 wrong usage; 5 the
// machine lacks something.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "wizloop.h"

namespace {

constexpr const char* usage_text =
    "usage: wizloop-driver-test DRIVER.so [--board B] [--seed N] [--set NAME=VALUE]... [--serve \"SERVICE "
    "OPTIONS\"]...\n"
    "           [--announce RULE=REASON]... [--pcap FILE] [--trace FILE] [--poll-limit-ms N] [--wants-spi]\n";

constexpr int passed = 0, failed = 1, usage = 2, machine = 5;

struct Options {
  const char* driver = nullptr;
  bool wants_spi = false;
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  std::vector<const char*> settings;
  std::vector<std::string> services;
  std::vector<std::pair<std::string, std::string>> announced;
};

int verdict_pipe = -1;  // of the process that runs the driver

// Hands the verdict to the parent, if there is one.
void hand_over(int verdict) {
  const auto byte = static_cast<std::uint8_t>(verdict);
  if (verdict_pipe >= 0 && write(verdict_pipe, &byte, 1) != 1) std::perror("wizloop-driver-test: pipe");
}

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "wizloop-driver-test: %s\n", what.c_str());
  std::fputs(usage_text, stderr);
  hand_over(usage);
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
    if (word == "--help" || word == "-h") {
      std::fputs(usage_text, stdout);
      std::exit(passed);
    }
    if (word == "--wants-spi") {
      options.wants_spi = true;
      continue;
    }
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

// What wizloop_run() calls.
struct Run {
  int (*test)(wizloop_t*);
  wizloop_t* bed;
  int result;
};

int judge(wizloop_t* bed, int outcome, int result, bool wants_spi) {
  std::fputs(wizloop_report(bed), stdout);
  if (outcome == WIZLOOP_E_HANG) {
    std::printf("failed: %s\n", wizloop_error());
    return failed;
  }
  const int rules = wizloop_failing(bed);
  if (result != 0) std::printf("failed: driver_test() returned %d\n", result);
  if (rules > 0)
    std::printf("failed: %d kinds of findings that nobody announced; wizloop explain tells about each\n", rules);
  std::uint64_t bytes = 0;
  if (wants_spi && wizloop_counter(bed, "spi_bytes", &bytes) != WIZLOOP_OK) return complain(wizloop_error_code());
  const bool silent = wants_spi && bytes == 0;
  if (silent) std::puts("failed: no SPI byte moved: is SCSn ever low, and does SCLK run for eight bits?");
  if (result != 0 || rules > 0 || silent) return failed;
  std::puts("passed");
  return passed;
}

}  // namespace

namespace {

int run(const Options& options) {
  wizloop_t* const bed = wizloop_create(&options.config);
  if (bed == nullptr) return complain(wizloop_error_code());
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

  constexpr std::uint64_t pll_lock_ns = 1'000'000;
  wizloop_advance_ns(bed, pll_lock_ns);
  const int outcome = wizloop_run(
      bed, [](void* of) { static_cast<Run*>(of)->result = static_cast<Run*>(of)->test(static_cast<Run*>(of)->bed); },
      &run);
  const int verdict = judge(bed, outcome, run.result, options.wants_spi);
  if (const int code = wizloop_destroy(bed); code != WIZLOOP_OK) return complain(code);
  return verdict;
}

// The verdict of the process that ran the driver, if it came to one.
int verdict_of(pid_t child, int verdicts) {
  std::uint8_t verdict = 0;
  const bool judged = read(verdicts, &verdict, 1) == 1;
  int status = 0;
  waitpid(child, &status, 0);
  if (judged) return verdict;
  if (WIFSIGNALED(status)) {
    std::printf("failed: the driver was ended by signal %d, %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else {
    std::printf("failed: the driver has ended its process with status %d\n", WEXITSTATUS(status));
  }
  return failed;
}

}  // namespace

// The driver gets a process of its own: one that crashes, or calls exit(), leaves no verdict but a name.
int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int verdicts[2];
  if (pipe(verdicts) != 0) {
    std::perror("wizloop-driver-test: pipe");
    return machine;
  }
  const pid_t child = fork();
  if (child < 0) {
    std::perror("wizloop-driver-test: fork");
    return machine;
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever kills the parent means the driver
    close(verdicts[0]);
    verdict_pipe = verdicts[1];
    const int verdict = run(options);
    std::fflush(stdout);
    hand_over(verdict);
    return verdict;
  }
  close(verdicts[1]);
  return verdict_of(child, verdicts[0]);
}
