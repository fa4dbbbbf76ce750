// The table of drivers/patterns/README.md, cell by cell.
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "drivers/patterns/esp_idf_macraw.hpp"
#include "drivers/patterns/mongoose_macraw.hpp"
#include "drivers/patterns/nuttx_macraw.hpp"
#include "drivers/patterns/pico_macraw.hpp"
#include "drivers/patterns/qnethernet_macraw.hpp"
#include "drivers/patterns/zephyr_macraw.hpp"
#include "tests/unit/patterns/library_fixture.hpp"
#include "tests/unit/patterns/raw_fixture.hpp"

namespace wizloop::test {
namespace {

constexpr std::size_t payload = 100;

// What a call costs, by the name of its row; sizes that hold the payload are written as the rest "+N".
class Measurement {
 public:
  explicit Measurement(RegisterFile& chip) : chip_(chip) {}

  void of(const std::string& row, std::size_t carried, const std::function<bool()>& call) {
    chip_.forget();
    EXPECT_TRUE(call()) << row;
    cells_[row] = std::to_string(chip_.frames()) + " / " + std::to_string(chip_.spi_bytes() - carried) +
                  (carried != 0 ? "+N" : "");
  }
  const std::map<std::string, std::string>& cells() const { return cells_; }

 private:
  RegisterFile& chip_;
  std::map<std::string, std::string> cells_;
};

template <typename Library>
std::map<std::string, std::string> measure() {
  RegisterFile chip;
  Measurement cost(chip);
  const auto bytes = counting(payload);
  std::vector<std::uint8_t> buffer(payload);

  {
    auto library = make(chip, static_cast<const Library*>(nullptr));
    cost.of("begin", 0, [&] { return library->begin(config_with(2)); });
    cost.of("tcp_connect", 0, [&] { return library->tcp_connect(peer, 0); });
    cost.of("tcp_connected, connection up", 0, [&] { return library->tcp_connected(); });
    cost.of("tcp_write", payload, [&] { return library->tcp_write(bytes.data(), payload) == payload; });
    cost.of("tcp_write after a tcp_write", payload,
            [&] { return library->tcp_write(bytes.data(), payload) == payload; });
    cost.of("tcp_available, nothing there", 0, [&] { return library->tcp_available() == 0; });
    chip.deliver(0, bytes);
    cost.of("tcp_available", 0, [&] { return library->tcp_available() == payload; });
    cost.of("tcp_read of all, after tcp_available", payload,
            [&] { return library->tcp_read(buffer.data(), payload) == payload; });
    cost.of("tcp_stop", 0, [&] { return library->tcp_stop(), true; });
  }
  chip.reset();
  {
    auto library = make(chip, static_cast<const Library*>(nullptr));
    EXPECT_TRUE(library->begin(config_with(2)));
    cost.of("tcp_listen", 0, [&] { return library->tcp_listen(5001); });
    cost.of("tcp_connected, nobody yet", 0, [&] { return !library->tcp_connected(); });
    chip.socket(0, 0x03) = 0x17;
    chip.deliver(0, bytes);
    cost.of("tcp_connected, a peer with data is taken", 0, [&] { return library->tcp_connected(); });
  }
  chip.reset();
  {
    auto library = make(chip, static_cast<const Library*>(nullptr));
    EXPECT_TRUE(library->begin(config_with(2)));
    cost.of("udp_open", 0, [&] { return library->udp_open(5001); });
    cost.of("udp_send", payload, [&] { return library->udp_send(peer, bytes.data(), payload); });
    cost.of("udp_parse, nothing there", 0, [&] { return library->udp_parse() == 0; });
    chip.deliver_datagram(0, {192, 168, 1, 9}, 5001, bytes);
    cost.of("udp_parse", 0, [&] { return library->udp_parse() == payload; });
    cost.of("udp_read of all", payload, [&] { return library->udp_read(buffer.data(), payload) == payload; });
  }
  return cost.cells();
}

template <typename Driver>
std::map<std::string, std::string> measure_raw() {
  RegisterFile chip;
  FrameLog stack;
  Measurement cost(chip);
  RawRig<Driver> rig(chip);
  chip.stick(0x00, 0x2E, 0xBF);
  cost.of("begin", 0, [&] { return rig.driver.begin(raw_mac); });
  rig.settle(stack);
  cost.of("run, nothing there", 0, [&] { return rig.driver.run(stack) > 0; });
  rig.deliver(raw_record(payload));
  cost.of("run, one frame", payload, [&] { return rig.driver.run(stack) > 0 && stack.frames.size() == 1; });
  cost.of("send_frame", payload, [&] { return rig.driver.send_frame(raw_frame(payload).data(), payload); });
  return cost.cells();
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '|');) {
    const auto first = cell.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    cells.push_back(cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

// One column of the README's table: row to cell.
std::map<std::string, std::string> documented(const std::string& library) {
  std::map<std::string, std::string> cells;
  std::size_t column = 0;
  std::ifstream readme(PATTERNS_README);
  for (std::string line; std::getline(readme, line);) {
    const auto row = split(line);
    if (!row.empty() && row[0] == "call") {
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] == library) column = i;
      }
    } else if (column != 0 && line.empty()) {
      break;
    } else if (column != 0 && line.rfind("|---", 0) != 0) {
      cells[row.at(0)] = row.at(column);
    }
  }
  return cells;
}

TEST(FrameCountTest, Ethernet2CostsWhatTheReadmeSays) {
  EXPECT_EQ(measure<patterns::Ethernet2>(), documented("Ethernet2"));
}

TEST(FrameCountTest, Ethernet3CostsWhatTheReadmeSays) {
  EXPECT_EQ(measure<patterns::Ethernet3>(), documented("Ethernet3"));
}

TEST(FrameCountTest, PjrcEthernetCostsWhatTheReadmeSays) {
  EXPECT_EQ(measure<patterns::PjrcEthernet>(), documented("PjrcEthernet"));
}

TEST(FrameCountTest, IoLibraryCostsWhatTheReadmeSays) {
  EXPECT_EQ(measure<patterns::IoLibrary>(), documented("IoLibrary"));
}

TEST(FrameCountTest, PicoMacrawCostsWhatTheReadmeSays) {
  EXPECT_EQ(measure_raw<patterns::PicoMacraw>(), documented("PicoMacraw"));
}

TEST(FrameCountTest, EspIdfMacrawCostsWhatTheReadmeSays) {
  EXPECT_EQ(measure_raw<patterns::EspIdfMacraw>(), documented("EspIdfMacraw"));
}

TEST(FrameCountTest, NuttxMacrawCostsWhatTheReadmeSays) {
  EXPECT_EQ(measure_raw<patterns::NuttxMacraw>(), documented("NuttxMacraw"));
}

TEST(FrameCountTest, QnEthernetMacrawCostsWhatTheReadmeSays) {
  EXPECT_EQ(measure_raw<patterns::QnEthernetMacraw>(), documented("QnEthernetMacraw"));
}

TEST(FrameCountTest, ZephyrMacrawCostsWhatTheReadmeSays) {
  EXPECT_EQ(measure_raw<patterns::ZephyrMacraw>(), documented("ZephyrMacraw"));
}

TEST(FrameCountTest, MongooseMacrawCostsWhatTheReadmeSays) {
  EXPECT_EQ(measure_raw<patterns::MongooseMacraw>(), documented("MongooseMacraw"));
}

}  // namespace
}  // namespace wizloop::test
