#include "dhcp.hpp"

#include "bytes.hpp"
#include "deadline.hpp"

namespace w5500 {
namespace {

constexpr uint16_t server_port = 67;
constexpr uint16_t client_port = 68;
constexpr uint16_t discard_port = 9;  // RFC 863: where a probe goes

constexpr uint8_t boot_request = 1;
constexpr uint8_t boot_reply = 2;
constexpr uint8_t ethernet = 1;
constexpr uint16_t broadcast_flag = 0x8000;
constexpr uint32_t cookie = 0x63825363;
constexpr uint16_t chaddr_at = 28;
constexpr uint16_t chaddr_bytes = 16;
constexpr uint16_t sname_bytes = 64;
constexpr uint16_t file_bytes = 128;
constexpr uint16_t header_bytes = 240;
constexpr uint16_t min_message_bytes = 300;  // of BOOTP (RFC 1542 2.1): some relays drop what is shorter
constexpr uint16_t max_message_bytes = 576;  // what a client has to take at least

constexpr uint8_t max_host_name = 63;

constexpr uint32_t first_wait_ms = 4000;
constexpr uint8_t longest_wait_doublings = 4;
constexpr uint8_t most_requests = 4;
constexpr uint32_t wait_after_nak_ms = 1000;
constexpr uint32_t wait_after_decline_ms = 10000;  // RFC 2131 3.1
constexpr uint32_t longest_probe_ms = 5000;
constexpr uint32_t shortest_renewal_wait_s = 60;  // RFC 2131 4.4.5
constexpr uint32_t longest_renewal_wait_s = 86400;

constexpr uint32_t chip_patience_us = 1000;  // for what the chip does by itself
constexpr uint32_t poll_interval_us = 1000;
constexpr uint8_t messages_per_poll = 4;

constexpr uint8_t piece_bytes = 64;

namespace code {  // RFC 2132
constexpr uint8_t pad = 0;
constexpr uint8_t subnet_mask = 1;
constexpr uint8_t router = 3;
constexpr uint8_t dns_server = 6;
constexpr uint8_t host_name = 12;
constexpr uint8_t requested_ip = 50;
constexpr uint8_t lease = 51;
constexpr uint8_t overload = 52;
constexpr uint8_t type = 53;
constexpr uint8_t server_identifier = 54;
constexpr uint8_t parameter_list = 55;
constexpr uint8_t max_size = 57;
constexpr uint8_t renewal = 58;
constexpr uint8_t rebinding = 59;
constexpr uint8_t client_identifier = 61;
constexpr uint8_t end = 255;
}  // namespace code

bool same_bytes(const uint8_t* a, const uint8_t* b, uint8_t count) {
  for (uint8_t i = 0; i < count; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

bool is_zero(const uint8_t (&ip)[4]) { return load32(ip) == 0; }

// Class A, B or C, and not this host or the loopback.
bool is_host_address(const uint8_t (&ip)[4]) { return ip[0] != 0 && ip[0] != 127 && ip[0] < 224; }

// Stays below an infinite lease.
void count_on(uint32_t& counter, uint32_t seconds) { counter += smaller(seconds, DhcpLease::infinite - 1 - counter); }

// A message on its way into the socket's TX ring.
class Writer {
 public:
  explicit Writer(UdpSocket& socket) : socket_(socket) {}

  void put(uint8_t byte) {
    piece_[used_++] = byte;
    if (used_ == sizeof piece_) flush();
  }
  void put(const uint8_t* bytes, uint8_t count) {
    for (uint8_t i = 0; i < count; ++i) put(bytes[i]);
  }
  void put16(uint16_t value) {
    put(static_cast<uint8_t>(value >> 8));
    put(static_cast<uint8_t>(value & 0xFF));
  }
  void put32(uint32_t value) {
    put16(static_cast<uint16_t>(value >> 16));
    put16(static_cast<uint16_t>(value & 0xFFFF));
  }
  void zeros_up_to(uint16_t total) {
    while (total_ + used_ < total) put(0);
  }
  void option(uint8_t option_code, const uint8_t* value, uint8_t count) {
    put(option_code);
    put(count);
    put(value, count);
  }

  Error finish() {
    flush();
    return error_ == Error::none ? socket_.send_datagram().error() : error_;
  }

 private:
  void flush() {
    if (used_ > 0 && error_ == Error::none) error_ = socket_.append(piece_, used_).error();
    total_ = static_cast<uint16_t>(total_ + used_);
    used_ = 0;
  }

  UdpSocket& socket_;
  Error error_ = Error::none;
  uint16_t total_ = 0;
  uint8_t used_ = 0;
  uint8_t piece_[piece_bytes];
};

// A message on its way out of the socket's RX ring.
class Reader {
 public:
  Reader(UdpSocket& socket, uint16_t size) : socket_(socket), left_(size) {}

  uint16_t left() const { return left_; }
  Error error() const { return error_; }

  // Behind the end, or where the bus failed: zeros.
  uint8_t get() {
    if (left_ == 0) return 0;
    if (at_ == filled_) fill();
    --left_;
    return at_ < filled_ ? piece_[at_++] : uint8_t{0};
  }
  void get(uint8_t* to, uint8_t count) {
    for (uint8_t i = 0; i < count; ++i) to[i] = get();
  }
  void skip(uint16_t count) {
    for (uint16_t i = 0; i < count && left_ > 0; ++i) get();
  }

 private:
  void fill() {
    at_ = filled_ = 0;
    if (error_ != Error::none) return;
    const Result<uint16_t> got = socket_.read(piece_, sizeof piece_);
    error_ = got.error();
    filled_ = static_cast<uint8_t>(got.value());
  }

  UdpSocket& socket_;
  Error error_ = Error::none;
  uint16_t left_;
  uint8_t at_ = 0;
  uint8_t filled_ = 0;
  uint8_t piece_[piece_bytes];
};

// The options that matter, of up to four bytes each.
class Options {
 public:
  enum Field : uint8_t { subnet, router, dns, second_dns, lease, overload, type, server, renewal, rebinding, count };

  bool has(Field field) const { return ((seen_ >> field) & 1) != 0; }
  uint8_t byte(Field field) const { return values_[field][0]; }
  uint32_t number(Field field) const { return load32(values_[field]); }
  void get(Field field, uint8_t (&to)[4]) const { copy_bytes(to, values_[field], 4); }

  // A field of `size` bytes, to its end. False if an option runs over it or has a length that it cannot have.
  bool parse(Reader& message, uint16_t size) {
    bool sound = true;
    bool ended = false;
    uint16_t left = smaller(size, message.left());
    while (left > 0 && sound && !ended) {
      const uint8_t option_code = message.get();
      --left;
      ended = option_code == code::end;
      if (ended || option_code == code::pad) continue;
      const uint8_t length = left > 0 ? message.get() : uint8_t{0};
      sound = left > length;
      if (!sound) break;
      left = static_cast<uint16_t>(left - 1 - length);
      sound = take(message, option_code, length);
    }
    message.skip(left);
    return sound;
  }

  // Of an option that is there already, the first counts.
  void add(const Options& more) {
    for (uint8_t field = 0; field < count; ++field) {
      const Field each = static_cast<Field>(field);
      if (more.has(each) && !has(each)) set(each, more.values_[field]);
    }
  }

 private:
  void set(Field field, const uint8_t* value) {
    copy_bytes(values_[field], value, 4);
    seen_ = static_cast<uint16_t>(seen_ | (1u << field));
  }

  // Reads all `length` bytes.
  bool take(Reader& message, uint8_t option_code, uint8_t length) {
    uint8_t first[8] = {};
    const uint8_t kept = smaller(length, static_cast<uint8_t>(sizeof first));
    message.get(first, kept);
    message.skip(static_cast<uint16_t>(length - kept));
    Field field = count;
    bool sound = length == 4;
    switch (option_code) {
      case code::type:
      case code::overload:
        field = option_code == code::type ? type : overload;
        sound = length == 1;
        break;
      case code::router:
      case code::dns_server:
        field = option_code == code::router ? router : dns;
        sound = length >= 4 && length % 4 == 0;
        break;
      case code::subnet_mask:
        field = subnet;
        break;
      case code::server_identifier:
        field = server;
        break;
      case code::lease:
        field = lease;
        break;
      case code::renewal:
        field = renewal;
        break;
      case code::rebinding:
        field = rebinding;
        break;
      default:
        return true;
    }
    if (!sound) return false;
    if (has(field)) return true;
    set(field, first);
    if (field == dns && length >= 8) set(second_dns, first + 4);
    return true;
  }

  uint16_t seen_ = 0;
  uint8_t values_[count][4] = {};
};

// What a server left out, or what makes no sense: as RFC 2131 4.4.5 and RFC 791 have it.
void complete(DhcpLease& lease) {
  if (is_zero(lease.subnet)) {
    lease.subnet[0] = 255;
    lease.subnet[1] = lease.ip[0] >= 128 ? 255 : 0;
    lease.subnet[2] = lease.ip[0] >= 192 ? 255 : 0;
  }
  if (lease.lease_s == DhcpLease::infinite) {
    lease.renewal_s = lease.rebinding_s = DhcpLease::infinite;
    return;
  }
  if (lease.rebinding_s == 0 || lease.rebinding_s >= lease.lease_s) {
    lease.rebinding_s = lease.lease_s - lease.lease_s / 8;
  }
  if (lease.renewal_s == 0 || lease.renewal_s >= lease.rebinding_s) lease.renewal_s = lease.lease_s / 2;
  lease.renewal_s = smaller(lease.renewal_s, lease.rebinding_s);
}

}  // namespace

Result<void> DhcpClient::start(const uint8_t (&mac)[6]) {
  copy_bytes(mac_, mac, sizeof mac_);
  state_ = DhcpState::stopped;
  lease_ = DhcpLease();
  counters_ = DhcpCounters();
  random_ = options_.seed;
  for (const uint8_t byte : mac_) random_ = (random_ ^ byte) * 16777619u;  // FNV-1a
  if (random_ == 0) random_ = 1;
  clock_us_ = chip_.port().now_us();
  second_ms_ = 0;
  Error error = set_address(false);
  if (error == Error::none) error = open();
  if (error != Error::none) return error;
  start_anew_in(0);
  return Error::none;
}

Result<DhcpState> DhcpClient::poll() {
  if (state_ == DhcpState::stopped) return state_;
  advance_clock();
  Error error = Error::none;
  if (has_address()) error = watch_lease();
  if (error == Error::none) error = state_ == DhcpState::probing ? watch_probe() : receive();
  const bool may_be_due = state_ != DhcpState::bound && state_ != DhcpState::probing;
  if (error == Error::none && may_be_due && wait_ms_ == 0) error = send_what_is_due();
  if (error != Error::none) {
    listening_ = false;
    return error;
  }
  return state_;
}

Result<void> DhcpClient::acquire(uint32_t timeout_us) {
  if (state_ == DhcpState::stopped) return Error::wrong_state;
  const Deadline deadline(chip_.port(), timeout_us);
  for (;;) {
    const Result<DhcpState> state = poll();
    if (!state) return state.error();
    if (has_address()) return Error::none;
    if (deadline.passed()) return Error::state_timeout;
    chip_.port().delay_us(smaller(deadline.left_us(), poll_interval_us));
  }
}

Result<void> DhcpClient::release(uint32_t timeout_us) {
  Error error = Error::none;
  if (has_address()) {
    error = transmit(Message::release);
    if (error == Error::none) error = socket_.flush(timeout_us).error();
  }
  state_ = DhcpState::stopped;
  listening_ = false;
  const Error closed = socket_.close().error();
  const Error cleared = set_address(false);
  if (error == Error::none) error = closed;
  return error == Error::none ? cleared : error;
}

void DhcpClient::advance_clock() {
  const uint32_t passed_ms = (chip_.port().now_us() - clock_us_) / 1000;
  clock_us_ += passed_ms * 1000;
  wait_ms_ -= smaller(wait_ms_, passed_ms);
  const uint32_t in_second = second_ms_ + passed_ms;
  second_ms_ = static_cast<uint16_t>(in_second % 1000);
  const uint32_t seconds = in_second / 1000;
  count_on(age_s_, seconds);
  count_on(asked_s_, seconds);
  count_on(began_s_, seconds);
}

// xorshift32: what it is for is that two boards of one network do not ask in step.
uint32_t DhcpClient::random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_;
}

void DhcpClient::begin_transaction(DhcpState state) {
  state_ = state;
  attempt_ = 0;
  wait_ms_ = 0;
  began_s_ = 0;
  xid_ = random();
}

void DhcpClient::start_anew_in(uint32_t wait_ms) {
  begin_transaction(wait_ms == 0 ? DhcpState::selecting : DhcpState::waiting);
  wait_ms_ = wait_ms;
}

// In ---------------------------------------------------------------------------------------------------------------

Error DhcpClient::receive() {
  for (uint8_t i = 0; i < messages_per_poll && listening_; ++i) {
    const Result<Datagram> datagram = socket_.next_datagram();
    if (datagram.error() == Error::no_datagram) return Error::none;
    if (datagram.error() == Error::out_of_step) continue;
    if (!datagram) return datagram.error();
    const Error error = take_message(datagram.value());
    if (error != Error::none) return error;
  }
  return Error::none;
}

Error DhcpClient::take_message(const Datagram& datagram) {
  ++counters_.ignored;  // unless it turns out to be of use
  if (datagram.from.port != server_port || datagram.size < header_bytes) return socket_.skip_rest().error();

  Reader message(socket_, datagram.size);
  uint8_t head[chaddr_at];
  message.get(head, sizeof head);
  uint8_t hardware[6];
  message.get(hardware, sizeof hardware);
  message.skip(chaddr_bytes - sizeof hardware);
  // Options may go on in the fields for other uses (RFC 2132 9.3), which come before the option that says so.
  Options in_sname;
  Options in_file;
  const bool sname_sound = in_sname.parse(message, sname_bytes);
  const bool file_sound = in_file.parse(message, file_bytes);
  uint8_t magic[4];
  message.get(magic, sizeof magic);
  const bool ours = head[0] == boot_reply && head[1] == ethernet && head[2] == sizeof mac_ &&
                    load32(head + 4) == xid_ && same_bytes(hardware, mac_, sizeof mac_) && load32(magic) == cookie;
  Options options;
  bool sound = ours && options.parse(message, message.left());
  const uint8_t overload = options.byte(Options::overload);
  if ((overload & 1) != 0) {
    sound = sound && file_sound;
    options.add(in_file);
  }
  if ((overload & 2) != 0) {
    sound = sound && sname_sound;
    options.add(in_sname);
  }
  if (message.error() != Error::none) return message.error();
  if (!sound || !options.has(Options::type)) return socket_.skip_rest().error();

  DhcpLease lease;
  copy_bytes(lease.ip, head + 16, 4);
  options.get(Options::subnet, lease.subnet);
  options.get(Options::router, lease.router);
  options.get(Options::dns, lease.dns[0]);
  options.get(Options::second_dns, lease.dns[1]);
  options.get(Options::server, lease.server);
  lease.lease_s = options.number(Options::lease);
  lease.renewal_s = options.number(Options::renewal);
  lease.rebinding_s = options.number(Options::rebinding);
  complete(lease);

  const bool usable = is_host_address(lease.ip) && lease.lease_s > 0;
  const bool requesting = state_ == DhcpState::requesting && load32(lease.server) == load32(lease_.server);
  const bool extending = state_ == DhcpState::renewing || state_ == DhcpState::rebinding;
  const Message type = static_cast<Message>(options.byte(Options::type));
  if (type == Message::offer && state_ == DhcpState::selecting && usable && !is_zero(lease.server)) {
    --counters_.ignored;
    on_offer(lease);
  } else if (type == Message::ack && (requesting || extending) && usable) {
    --counters_.ignored;
    return on_ack(lease);
  } else if (type == Message::nak && (requesting || extending)) {
    --counters_.ignored;
    return on_nak();
  }
  return Error::none;
}

void DhcpClient::on_offer(const DhcpLease& offered) {
  lease_ = offered;
  state_ = DhcpState::requesting;
  attempt_ = 0;
  wait_ms_ = 0;
}

Error DhcpClient::on_ack(const DhcpLease& granted) {
  const bool new_address = state_ == DhcpState::requesting;
  uint8_t server[4];
  copy_bytes(server, lease_.server, sizeof server);
  lease_ = granted;
  if (is_zero(lease_.server)) copy_bytes(lease_.server, server, sizeof server);
  age_s_ = asked_s_;
  if (!new_address || !options_.probe) return take_up_lease();
  state_ = DhcpState::probing;
  attempt_ = 0;
  return Error::none;
}

Error DhcpClient::on_nak() {
  ++counters_.naks;
  const Error error = drop_lease();
  start_anew_in(wait_after_nak_ms);
  return error;
}

// Out --------------------------------------------------------------------------------------------------------------

Error DhcpClient::send_what_is_due() {
  if (state_ == DhcpState::requesting && attempt_ == most_requests) {
    lease_ = DhcpLease();
    start_anew_in(0);
  }
  if (state_ == DhcpState::waiting) state_ = DhcpState::selecting;
  const Error error = transmit(state_ == DhcpState::selecting ? Message::discover : Message::request);
  if (error != Error::none) return error;

  if (has_address()) {
    const uint32_t until = state_ == DhcpState::renewing ? lease_.rebinding_s : lease_.lease_s;
    uint32_t wait_s = (until - smaller(age_s_, until)) / 2;
    if (wait_s < shortest_renewal_wait_s) wait_s = shortest_renewal_wait_s;
    wait_ms_ = smaller(wait_s, longest_renewal_wait_s) * 1000;
    return Error::none;
  }
  const uint8_t doublings = smaller(attempt_, longest_wait_doublings);
  wait_ms_ = (first_wait_ms << doublings) - 1000 + random() % 2001;
  ++attempt_;
  return Error::none;
}

Error DhcpClient::watch_probe() {
  if (!listening_ || attempt_ == 0) {
    Error error = make_ready();
    const uint8_t nothing = 0;
    Endpoint probed = {{}, discard_port};
    copy_bytes(probed.ip, lease_.ip, 4);
    if (error == Error::none) error = socket_.send_to(probed, &nothing, sizeof nothing, chip_patience_us).error();
    if (error != Error::none) return error;
    attempt_ = 1;
    wait_ms_ = longest_probe_ms;
    return Error::none;
  }
  const Error outcome = socket_.flush(chip_patience_us).error();
  if (outcome == Error::none) return decline();  // it found the MAC of somebody who has the address
  const bool undecided = outcome == Error::send_timeout;
  if (undecided && wait_ms_ > 0) return Error::none;
  return undecided || outcome == Error::peer_timeout ? take_up_lease() : outcome;
}

Error DhcpClient::watch_lease() {
  const Result<Interrupts> shown = chip_.read_interrupts();
  if (!shown) return shown.error();
  if (shown.value().common.has(IR::CONFLICT)) return decline();
  if (lease_.lease_s == DhcpLease::infinite) return Error::none;
  if (age_s_ >= lease_.lease_s) {
    const Error error = drop_lease();
    start_anew_in(0);
    return error;
  }
  if (age_s_ >= lease_.rebinding_s && state_ != DhcpState::rebinding) return renew(DhcpState::rebinding);
  if (age_s_ >= lease_.renewal_s && state_ == DhcpState::bound) return renew(DhcpState::renewing);
  return Error::none;
}

Error DhcpClient::renew(DhcpState as) {
  const Error error = listening_ ? Error::none : open();
  if (error == Error::none) begin_transaction(as);
  return error;
}

Error DhcpClient::take_up_lease() {
  Error error = chip_.clear_interrupts(IR{IR::CONFLICT}).error();  // of the time before
  if (error == Error::none) error = set_address(true);
  if (error == Error::none) error = socket_.close().error();
  if (error != Error::none) return error;
  listening_ = false;
  state_ = DhcpState::bound;
  return Error::none;
}

Error DhcpClient::drop_lease() {
  lease_ = DhcpLease();
  return set_address(false);
}

Error DhcpClient::decline() {
  ++counters_.conflicts;
  Error error = set_address(false);
  if (error == Error::none) error = chip_.clear_interrupts(IR{IR::CONFLICT}).error();
  if (error == Error::none) error = transmit(Message::decline);
  lease_ = DhcpLease();
  start_anew_in(wait_after_decline_ms);
  return error;
}

Error DhcpClient::open() {
  const Error error = socket_.open(client_port).error();
  listening_ = error == Error::none;
  return error;
}

Error DhcpClient::make_ready() {
  if (listening_) {
    const Error error = socket_.flush(chip_patience_us).error();
    if (error == Error::none || error == Error::peer_timeout) return Error::none;
  }
  return open();
}

Error DhcpClient::transmit(Message type) {
  const bool discovers = type == Message::discover;
  const bool requests = type == Message::request;
  const bool uses_address = has_address() && type != Message::decline;
  const bool names_address = !uses_address && !is_zero(lease_.ip);
  const bool names_server = !uses_address || type == Message::release;

  Endpoint to = {{255, 255, 255, 255}, server_port};
  if (type == Message::release || (requests && state_ == DhcpState::renewing)) copy_bytes(to.ip, lease_.server, 4);
  Error error = make_ready();
  if (error == Error::none) error = socket_.start_datagram(to, chip_patience_us).error();
  if (error != Error::none) return error;

  Writer out(socket_);
  const uint8_t head[4] = {boot_request, ethernet, sizeof mac_, 0};
  out.put(head, sizeof head);
  out.put32(xid_);
  out.put16(static_cast<uint16_t>(smaller(began_s_, uint32_t{0xFFFF})));
  // Without an address the chip may not take what is sent to one (RFC 2131 4.1).
  out.put16((discovers || requests) && !uses_address ? broadcast_flag : uint16_t{0});
  if (uses_address) out.put(lease_.ip, 4);
  out.zeros_up_to(chaddr_at);
  out.put(mac_, sizeof mac_);
  out.zeros_up_to(header_bytes - sizeof cookie);
  out.put32(cookie);

  const uint8_t type_byte = static_cast<uint8_t>(type);
  out.option(code::type, &type_byte, 1);
  out.put(code::client_identifier);
  out.put(1 + sizeof mac_);
  out.put(ethernet);
  out.put(mac_, sizeof mac_);
  if (names_address) out.option(code::requested_ip, lease_.ip, 4);
  if (names_server && !is_zero(lease_.server)) out.option(code::server_identifier, lease_.server, 4);
  if (discovers || requests) {
    const uint8_t wanted[] = {code::subnet_mask, code::router,  code::dns_server,
                              code::lease,       code::renewal, code::rebinding};
    out.option(code::parameter_list, wanted, sizeof wanted);
    uint8_t size[2];
    store16(size, max_message_bytes);
    out.option(code::max_size, size, sizeof size);
    uint8_t length = 0;
    while (options_.host_name != nullptr && length < max_host_name && options_.host_name[length] != '\0') ++length;
    if (length > 0) out.option(code::host_name, reinterpret_cast<const uint8_t*>(options_.host_name), length);
  }
  out.put(code::end);
  out.zeros_up_to(min_message_bytes);
  error = out.finish();
  if (error != Error::none) return error;
  ++counters_.sent;
  if (requests) asked_s_ = 0;
  return Error::none;
}

Error DhcpClient::set_address(bool leased) {
  Network network = {};
  copy_bytes(network.mac, mac_, sizeof mac_);
  if (leased) {
    copy_bytes(network.ip, lease_.ip, 4);
    copy_bytes(network.subnet, lease_.subnet, 4);
    copy_bytes(network.gateway, lease_.router, 4);
  }
  return chip_.set_network(network).error();
}

}  // namespace w5500
