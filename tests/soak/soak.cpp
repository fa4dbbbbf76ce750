#include "tests/soak/soak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/core/rules.hpp"

namespace wizloop::soak {
namespace {

constexpr Duration step = 5ms;               // between two looks at who has answered
constexpr Duration start_of_servers = 20ms;  // until they listen
constexpr Duration longest_round = 180s;     // each verb has a deadline before that
constexpr std::string_view deadline = "timeout_ms=60000";
constexpr std::string_view to_sink = "tcp-send to the PC";
constexpr std::size_t most_complaints = 20;
constexpr std::int64_t most_growth_kib = 1024;
// AddressSanitizer holds on to what was freed for a while, and looks for leaks itself.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool memory_is_judged = false;
#else
constexpr bool memory_is_judged = true;
#endif
// What firmware cannot help when it is cut short at any instant: a counter that is not read again, a reset of the chip
// that is not brought to its end.
constexpr Rule of_a_disturbance[] = {Rule::torn_read, Rule::reset_too_short};
// The driver takes a counter of 0 at its word, torn or not, since it looks again before it does anything.
constexpr std::string_view torn_to_zero = "read as 0x0000";
constexpr int looks = 96;  // at memory, over the run
// Sn_SR of all eight sockets.
constexpr std::string_view ask_states =
    "spi tx=00030800,00032800,00034800,00036800,00038800,0003A800,0003C800,0003E800";

std::string missing(std::string_view answer) { return fmt::format("answer \"{}\"", answer); }

}  // namespace

Soak::Soak(const SoakPlan& plan)
    : plan_{plan},
      lab_{plan.seed},
      chance_{Random{plan.seed}.stream("soak")},
      ip_(lab_.size()),
      lease_ends_(lab_.size()),
      findings_told_(lab_.size()) {
  for (std::size_t i = 0; i < lab_.size(); ++i) boards_.push_back(&lab_.board(i));
}

void Soak::run() {
  for (BoardOnSwitch* board : boards_) board->set_power(true);
  for (std::size_t i = 0; i < boards_.size(); ++i) {
    if (number_of(ask(i, "link wait_ms=20000", 30s), "up") != 1U) complain(fmt::format("board {} has no link", i));
  }
  const auto end = Instant{} + std::chrono::milliseconds(static_cast<std::int64_t>(plan_.hours * 3'600'000));
  const Duration between_looks = (end - lab_.now()) / looks;
  Instant next_look = lab_.now();
  while (lab_.now() < end && complaints_.size() < most_complaints) {
    round();
    if (lab_.now() < next_look) continue;
    next_look += between_looks;
    const double hours = static_cast<double>((lab_.now() - Instant{}) / 1ms) / 3'600'000;
    memory_.look(hours, lab_.frames_made());
    if (!plan_.quiet) {
      fmt::print("{:6.2f} h  rounds={} requests={} bytes={} resident_kib={} frames={} complaints={}\n", hours, rounds_,
                 asked_, bytes_, MemoryWatch::resident_kib(), lab_.frames_made(), complaints_.size());
      std::fflush(stdout);
    }
  }
  pass(longest_round);  // TCP of the PC has come to rest
  for (std::string& what : lab_.contradictions()) complain(std::move(what));
  if (memory_is_judged && memory_.growth_kib() > most_growth_kib) {
    complain(fmt::format("memory has grown by {} KiB since the first quarter", memory_.growth_kib()));
  }
}

void Soak::round() {
  ++rounds_;
  std::vector<int> numbers;
  for (BoardOnSwitch* board : boards_) numbers.push_back(board->send("net"));
  wait_for(1s, [&] {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!boards_[i]->has_answered(numbers[i])) return false;
    }
    return true;
  });
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ip_[i] = text_of(boards_[i]->answer(numbers[i]), "ip");
    if (ip_[i].empty()) complain(fmt::format("board {}: net: {}", i, missing(boards_[i]->answer(numbers[i]))));
  }
  asked_ += numbers.size();

  const std::uint64_t sunk = lab_.sink().counters().bytes;
  std::vector<Task> tasks = plan_tasks();
  for (Task& task : tasks) start(task);
  pass(start_of_servers);
  for (Task& task : tasks) {
    task.numbers[0] = boards_[task.boards[0]]->send(task.requests[0]);
    ++asked_;
    if (!task.disturbance.empty()) disturb(task);
  }
  wait_for(longest_round, [&] {
    return std::ranges::all_of(tasks, [&](const Task& task) {
      for (std::size_t i = 0; i < task.boards.size(); ++i) {
        if (task.numbers[i] != 0 && !boards_[task.boards[i]]->has_answered(task.numbers[i])) return false;
      }
      return true;
    });
  });
  pass(1s);  // the last of what was drawn to disturb
  for (Task& task : tasks) finish(task);
  check_sink(tasks, lab_.sink().counters().bytes - sunk);
  sources_.clear();
  std::vector<bool> disturbed(boards_.size(), false);
  for (const Task& task : tasks) {
    for (const std::size_t board : task.boards) disturbed[board] = disturbed[board] || !task.disturbance.empty();
  }
  for (std::size_t i = 0; i < boards_.size(); ++i) look_after(i, disturbed[i]);
  pass(draw_pause());
}

