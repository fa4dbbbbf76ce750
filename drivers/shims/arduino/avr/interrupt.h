// The two instructions that libraries use it for.
#ifndef WIZLOOP_AVR_INTERRUPT_H
#define WIZLOOP_AVR_INTERRUPT_H

#include "../Arduino.h"

#define sei() interrupts()
#define cli() noInterrupts()

#endif
