#include "sim/testbed/testbed.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/core/nearest.hpp"

namespace wizloop::testbed {
namespace {

constexpr std::string_view board_prefix = "board.";
constexpr std::string_view chip_prefix = "chip.";
constexpr std::string_view fault_prefix = "fault.";
constexpr std::string_view chip_fault_prefix = "fault.chip_";
constexpr std::string_view link_prefix = "link.";
constexpr std::string_view finding_prefix = "finding.";
constexpr std::string_view suppress_prefix = "suppress.";

Result<std::monostate> set_link_option(wire::LinkAbilities& partner, std::string_view name, std::string_view value) {
  if (name != "link.partner") return Error{fmt::format("unknown setting \"{}\", expected link.partner", name)};
  const auto abilities = wire::link_abilities_of(value);
  if (!abilities) return Error{fmt::format("{} is {}", name, abilities.error().message)};
  partner = abilities.value();
  return std::monostate{};
}

Result<std::monostate> accept_finding(TestbedSetup& setup, std::string_view name, std::string_view reason,
                                      Origin origin) {
  const std::string_view prefix = setting_prefix(name);
  const std::string_view id = name.substr(prefix.size());
  const auto rule = rule_of(id);
  if (!rule) {
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < rule_count; ++i) known.push_back(text_of(static_cast<Rule>(i)).id);
    return Error{fmt::format("unknown finding {}; the nearest is {}{}", name, prefix, nearest(id, known))};
  }
  if (reason.find_first_not_of(" \t") == std::string_view::npos) {
    return Error{fmt::format("{} is empty, expected the reason why the finding is accepted", name)};
  }
  setup.announced.push_back({*rule, std::string{reason}, origin, prefix == suppress_prefix});
  return std::monostate{};
}

}  // namespace

std::string_view setting_prefix(std::string_view name) {
  for (const std::string_view prefix :
       {board_prefix, chip_prefix, fault_prefix, link_prefix, finding_prefix, suppress_prefix}) {
    if (name.starts_with(prefix)) return prefix;
  }
  return {};
}

bool is_chip_setting(std::string_view name) {
  return name.starts_with(chip_prefix) || name.starts_with(chip_fault_prefix) || name.starts_with(link_prefix);
}

namespace {

Result<std::monostate> apply(TestbedSetup& setup, std::string_view name, std::string_view value, Origin origin) {
  const std::string_view prefix = setting_prefix(name);
  if (prefix == board_prefix) return bus::apply_override(setup.board, name.substr(prefix.size()), value);
  if (prefix == chip_prefix) return chip::set_chip_option(setup.chip, name, value);
  if (prefix == fault_prefix) return setup.faults.add(name.substr(prefix.size()), value);
  if (prefix == link_prefix) return set_link_option(setup.link_partner, name, value);
  if (prefix == finding_prefix || prefix == suppress_prefix) return accept_finding(setup, name, value, origin);
  return Error{
      fmt::format("unknown setting \"{}\", expected board.KEY, chip.OPTION, fault.NAME, link.partner, "
                  "finding.ID or suppress.ID",
                  name)};
}

}  // namespace

Result<std::monostate> apply_setting(TestbedSetup& setup, std::string_view name, std::string_view value,
                                     Origin origin) {
  auto applied = apply(setup, name, value, origin);
  if (applied && is_chip_setting(name)) setup.chip_settings.emplace_back(name, value);
  return applied;
}

Testbed::Testbed(TestbedSetup setup)
    : setup_{std::move(setup)},
      queue_{setup_.queue != nullptr ? *setup_.queue : own_queue_.emplace()},
      random_{setup_.seed} {}

Testbed::~Testbed() {
  if (setup_.switch_port != nullptr) setup_.switch_port->unplug();
}

Result<std::unique_ptr<Testbed>> Testbed::create(TestbedSetup setup) {
  std::unique_ptr<Testbed> bed{new Testbed{std::move(setup)}};
  if (const auto error = bed->build()) return *error;
  return bed;
}

std::optional<Error> Testbed::build() {
  for (const auto* announced : {&setup_.board.announced, &setup_.announced}) {
    for (const Announcement& announcement : *announced) findings_.announce(announcement);
  }
  if (const auto error = open_files()) return error;
  faults_.emplace(setup_.faults, queue_, random_, trace_);
  build_cable_and_chip();
  if (const auto error = start_transcript()) return error;
  if (const auto error = build_far_end()) return error;
  link_->observe(fingerprint_observer_);
  if (pcap_) {
    capture_.emplace(*pcap_);
    link_->observe(*capture_);
  }
  build_bus();
  return std::nullopt;
}

std::optional<Error> Testbed::open_files() {
  if (setup_.trace_file) {
    auto text = TextTrace::open(*setup_.trace_file);
    if (!text) return text.error();
    text_trace_ = std::move(text).value();
    if (setup_.write_through) text_trace_->write_through();
    trace_.add(*text_trace_);
  }
  if (setup_.pcap_file) {
    auto pcap = wire::PcapngWriter::open(*setup_.pcap_file, "cable", setup_.note);
    if (!pcap) return pcap.error();
    pcap_ = std::move(pcap).value();
    pcap_->write_through(setup_.write_through);
    if (setup_.in_real_time) pcap_->never_wait();
  }
  if (setup_.wave) {
    auto wave = setup_.wave->open(setup_.wave->file, bus::PinWave::signals, setup_.note);
    if (!wave) return wave.error();
    wave_file_ = std::move(wave).value();
  }
  return std::nullopt;
}