// The PC's count of what came, against what the boards say that they have sent there.
void Soak::check_sink(const std::vector<Task>& tasks, std::uint64_t received) {
  std::uint64_t sent = 0;
  for (const Task& task : tasks) {
    if (task.name != to_sink) continue;
    if (!task.disturbance.empty()) return;  // nobody can say what came of it
    sent += task.bytes;
  }
  if (sent != received) complain(fmt::format("the boards have sent {} bytes to the PC, which got {}", sent, received));
}

Duration Soak::draw_pause() {
  const std::uint64_t kind = draw(0, 999);
  const auto ms = [this](std::uint64_t from, std::uint64_t to) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(draw(from, to)));
  };
  if (kind < 700) return ms(0, 500);
  if (kind < 997) return ms(500, 8000);
  return ms(60'000, 600'000);  // longer than a switch remembers stations, now and then
}

std::uint64_t Soak::draw_size() { return draw(0, 3) == 0 ? draw(50'000, 1'000'000) : draw(1, 50'000); }

std::vector<Soak::Task> Soak::plan_tasks() {
  std::vector<std::size_t> order(boards_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[chance_.below(i)]);
  std::vector<Task> tasks;
  while (!order.empty()) {
    const std::size_t first = order.back();
    order.pop_back();
    const bool renews =
        lease_ends_[first] != Instant{} && lab_.now() + std::chrono::seconds(Lab::lease_s / 2) > lease_ends_[first];
    if (order.empty() || renews || draw(0, 2) == 0) {
      tasks.push_back(lone_task(first));
    } else {
      tasks.push_back(pair_task(first, order.back()));
      order.pop_back();
    }
    if (draw(0, 7) != 0) continue;
    constexpr const char* disturbances[] = {"cable", "reset", "power", "cancel", "noise"};
    tasks.back().disturbance = disturbances[draw(0, std::size(disturbances) - 1)];
  }
  return tasks;
}

