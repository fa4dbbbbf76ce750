/* The Arduino shim as a test sees it. A sketch alone needs nothing of this: wizloop_add_driver_test(SHIM arduino ...)
 * runs its setup() and loop(). A test that wants to do more defines driver_test() itself:
 *
 *   int driver_test(wizloop_t *bed) {
 *     wizloop_arduino_type("reset\n");            // arrives at Serial
 *     return wizloop_arduino_run(bed);            // setup(), loop(), and what EXPECT wants
 *   }
 *
 *   int driver_test(wizloop_t *bed) {             // no sketch: straight to a library
 *     wizloop_arduino_attach(bed, 10, 9, 2);      // SCSn, RSTn, INTn
 *     ... Ethernet.init(10); Ethernet.begin(mac, ip); ...
 *   } */
#ifndef WIZLOOP_ARDUINO_H
#define WIZLOOP_ARDUINO_H

#include "driver_test.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WIZLOOP_ARDUINO_NO_PIN (-1)

/* From the arguments of wizloop_add_driver_test(). */
typedef struct wizloop_arduino_config {
  int scsn_pin, rstn_pin, intn_pin; /* PINS "scsn=10 rstn=9 intn=2" */
  int other_pin;                    /* SCSn of another device on the bus; its bytes cost time and go nowhere */
  uint64_t run_ms;                  /* RUN_MS */
  const char *stop;                 /* STOP: a line of Serial that ends the sketch; NULL: RUN_MS does */
  const char *const *expect;        /* EXPECT: each must be found in what Serial has printed; NULL ends the list */
  const char *input;                /* INPUT: waits at Serial */
} wizloop_arduino_config;
extern const wizloop_arduino_config wizloop_arduino_configuration;

/* Wires a chip to pins. The first one is the board's: its file prices the calls. Further ones share its SPI, and their
 * time is kept level with it. 0, or a code of wizloop.h. */
int wizloop_arduino_attach(wizloop_t *bed, int scsn_pin, int rstn_pin, int intn_pin);
/* Another device's SCSn. */
void wizloop_arduino_other_device(int scsn_pin);
/* Lets go of all chips and forgets pins, handlers and Serial. */
void wizloop_arduino_detach(void);

/* Attaches by the configuration, runs setup(), then loop() again and again, until a line of Serial matches STOP, the
 * sketch calls wizloop_arduino_end(), or RUN_MS of virtual time are over. 0 if it ended as it should, and
 * printed what EXPECT wants. */
int wizloop_arduino_run(wizloop_t *bed);
/* For a test that stays in charge between the calls of the sketch: attaches by the configuration and calls setup(); then
 * loop() once each time. INPUT, STOP, EXPECT and RUN_MS are not looked at. 0, or what wizloop_arduino_end() was given. */
int wizloop_arduino_begin(wizloop_t *bed);
int wizloop_arduino_once(void);
/* Ends the sketch at once, with 0 for passed. Does not return. */
void wizloop_arduino_end(int result);

/* Everything that Serial has printed. */
const char *wizloop_arduino_serial(void);
/* Called with each byte that Serial sends, in place of standard output; it must not call in. NULL: standard output. */
typedef void (*wizloop_arduino_serial_fn)(void *context, uint8_t byte);
void wizloop_arduino_on_serial(wizloop_arduino_serial_fn callback, void *context);
/* Text that arrives at Serial. */
void wizloop_arduino_type(const char *text);
/* The level of an input, and the value of an analog one, from outside. */
void wizloop_arduino_drive(int pin, int level);
void wizloop_arduino_analog(int pin, int value);

#ifdef __cplusplus
}
#endif

#endif
