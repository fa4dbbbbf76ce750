#include "wizloop_iolibrary.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>

#include "wizchip_conf.h"

/* Where the driver has them. */
__attribute__((weak)) void DHCP_time_handler(void);
__attribute__((weak)) void DNS_time_handler(void);

#define SECOND_NS 1000000000u
#define SPIN_US 250000 /* of CPU time, without a call: firmware waits for its timer */

static wizloop_t *board;
static struct sigaction action_before;
static volatile uint64_t time_seen;         /* ps, at the last look */
static volatile sig_atomic_t seconds_owed;  /* given to firmware that spins, not yet passed on the clock */
static volatile sig_atomic_t ticks_ignored; /* that the clock gives for those */

static void second(void) {
  if (DHCP_time_handler != NULL) DHCP_time_handler();
  if (DNS_time_handler != NULL) DNS_time_handler();
}

static void on_tick(void *context) {
  (void)context;
  if (ticks_ignored > 0) {
    --ticks_ignored;
    return;
  }
  second();
}

static void on_cpu_time(int number) {
  const uint64_t now = wizloop_now_ps(board);
  (void)number;
  if (now == time_seen) {
    ++seconds_owed;
    second();
  }
  time_seen = now;
}

static void select_chip(void) {
  while (seconds_owed > 0) {
    --seconds_owed;
    ++ticks_ignored;
    wizloop_advance_ns(board, SECOND_NS);
  }
  wizloop_scsn(board, 0);
}

static void deselect_chip(void) { wizloop_scsn(board, 1); }

static uint8_t read_byte(void) { return (uint8_t)wizloop_spi_byte(board, 0); }
static void write_byte(uint8_t byte) { wizloop_spi_byte(board, byte); }
static void read_burst(uint8_t *data, uint16_t bytes) { wizloop_spi_transfer(board, NULL, data, bytes); }
static void write_burst(uint8_t *data, uint16_t bytes) { wizloop_spi_transfer(board, data, NULL, bytes); }

static void nothing(void) {}

int wizloop_iolibrary_attach(wizloop_t *bed, int access) {
  struct sigaction action;
  struct itimerval period;

  if (bed == NULL) return WIZLOOP_E_HANDLE;
  if (access != WIZLOOP_IOLIBRARY_BYTE && access != WIZLOOP_IOLIBRARY_BURST) return WIZLOOP_E_ARGUMENT;
  wizloop_iolibrary_detach();
  board = bed;
  reg_wizchip_cris_cbfunc(nothing, nothing);
  reg_wizchip_cs_cbfunc(select_chip, deselect_chip);
  reg_wizchip_spi_cbfunc(read_byte, write_byte);
  if (access == WIZLOOP_IOLIBRARY_BURST) reg_wizchip_spiburst_cbfunc(read_burst, write_burst);
  if (DHCP_time_handler == NULL && DNS_time_handler == NULL) return WIZLOOP_OK;

  seconds_owed = ticks_ignored = 0;
  time_seen = 0;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_cpu_time;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, &action_before);
  memset(&period, 0, sizeof period);
  period.it_interval.tv_usec = period.it_value.tv_usec = SPIN_US;
  setitimer(ITIMER_PROF, &period, NULL);
  return wizloop_on_tick(bed, SECOND_NS, on_tick, NULL);
}

void wizloop_iolibrary_detach(void) {
  struct itimerval none;

  if (board == NULL) return;
  memset(&none, 0, sizeof none);
  if (DHCP_time_handler != NULL || DNS_time_handler != NULL) {
    setitimer(ITIMER_PROF, &none, NULL);
    sigaction(SIGPROF, &action_before, NULL);
    wizloop_on_tick(board, 0, NULL, NULL);
  }
  board = NULL;
}
