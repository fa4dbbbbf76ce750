// The kind of board that is boards/agent/arduino on the Arduino shim. The sketch is the library that
// wizloop-driver-test runs as well (interop.arduino_agent): it is loaded for each board anew, so that it starts with
// fresh statics as after a reset. Its calls of the C ABI find the one that is linked into this program, behind which
// the tests have the testbed.
#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "drivers/shims/arduino/wizloop_arduino.h"
#include "sim/capi/bed.hpp"
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

class SketchBoard final : public board::TalkingBoard {
 public:
  explicit SketchBoard(board::BoardSetup setup) {
    auto created = testbed::Testbed::create(std::move(setup.testbed));
    WIZ_ASSERT(created);
    auto bed = std::make_unique<capi::Bed>(nullptr, std::move(created).value(), "agent.ino", capi::BedLimits{});
    testbed_ = &bed->testbed();
    handle_ = capi::handle_for(std::move(bed));
    // One at a time: a second one would get the statics of the first.
    WIZ_ASSERT(dlopen(WIZLOOP_SKETCH, RTLD_NOW | RTLD_NOLOAD) == nullptr);
    sketch_ = dlopen(WIZLOOP_SKETCH, RTLD_NOW | RTLD_LOCAL);
    if (sketch_ == nullptr) throw std::runtime_error{dlerror()};
    function<decltype(wizloop_arduino_on_serial)>("wizloop_arduino_on_serial")(take, this);
    type_ = function<decltype(wizloop_arduino_type)>("wizloop_arduino_type");
    once_ = function<decltype(wizloop_arduino_once)>("wizloop_arduino_once");
  }
  SketchBoard(const SketchBoard&) = delete;
  SketchBoard& operator=(const SketchBoard&) = delete;
  ~SketchBoard() override {
    dlclose(sketch_);
    wizloop_destroy(handle_);
  }

  testbed::Testbed& testbed() override { return *testbed_; }
  void boot() override { EXPECT_EQ(function<decltype(wizloop_arduino_begin)>("wizloop_arduino_begin")(handle_), 0); }
  void type(std::string_view text) override { type_(std::string{text}.c_str()); }
  void run_once(Duration) override { EXPECT_EQ(once_(), 0); }

 private:
  template <typename Function>
  Function* function(const char* name) {
    void* const found = dlsym(sketch_, name);
    if (found == nullptr) throw std::runtime_error{dlerror()};
    return reinterpret_cast<Function*>(found);
  }
  static void take(void* board, std::uint8_t byte) { static_cast<SketchBoard*>(board)->on_output(Bytes{&byte, 1}); }

  testbed::Testbed* testbed_;
  wizloop_t* handle_;
  void* sketch_;
  decltype(wizloop_arduino_type)* type_;
  decltype(wizloop_arduino_once)* once_;
};

std::unique_ptr<board::TalkingBoard> make(board::BoardSetup setup) {
  return std::make_unique<SketchBoard>(std::move(setup));
}

}  // namespace

const BoardKind kind{.has_dma = false, .mac = "020000000014", .gateway = "192.168.1.1", .make = make};

}  // namespace wizloop::test
