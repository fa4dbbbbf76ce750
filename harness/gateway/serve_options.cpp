#include "harness/gateway/serve_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/core/nearest.hpp"
#include "sim/wire/ipv4_text.hpp"

namespace wizloop::gateway {

namespace {

using Outcome = std::optional<Error>;

template <typename T>
Outcome read_number(std::string_view option, std::string_view text, T least, T most, T& number) {
  T read{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc{} || end != text.data() + text.size() || !(read >= least && read <= most)) {
    return Error{fmt::format("{} {}: expected a number from {} to {}", option, text, least, most)};
  }
  number = read;
  return std::nullopt;
}

Outcome read_address(std::string_view option, std::string_view text, std::optional<wire::Ipv4Address>& address) {
  address = wire::ipv4_of(text);
  if (!address) return Error{fmt::format("{} {}: expected an IPv4 address, as 192.168.1.20", option, text)};
  return std::nullopt;
}

Outcome read_mac(std::string_view option, std::string_view text, std::optional<wire::MacAddress>& mac) {
  wire::MacAddress read{};
  bool good = text.size() == 3 * read.size() - 1;
  for (std::size_t i = 0; good && i < read.size(); ++i) {
    const char* const digits = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, read[i], 16);
    good = error == std::errc{} && end == digits + 2 && (i + 1 == read.size() || *end == ':');
  }
  if (!good || (read[0] & 1) != 0) {
    return Error{fmt::format("{} {}: expected the MAC address of one station, as 02:00:00:00:00:20", option, text)};
  }
  mac = read;
  return std::nullopt;
}

Outcome read_endpoint(std::string_view option, std::string_view text, std::optional<Endpoint>& endpoint) {
  const Result<Endpoint> read = parse_endpoint(text, option);
  if (!read) return read.error();
  endpoint = read.value();
  return std::nullopt;
}

Outcome read_ip(std::string_view option, std::string_view text, BoardOptions& board) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    if (auto error = read_number(option, text.substr(slash + 1), 1U, 30U, board.prefix_bits)) return error;
  }
  return read_address(option, text.substr(0, slash), board.ip);
}

Outcome read_name(std::string_view option, std::string_view text, BoardOptions& board) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  if (text.empty() || text.size() > 32 || !std::ranges::all_of(text, allowed)) {
    return Error{fmt::format("{} {}: expected 1 to 32 letters, digits, '-', '_' or '.'", option, text)};
  }
  board.name = text;
  return std::nullopt;
}

Outcome read_setting(std::string_view option, std::string_view text, BoardOptions& board) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos) {
    return Error{fmt::format("{} wants KEY=VALUE, got '{}'", option, text)};
  }
  board.settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return std::nullopt;
}

// One option of a board or of all; `value` is what follows it.
struct Option {
  std::string_view name;
  Outcome (*read)(ServeOptions& options, BoardOptions& board, std::string_view name, std::string_view value);
};

constexpr std::array option_table{
    Option{"--name",
           [](ServeOptions&, BoardOptions& b, std::string_view n, std::string_view v) { return read_name(n, v, b); }},
    Option{"--serial",
           [](ServeOptions&, BoardOptions& b, std::string_view, std::string_view v) -> Outcome {
             b.serial = v;
             return std::nullopt;
           }},
    Option{"--tcp", [](ServeOptions&, BoardOptions& b, std::string_view n,
                       std::string_view v) { return read_endpoint(n, v, b.tcp); }},
    Option{"--rfc2217", [](ServeOptions&, BoardOptions& b, std::string_view n,
                           std::string_view v) { return read_endpoint(n, v, b.rfc2217); }},
    Option{"--pcap",
           [](ServeOptions&, BoardOptions& b, std::string_view, std::string_view v) -> Outcome {
             b.pcap = v;
             return std::nullopt;
           }},
    Option{"--spi",
           [](ServeOptions&, BoardOptions& b, std::string_view, std::string_view v) -> Outcome {
             b.spi = v;
             return std::nullopt;
           }},
    Option{"--set", [](ServeOptions&, BoardOptions& b, std::string_view n,
                       std::string_view v) { return read_setting(n, v, b); }},
    Option{"--reset-on",
           [](ServeOptions&, BoardOptions& b, std::string_view n, std::string_view v) -> Outcome {
             if (v != "dtr" && v != "nothing") return Error{fmt::format("{} {}: expected dtr or nothing", n, v)};
             b.reset_on_dtr = v == "dtr";
             return std::nullopt;
           }},
    Option{"--baud", [](ServeOptions&, BoardOptions& b, std::string_view n,
                        std::string_view v) { return read_number<std::int64_t>(n, v, 300, 20'000'000, b.baud); }},
    Option{"--ip",
           [](ServeOptions&, BoardOptions& b, std::string_view n, std::string_view v) { return read_ip(n, v, b); }},
    Option{"--gateway", [](ServeOptions&, BoardOptions& b, std::string_view n,
                           std::string_view v) { return read_address(n, v, b.gateway); }},
    Option{"--mac", [](ServeOptions&, BoardOptions& b, std::string_view n,
                       std::string_view v) { return read_mac(n, v, b.mac); }},
    Option{"--net",
           [](ServeOptions& o, BoardOptions&, std::string_view n, std::string_view v) -> Outcome {
             auto net = realtime::parse_net(v);
             if (!net) return Error{fmt::format("{} {}: {}", n, v, net.error().message)};
             o.net = std::move(net).value();
             return std::nullopt;
           }},
    Option{"--control", [](ServeOptions& o, BoardOptions&, std::string_view n,
                           std::string_view v) { return read_endpoint(n, v, o.control); }},
    Option{"--speed", [](ServeOptions& o, BoardOptions&, std::string_view n,
                         std::string_view v) { return read_number(n, v, 0.0, 1e6, o.speed); }},
    Option{"--seed", [](ServeOptions& o, BoardOptions&, std::string_view n,
                        std::string_view v) { return read_number<std::uint64_t>(n, v, 0, UINT64_MAX, o.seed); }},
    Option{"--token-file",
           [](ServeOptions& o, BoardOptions&, std::string_view, std::string_view v) -> Outcome {
             o.token_file = v;
             return std::nullopt;
           }},
    Option{"--json",
           [](ServeOptions& o, BoardOptions&, std::string_view, std::string_view v) -> Outcome {
             o.ready_file = v;
             return std::nullopt;
           }},
};