void Testbed::build_cable_and_chip() {
  link_.emplace(queue_, random_, net::LinkProfile{});
  if (net::LinkFaults::wanted(*faults_)) {
    link_->on_change([this](bool up) { chip_->plug(up); });
    link_->inject(*faults_, frames_);
  }
  if (net::FaultyPeer::wanted(*faults_)) {
    faulty_peer_.emplace(queue_, frames_, *faults_, net::FaultyPeer::Target{board_mac, board_ip});
    link_->filter_host(*faulty_peer_);
  }
  chip_.emplace(queue_, frames_, trace_, findings_, random_, setup_.chip);
  if (setup_.front) {
    front_ = setup_.front(queue_, chip_->behind_front());
    chip_->set_front(*front_);
  }
  link_->attach(net::End::board, *chip_);
  chip_->connect(link_->transmitter(net::End::board));
  chip_->on_link_up([this](const wire::LinkModes& modes) { link_->set_modes(modes); });
  chip_->set_link_partner(setup_.link_partner);
  chip_->plug_in_settled();
  chip_->inject(*faults_);
}

std::optional<Error> Testbed::start_transcript() {
  if (!setup_.transcript_file) return std::nullopt;
  if (faults_->point(Fault::chip_brown_out) != nullptr) {
    return Error{"a run with fault.chip_brown_out has no transcript: the supply is no part of one"};
  }
  auto writer = TranscriptWriter::open(
      *setup_.transcript_file,
      {.board = setup_.board.name, .seed = setup_.seed, .settings = setup_.chip_settings, .note = setup_.note});
  if (!writer) return writer.error();
  recorder_.emplace(queue_, *chip_, std::move(writer).value());
  chip_->add_witness(*recorder_);
  link_->attach(net::End::board, *recorder_);
  return std::nullopt;
}

std::optional<Error> Testbed::build_far_end() {
  if (setup_.switch_port != nullptr) {
    setup_.switch_port->plug_into(*link_, net::End::host);
    return std::nullopt;
  }
  if (setup_.station != nullptr) {
    link_->attach(net::End::host, *setup_.station);
    return std::nullopt;
  }
  auto pc = net::LwipHost::create(queue_, frames_,
                                  {.mac = pc_mac, .ip = pc_ip, .profile = setup_.board.peer, .seed = setup_.seed});
  if (!pc) return pc.error();
  pc_ = std::move(pc).value();
  pc_->plug_into(*link_, net::End::host);
  return std::nullopt;
}

void Testbed::build_bus() {
  chip::SpiTarget& pins = recorder_ ? static_cast<chip::SpiTarget&>(*recorder_) : chip_->spi();
  // Whoever writes down bytes takes whole ones, so in front of it the wires break theirs without the pins.
  chip::SpiPins* edges = recorder_ ? nullptr : front_.get();
  if (wave_file_) probe_.emplace(queue_, *chip_, pins, std::move(wave_file_), setup_.wave->window, edges);
  chip::SpiTarget& drawn = probe_ ? static_cast<chip::SpiTarget&>(*probe_) : pins;
  if (probe_) edges = &*probe_;
  if (bus::FaultySpi::wanted(*faults_)) faulty_spi_.emplace(*chip_, drawn, *faults_, edges);
  chip::SpiTarget& target = faulty_spi_ ? *faulty_spi_ : drawn;
  pins_ = &target;
  bus_.emplace(queue_, budget_, target, setup_.board, findings_, static_cast<const bus::AwaitedSource&>(*this));
  if (front_) bus_->on_timing(*front_);
  if (front_ && !faulty_spi_) bus_->heed_limits(*front_);
  if (probe_) probe_->follow(*bus_);
  if (probe_ && setup_.wave->interrupted != nullptr) probe_->heed(*setup_.wave->interrupted);
  bus_->inject(*faults_);
  if (faulty_spi_) faulty_spi_->on_other_device([this](bool selected) { bus_->other_select(selected); });
  if (!setup_.faults.empty()) bus_->end_run_at(queue_.now() + longest_run_with_faults);
  if (bus::FaultyIntn::wanted(*faults_)) faulty_intn_.emplace(queue_, *chip_, *faults_);
}

Account Testbed::awaited() const {
  if (link_->busy(queue_.now())) return Account::wire;
  return chip_->busy() ? Account::chip : Account::peer;
}

std::optional<Error> Testbed::finish_files() {
  std::optional<Error> first;
  const auto note = [&](std::optional<Error> error) {
    if (!first) first = std::move(error);
  };
  if (pcap_) note(pcap_->close());
  if (recorder_) note(recorder_->close());
  if (probe_) note(probe_->close());
  if (text_trace_) note(text_trace_->close());
  if (front_) note(front_->close());
  return first;
}

}  // namespace wizloop::testbed
