// A day in the life of a net: in each round the boards are paired at random or sent to the PC, each pair does one
// thing, some are disturbed meanwhile, and all is looked at when the round is over. Everything is drawn from the seed.
//
//   Soak soak{{.hours = 24, .seed = 1}};
//   soak.run();
//   soak.complaints()                                     // empty: all was well
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/net/services/tcp_source.hpp"
#include "tests/soak/lab.hpp"
#include "tests/soak/memory_watch.hpp"

namespace wizloop::soak {

struct SoakPlan {
  double hours = 24;
  std::uint64_t seed = 1;
  bool quiet = false;  // says nothing but the end
};

class Soak {
 public:
  explicit Soak(const SoakPlan& plan);

  void run();
  const std::vector<std::string>& complaints() const { return complaints_; }
  void print_summary(std::chrono::duration<double> wall) const;

 private:
  // What one or two boards do in a round.
  struct Task {
    std::string name;
    std::vector<std::size_t> boards;          // the one that serves is the last
    std::vector<std::string> requests;        // to each of these
    std::function<std::string(Task&)> check;  // of an undisturbed task: what is wrong; empty: nothing
    std::string disturbance;                  // empty: none
    std::uint64_t bytes = 0;                  // that it has moved, once it is checked
    std::vector<int> numbers{};               // of the requests; 0: none will be answered

    std::string_view answer(const Soak& soak, std::size_t which) const {
      return soak.boards_[which_board(which)]->answer(numbers[which]);
    }
    std::size_t which_board(std::size_t which) const { return boards[which]; }
  };

  struct Happening {
    Instant at;
    std::function<void()> what;
  };

  void round();
  std::vector<Task> plan_tasks();
  Task pair_task(std::size_t client, std::size_t server);
  Task lone_task(std::size_t board);
  void start(Task& task);
  void disturb(Task& task);
  void finish(Task& task);
  void recover(const Task& task);
  void check_sink(const std::vector<Task>& tasks, std::uint64_t received);
  void look_after(std::size_t board, bool was_disturbed);

  // Asks one board and waits; empty: it has not answered.
  std::string ask(std::size_t board, std::string_view request, Duration within);
  template <typename Done>
  bool wait_for(Duration within, Done&& done);
  void pass(Duration duration);
  void complain(std::string what);
  std::uint64_t draw(std::uint64_t from, std::uint64_t to) { return from + chance_.below(to - from + 1); }
  Duration draw_pause();
  std::uint64_t draw_size();

  SoakPlan plan_;
  Lab lab_;
  RandomStream chance_;
  std::vector<BoardOnSwitch*> boards_;
  std::vector<std::string> ip_;
  std::vector<Instant> lease_ends_;  // Instant{}: it has none
  std::vector<std::size_t> findings_told_;
  std::vector<Happening> happenings_;
  std::vector<std::unique_ptr<net::TcpSource>> sources_;
  std::uint64_t sources_opened_ = 0;
  std::map<std::string, std::uint64_t> done_;
  std::map<std::string, std::uint64_t> disturbed_;
  std::map<std::string, std::uint64_t> counted_findings_;
  std::uint64_t rounds_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t leases_ = 0;
  MemoryWatch memory_;
  std::vector<std::string> complaints_;
};

}  // namespace wizloop::soak
