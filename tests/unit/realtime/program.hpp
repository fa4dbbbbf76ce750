// A program of the host that runs beside the board: its output is kept, and it ends with this object at the latest.
//
//   Program ping{{"ping", "-c", "1", "192.168.1.20"}};
//   ASSERT_TRUE(board.run_until([&] { return ping.ended(); }));
//   EXPECT_EQ(ping.exit_code(), 0) << ping.output();
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "sim/core/assert.hpp"

namespace wizloop::test {

class Program {
 public:
  explicit Program(std::vector<std::string> words) {
    int ends[2];
    WIZ_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    posix_spawn_file_actions_adddup2(&files, ends[1], 2);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (posix_spawnp(&pid_, arguments[0], &files, nullptr, arguments.data(), environ) != 0) {
      pid_ = -1;
      exit_code_ = 127;
      output_ = words[0] + " is not installed";
    }
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    pipe_ = ends[0];
    fcntl(pipe_, F_SETFL, O_NONBLOCK);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(pipe_);
  }

  // Looks; does not wait.
  bool ended() {
    read_output();
    if (pid_ > 0) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        pid_ = -1;
        read_output();
      }
    }
    return pid_ < 0;
  }
  int exit_code() const { return exit_code_; }
  const std::string& output() const { return output_; }

 private:
  void read_output() {
    char chunk[4096];
    for (ssize_t count; (count = read(pipe_, chunk, sizeof chunk)) > 0;) {
      output_.append(chunk, static_cast<std::size_t>(count));
    }
  }

  pid_t pid_ = -1;
  int pipe_ = -1;
  int exit_code_ = -1;
  std::string output_;
};

}  // namespace wizloop::test