Soak::Task Soak::pair_task(std::size_t client, std::size_t server) {
  const std::string& to = ip_[server];
  const std::uint64_t port = draw(1024, 49151);
  const std::uint64_t bytes = draw_size();
  const std::uint64_t chunk = draw(0, 1) == 0 ? 2048 : draw(100, 2048);
  const std::uint64_t kib = std::uint64_t{1} << draw(0, 4);
  const auto same_bytes = [this](Task& task, std::string_view at_server) -> std::string {
    const auto here = number_of(task.answer(*this, 0), "bytes");
    const auto there = number_of(task.answer(*this, 1), at_server);
    if (!here || here != there) return "the two ends count different bytes";
    bytes_ += *here;
    return "";
  };
  switch (draw(0, 6)) {
    case 0:
      return {"tcp-send to tcp-recv",
              {client, server},
              {fmt::format("tcp-send ip={} port={} bytes={} chunk={} kib={} {}", to, port, bytes, chunk, kib, deadline),
               fmt::format("tcp-recv port={} kib={} {}", port, kib, deadline)},
              [same_bytes](Task& task) { return same_bytes(task, "bytes"); },
              {}};
    case 1:
      return {"tcp-recv from tcp-server source",
              {client, server},
              {fmt::format("tcp-recv ip={} port={} chunk={} kib={} {}", to, port, chunk, kib, deadline),
               fmt::format("tcp-server mode=source port={} bytes={} conns=1 {}", port, bytes, deadline)},
              [same_bytes](Task& task) { return same_bytes(task, "bytes_out"); },
              {}};
    case 2:
      return {"tcp-send to tcp-server sink",
              {client, server},
              {fmt::format("tcp-send ip={} port={} bytes={} chunk={} {}", to, port, bytes, chunk, deadline),
               fmt::format("tcp-server mode=sink port={} conns=1 socks={} {}", port, draw(1, 4), deadline)},
              [same_bytes](Task& task) { return same_bytes(task, "bytes_in"); },
              {}};
    case 3:
      return {
          "tcp-echo to tcp-server echo",
          {client, server},
          {fmt::format("tcp-echo ip={} port={} count={} size={} {}", to, port, draw(1, 40), draw(1, 1460), deadline),
           fmt::format("tcp-server mode=echo port={} conns=1 {}", port, deadline)},
          [same_bytes](Task& task) { return same_bytes(task, "bytes_in"); },
          {}};
    case 4: {
      const std::uint64_t count = draw(1, 100);
      return {"udp-send to udp-recv",
              {client, server},
              {fmt::format("udp-send ip={} port={} count={} size={} kbit_s={} {}", to, port, count, draw(4, 1472),
                           draw(500, 3000), deadline),
               fmt::format("udp-recv port={} count={} {}", port, count, deadline)},
              [this, same_bytes](Task& task) -> std::string {
                if (number_of(task.answer(*this, 1), "lost") != 0U) return "datagrams were lost";
                return same_bytes(task, "bytes");
              },
              {}};
    }
    case 5: {
      const std::uint64_t count = draw(1, 30);
      return {"udp-echo to udp-echo",
              {client, server},
              {fmt::format("udp-echo ip={} port={} count={} size={} {}", to, port, count, draw(4, 1472), deadline),
               fmt::format("udp-echo port={} count={} {}", port, count, deadline)},
              [this, same_bytes](Task& task) -> std::string {
                if (number_of(task.answer(*this, 0), "lost") != 0U) return "datagrams were lost";
                return same_bytes(task, "bytes");
              },
              {}};
    }
    default:
      return {"ping-stats to a board",
              {client, server},
              {fmt::format("ping-stats ip={} count={} interval_ms={} size={} {}", to, draw(1, 5), draw(10, 500),
                           draw(0, 1472), deadline),
               "stats"},
              [this](Task& task) -> std::string {
                return number_of(task.answer(*this, 0), "lost") != 0U ? "pings were lost" : "";
              },
              {}};
  }
}

