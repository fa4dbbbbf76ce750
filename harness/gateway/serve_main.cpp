// wizloop-serve: virtual rack boards in real time. `wizloop serve --help`; harness/README.md has examples.
//
// Exit codes: 0 ended when told to, 2 usage, 5 the machine lacks something.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/gateway/news.hpp"
#include "harness/gateway/rack.hpp"

namespace {

using namespace wizloop;

constexpr int exit_usage = 2;
constexpr int exit_infrastructure = 5;

int complain(const Error& error) {
  fmt::print(stderr, "wizloop serve: {}\n", error.message);
  return error.kind == ErrorKind::user ? exit_usage : exit_infrastructure;
}

int serve(const std::vector<std::string_view>& arguments) {
  auto options = gateway::parse_serve_options(arguments);
  if (!options) return complain(options.error());
  if (options.value().help) {
    fmt::print("{}", gateway::serve_help());
    return 0;
  }
  gateway::News news{STDOUT_FILENO};
  gateway::Rack rack{std::move(options).value(), [&news](const std::string& line) { news.say(line); }};
  if (const auto failed = rack.set_up()) return complain(*failed);
  if (const auto failed = rack.say_ready()) return complain(*failed);
  rack.serve();
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  // A client or a reader that goes away, and a file that must not grow, are errors of the call that meets them.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return serve({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    return complain({error.what(), ErrorKind::machine});
  }
}
