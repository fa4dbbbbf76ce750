// INTn as an interrupt controller sees it, for drivers that differ in what they take for an interrupt: the low level,
// or the moment of falling. w5500::Port::wait_for_interrupt() knows the level only.
#ifndef WIZLOOP_PATTERNS_INTERRUPT_LINE_HPP
#define WIZLOOP_PATTERNS_INTERRUPT_LINE_HPP

namespace patterns {

class InterruptLine {
 public:
  virtual bool low() = 0;
  // Whether it has fallen since the last call, however often.
  virtual bool take_fall() = 0;

 protected:
  ~InterruptLine() = default;
};

}  // namespace patterns

#endif