Soak::Task Soak::lone_task(std::size_t board) {
  const std::string pc = "192.168.1.10";
  const std::uint64_t bytes = draw_size();
  const auto all_bytes = [this](Task& task) -> std::string {
    task.bytes = number_of(task.answer(*this, 0), "bytes").value_or(0);
    bytes_ += task.bytes;
    return "";
  };
  if (lease_ends_[board] != Instant{} && lab_.now() + std::chrono::seconds(Lab::lease_s / 2) > lease_ends_[board]) {
    lease_ends_[board] = {};
  }
  const bool without_lease = lease_ends_[board] == Instant{};
  switch (without_lease && draw(0, 1) == 0 ? 0 : draw(1, 7)) {
    case 0:
      return {"dhcp",
              {board},
              {fmt::format("dhcp probe={} {}", draw(0, 1), deadline)},
              [this, board](Task& task) -> std::string {
                lease_ends_[board] = lab_.now() + std::chrono::seconds(Lab::lease_s);
                ++leases_;
                return number_of(task.answer(*this, 0), "lease_s") != Lab::lease_s ? "no lease" : "";
              },
              {}};
    case 1:
      return {"dns",
              {board},
              {fmt::format("dns name={} server={} {}", Lab::known_name, pc, deadline)},
              [this, pc](Task& task) -> std::string {
                return text_of(task.answer(*this, 0), "ip") != pc ? "another address" : "";
              },
              {}};
    case 2:
      return {std::string{to_sink},
              {board},
              {fmt::format("tcp-send ip={} port={} bytes={} chunk={} {}", pc, Lab::sink_port, bytes, draw(100, 2048),
                           deadline)},
              all_bytes,
              {}};
    case 3: {
      // Another one each time: where the PC closed first, the last one waits for its time to be over.
      const auto port = static_cast<std::uint16_t>(6000 + ++sources_opened_ % 40'000);
      sources_.push_back(std::make_unique<net::TcpSource>(lab_.pc(), net::TcpSource::Config{.bytes = bytes}));
      net::TcpSource* source = sources_.back().get();
      source->listen(port);
      return {"tcp-recv from the PC",
              {board},
              {fmt::format("tcp-recv ip={} port={} chunk={} {}", pc, port, draw(100, 2048), deadline)},
              [this, source, bytes](Task& task) -> std::string {
                if (number_of(task.answer(*this, 0), "bytes") != bytes) return "not all that the PC has sent";
                bytes_ += bytes;
                return source->finished() ? "" : "the PC has not got all acknowledged";
              },
              {}};
    }
    case 4:
      return {"tcp-echo to the PC",
              {board},
              {fmt::format("tcp-echo ip={} port={} count={} size={} {}", pc, Lab::echo_port, draw(1, 40), draw(1, 1460),
                           deadline)},
              all_bytes,
              {}};
    case 5:
      return {"udp-echo to the PC",
              {board},
              {fmt::format("udp-echo ip={} port={} count={} size={} {}", pc, Lab::echo_port, draw(1, 30), draw(4, 1472),
                           deadline)},
              all_bytes,
              {}};
    case 6:
      return {"path",
              {board},
              {fmt::format("path p={} intn={}", draw(0, 2) == 0 ? "burst" : "dma", draw(0, 1))},
              all_bytes,
              {}};
    default:
      return {"reset", {board}, {"reset"}, all_bytes, {}};
  }
}

void Soak::start(Task& task) {
  task.numbers.assign(task.boards.size(), 0);
  for (std::size_t i = 1; i < task.boards.size(); ++i) {
    task.numbers[i] = boards_[task.boards[i]]->send(task.requests[i]);
    ++asked_;
  }
}

void Soak::disturb(Task& task) {
  const std::size_t which = draw(0, task.boards.size() - 1);
  BoardOnSwitch* board = boards_[task.boards[which]];
  const auto after = microseconds(static_cast<std::int64_t>(draw(0, 60'000)));
  const auto lasts = std::chrono::milliseconds(static_cast<std::int64_t>(draw(1, 900)));
  ++disturbed_[task.disturbance];
  const auto later = [this](Duration delay, std::function<void()> what) {
    happenings_.push_back({lab_.now() + delay, std::move(what)});
  };
  if (task.disturbance == "cable") {
    later(after, [board] { board->plug(false); });
    later(after + lasts, [board] { board->plug(true); });
  } else if (task.disturbance == "reset") {
    task.numbers[which] = 0;
    later(after, [board] { board->press_reset(); });
  } else if (task.disturbance == "power") {
    task.numbers[which] = 0;
    later(after, [board] { board->set_power(false); });
    later(after + lasts, [board] { board->set_power(true); });
  } else if (task.disturbance == "cancel") {
    later(after, [board] { board->type("\x03"); });
  } else {
    std::string noise(draw(1, 200), ' ');
    for (char& letter : noise) letter = static_cast<char>(draw(4, 255));  // no Ctrl-C, which would be the above
    board->type(noise + "\n");
  }
}

void Soak::finish(Task& task) {
  std::string wrong;
  for (std::size_t i = 0; i < task.boards.size(); ++i) {
    const int number = task.numbers[i];
    if (number == 0) continue;
    const std::string_view answer = boards_[task.boards[i]]->answer(number);
    if (answer.empty()) wrong = "no answer";
    if (!task.disturbance.empty()) continue;
    if (!answer.starts_with("ok") || number_of(answer, "bad").value_or(0) != 0) wrong = "failed";
  }
  if (wrong.empty() && task.disturbance.empty()) wrong = task.check(task);
  if (!wrong.empty()) {
    std::string all =
        fmt::format("{}{}{}: {};", task.name, task.disturbance.empty() ? "" : " with ", task.disturbance, wrong);
    for (std::size_t i = 0; i < task.boards.size(); ++i) {
      all += fmt::format(" board {} was asked \"{}\" and said \"{}\";", task.boards[i], task.requests[i],
                         task.answer(*this, i));
    }
    complain(std::move(all));
  }
  if (task.disturbance.empty()) ++done_[task.name];
  if (!task.disturbance.empty() || task.name == "reset") recover(task);
}

void Soak::recover(const Task& task) {
  for (const std::size_t board : task.boards) {
    if (task.disturbance == "power" || task.disturbance == "reset") lease_ends_[board] = {};  // it may be the one
    boards_[board]->type("\n");
    const std::string answer = ask(board, "link wait_ms=20000", 30s);
    if (number_of(answer, "up") != 1U) {
      complain(
          fmt::format("board {} has no link after {} with {}: \"{}\"", board, task.name, task.disturbance, answer));
    }
    // Who cancels this asks again: a lease that was granted and is not used is a finding.
    if (task.name != "dhcp") continue;
    if (const std::string again = ask(board, "dhcp probe=0", 40s); again.starts_with("ok")) {
      lease_ends_[board] = lab_.now() + std::chrono::seconds(Lab::lease_s);
      ++leases_;
    } else {
      complain(fmt::format("board {} has no lease after {}: \"{}\"", board, task.disturbance, again));
    }
  }
}

void Soak::look_after(std::size_t number, bool was_disturbed) {
  BoardOnSwitch& board = *boards_[number];
  const std::string states = ask(number, ask_states, 1s);
  constexpr std::string_view all_closed = "rx=01020300,01020300,01020300,01020300,01020300,01020300,01020300,01020300";
  if (!states.starts_with("ok") || states.find(all_closed) == std::string::npos) {
    complain(fmt::format("board {}: a socket is not closed: \"{}\"", number, states));
  }
  if (board.hangs()) complain(fmt::format("board {} hangs", number));
  const Findings& findings = board.bed().findings();
  for (std::size_t& told = findings_told_[number]; told < findings.all().size(); ++told) {
    const Finding& finding = findings.all()[told];
    const RuleText& text = wizloop::text_of(finding.rule);
    if (text.severity == Severity::note || findings.announced(finding.rule) != nullptr) continue;
    const bool harmless = finding.rule == Rule::torn_read && finding.seen.find(torn_to_zero) != std::string::npos;
    const bool expected =
        was_disturbed && std::ranges::find(of_a_disturbance, finding.rule) != std::end(of_a_disturbance);
    if (harmless || expected) {
      ++counted_findings_[std::string{text.id}];
      continue;
    }
    complain(fmt::format("board {}: finding {} at {:.6f} s: {}", number, text.id,
                         static_cast<double>((finding.at - Instant{}) / 1us) / 1e6, finding.seen));
  }
}

// What happens to a board from outside happens between events, as in the handlers of `wizloop serve`.
void Soak::pass(Duration duration) {
  const Instant until = lab_.now() + duration;
  for (;;) {
    const auto next = std::ranges::min_element(happenings_, {}, &Happening::at);
    if (next == happenings_.end() || next->at > until) break;
    const Happening happening = std::move(*next);
    happenings_.erase(next);
    lab_.run_until(happening.at);
    happening.what();
  }
  lab_.run_until(until);
}

std::string Soak::ask(std::size_t board, std::string_view request, Duration within) {
  const int number = boards_[board]->send(request);
  ++asked_;
  wait_for(within, [&] { return boards_[board]->has_answered(number); });
  return std::string{boards_[board]->answer(number)};
}

template <typename Done>
bool Soak::wait_for(Duration within, Done&& done) {
  const Instant latest = lab_.now() + within;
  while (!done()) {
    if (lab_.now() >= latest) return false;
    pass(step);
  }
  return true;
}

void Soak::complain(std::string what) {
  if (complaints_.size() >= most_complaints) return;
  const double at = static_cast<double>((lab_.now() - Instant{}) / 1us) / 1e6;
  complaints_.push_back(fmt::format("{:.6f} s, round {}: {}", at, rounds_, what));
  fmt::print("{}\n", complaints_.back());
  std::fflush(stdout);
}

void Soak::print_summary(std::chrono::duration<double> wall) const {
  const double virtual_s = static_cast<double>((lab_.now() - Instant{}) / 1ms) / 1000;
  for (const auto& [name, times] : done_) fmt::print("{:8} {}\n", times, name);
  for (const auto& [name, times] : disturbed_) fmt::print("{:8} disturbed by {}\n", times, name);
  for (const auto& [rule, times] : counted_findings_)
    fmt::print("{:8} findings that were only counted: {}\n", times, rule);
  fmt::print(
      "soak: seed={} virtual_s={:.0f} wall_s={:.1f} times_real_time={:.0f} rounds={} requests={} bytes={} leases={}\n",
      plan_.seed, virtual_s, wall.count(), virtual_s / wall.count(), rounds_, asked_, bytes_, leases_);
  fmt::print("soak: resident_kib={} growth_kib={} slope_kib_per_hour={:.1f} frames_grown={} complaints={}\n",
             MemoryWatch::resident_kib(), memory_.growth_kib(), memory_.slope_kib_per_hour(), memory_.frames_grown(),
             complaints_.size());
}

}  // namespace wizloop::soak
