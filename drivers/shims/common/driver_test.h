/* What a test of a driver defines, once: everything between power-up and the verdict. wizloop-driver-test calls it with
 * the chip powered, the services of the PC running, and the guard over endless polls set.
 *
 *   int driver_test(wizloop_t *bed) { return my_driver_init() == 0 && my_driver_ping() == 0 ? 0 : 1; }
 *
 * 0: passed. Anything else: failed. Findings that nobody announced fail the test as well. */
#ifndef WIZLOOP_DRIVER_TEST_H
#define WIZLOOP_DRIVER_TEST_H

#include "wizloop.h"

#ifdef __cplusplus
extern "C" {
#endif

WIZLOOP_API int driver_test(wizloop_t *bed);

#ifdef __cplusplus
}
#endif

#endif