Error unknown_option(std::string_view name) {
  std::vector<std::string_view> known{"--board", "--help"};
  for (const Option& option : option_table) known.push_back(option.name);
  return Error{fmt::format("unknown option {}; the nearest is {}", name, nearest(name, known))};
}

Outcome give_names(std::vector<BoardOptions>& boards) {
  for (std::size_t i = 0; i < boards.size(); ++i) {
    const auto taken = [&](const std::string& name) {
      return std::any_of(boards.begin(), boards.begin() + static_cast<std::ptrdiff_t>(i),
                         [&](const BoardOptions& other) { return other.name == name; });
    };
    if (!boards[i].name.empty()) {
      if (taken(boards[i].name)) return Error{fmt::format("--name {}: is the name of two boards", boards[i].name)};
      continue;
    }
    const std::string stem = boards[i].file.stem().string();
    boards[i].name = stem;
    for (int number = 2; taken(boards[i].name); ++number) boards[i].name = fmt::format("{}-{}", stem, number);
  }
  return std::nullopt;
}

}  // namespace

Result<ServeOptions> parse_serve_options(std::span<const std::string_view> arguments) {
  ServeOptions options;
  BoardOptions before_the_first;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    if (name == "--help" || name == "-h") {
      options.help = true;
      return options;
    }
    if (!name.starts_with("--")) return Error{fmt::format("'{}' is no option; boards are given with --board", name)};
    std::string_view value;
    if (const std::size_t equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      i = arguments.size();
    }
    const auto* option = std::ranges::find(option_table, name, &Option::name);
    if (option == option_table.end() && name != "--board") return unknown_option(name);
    if (value.empty()) return Error{fmt::format("{} wants a value", name)};
    if (name == "--board") {
      options.boards.push_back(options.boards.empty() ? std::exchange(before_the_first, {}) : BoardOptions{});
      options.boards.back().file = value;
      continue;
    }
    BoardOptions& board = options.boards.empty() ? before_the_first : options.boards.back();
    if (auto error = option->read(options, board, name, value)) return *error;
  }
  if (options.boards.empty()) return Error{"no board to serve: give --board"};
  if (auto error = give_names(options.boards)) return *error;
  return options;
}

std::string_view serve_help() {
  return R"(Usage: wizloop serve --board BOARD [OPTION ...] [--board BOARD [OPTION ...] ...]

Serves virtual rack boards in real time: the agent firmware on simulated boards, their consoles on ptys and TCP ports,
their cables in one virtual switch. Ends with SIGTERM or Ctrl-C.

Of each board, behind its --board:
  --board BOARD          its name or the path of its .toml file
  --name NAME            on the control port and in messages; default: that of the file
  --serial LINK          a symbolic link to its pty, there until the end
  --tcp HOST:PORT        its console on a TCP port; port 0 takes a free one
  --rfc2217 HOST:PORT    the same with RFC 2217, which knows DTR
  --reset-on dtr         opening the console resets the board, as with an Arduino
  --baud N               of its UART; default 1000000
  --ip ADDRESS[/BITS] --gateway ADDRESS --mac MAC    what the firmware starts with
  --pcap FILE            the frames on its cable (pcapng); a pipe whose reader stalls misses some
  --spi FILE             the SPI transcript, for `wizloop replay`
  --set KEY=VALUE        board.KEY, chip.KEY, link.partner, fault.NAME, finding.ID, suppress.ID; repeatable

Of all:
  --net SPEC             none, slirp[:hostfwd=tcp:5001:5001,...], veth:IF or tap:IF: what else is on their switch
  --control HOST:PORT    off, on, reset, unplug, replug, release, status; one line each (try help)
  --speed X              virtual time against the wall clock: 1, faster, slower; 0 as fast as it goes
  --seed N               of all random streams
  --token-file FILE      the token that clients need on any address but loopback; or set WIZLOOP_TOKEN
  --json FILE            where everything is, written when all can be connected to, removed at the end

Exit codes: 0 ended when told to, 2 usage, 5 the machine lacks something.
)";
}

}  // namespace wizloop::gateway
