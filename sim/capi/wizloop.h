/* wizloop in C: a W5500 on a board of your choice, a cable and a PC, for firmware that runs on this computer under a
 * virtual clock. C89 with <stdint.h>; everything is prefixed wizloop_ or WIZLOOP_.
 *
 *   wizloop_config config = WIZLOOP_CONFIG_INIT;
 *   wizloop_t *bed;
 *   config.board = "boards/w55rp20.toml";
 *   bed = wizloop_create(&config);
 *   if (bed == NULL) { puts(wizloop_error()); return 1; }
 *   wizloop_scsn(bed, 0); wizloop_spi_transfer(bed, header, NULL, 3); ... wizloop_scsn(bed, 1);
 *   return wizloop_destroy(bed) == WIZLOOP_OK && ... ? 0 : 1;
 *
 * sim/capi/example.c is a complete program; sim/capi/README.md says how to build a driver against it.
 *
 * Time. Firmware is the foreground: each call below that stands for something firmware does (a byte, an edge of SCSn, a
 * delay) moves virtual time by what the board file says that it costs, and whatever falls due meanwhile happens. Between
 * two calls no time passes. Nothing here sleeps.
 *
 * Errors. Functions that return int give WIZLOOP_OK (0) or a value, and on failure one of the negative codes below;
 * wizloop_error() then says in one sentence what was wrong, for the calling thread. A bad handle (NULL, destroyed) is an
 * error like any other. What firmware does wrong on the pins is not an error but a finding.
 *
 * Threads. Any thread may call; calls on one handle take turns. Callbacks run on the thread whose call caused them, when
 * that call is done with the chip, and may call back in (not wizloop_destroy). INTn is delivered when SCSn is high only:
 * at the end of a frame, and inside wizloop_advance_ns(), wizloop_spend_ns(), wizloop_wait_intn() and
 * wizloop_deliver(), at the instant at which it falls or rises.
 *
 * Callbacks return: no exception and no longjmp() may leave one.
 *
 * Names. The library calls no function of the C library that a driver is likely to define for itself (socket, close,
 * send, select ...), so that it may stand beside such a driver. */
#ifndef WIZLOOP_H
#define WIZLOOP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WIZLOOP_API __attribute__((visibility("default")))
#else
#define WIZLOOP_API
#endif

/* The version of this header. A library of the same version, or of a later one, accepts it. */
#define WIZLOOP_ABI 1

/* Codes. */
#define WIZLOOP_OK 0
#define WIZLOOP_E_HANDLE (-1)   /* NULL, or destroyed already */
#define WIZLOOP_E_ARGUMENT (-2) /* a NULL pointer, a value out of range, an unknown name */
#define WIZLOOP_E_STATE (-3)    /* not now: a DMA transfer is under way, a callback is running, there is no PC */
#define WIZLOOP_E_HANG (-4)     /* the guard has ended firmware that waits for ever */
#define WIZLOOP_E_MACHINE (-5)  /* no lwIP, a full disk */
#define WIZLOOP_E_PRICE (-6)    /* the board file prices no DMA */

/* One chip with everything around it. Several may live in one process, each with a time of its own. */
typedef struct wizloop_testbed wizloop_t;

/* A station of your own at the far end of the cable, in place of the simulated PC. `transmit` gets each frame that the
 * chip sends, without its FCS, when its last bit arrives; `start_ps` is when its first bit went out. */
typedef struct wizloop_station {
  void (*transmit)(void *context, const uint8_t *frame, size_t bytes, uint64_t start_ps);
  void *context;
} wizloop_station;

/* What to do with firmware that hangs (see wizloop_run). */
#define WIZLOOP_HANG_ABORT 0  /* say so on standard error and end the process */
#define WIZLOOP_HANG_RETURN 1 /* from then on each call returns WIZLOOP_E_HANG and nothing happens any more */

typedef struct wizloop_config {
  uint32_t size;               /* sizeof(wizloop_config) */
  uint32_t abi;                /* WIZLOOP_ABI */
  const char *name;            /* for messages and captures; NULL: "wizloop" */
  const char *board;           /* a board file, or the name of one of wizloop's own; NULL: a board whose code is free */
  uint64_t seed;               /* of all chance in the run */
  const char *const *settings; /* "chip.quirk.psh=last_segment", "fault.link_loss=ppm=1000", "board.sclk_hz=8000000" */
  size_t setting_count;
  const char *pcap_file;          /* capture of the cable; NULL: none */
  const char *trace_file;         /* text, one line per event; NULL: none */
  const wizloop_station *station; /* NULL: a simulated PC, 192.168.1.10 */
  uint64_t poll_limit_ns;         /* the same registers polled for so long, without a change, are a hang; 0: 60 s */
  uint64_t run_limit_ns;          /* the whole run is one; 0: 24 hours */
  int on_hang;                    /* WIZLOOP_HANG_... */
} wizloop_config;

#define WIZLOOP_CONFIG_INIT \
  { sizeof(wizloop_config), WIZLOOP_ABI, NULL, NULL, 1, NULL, 0, NULL, NULL, NULL, 0, 0, WIZLOOP_HANG_ABORT }

/* --- life ------------------------------------------------------------------------------------------------------- */

/* WIZLOOP_ABI of the library. */
WIZLOOP_API uint32_t wizloop_abi(void);

/* What went wrong in this thread's last call that failed; valid until the next one. */
WIZLOOP_API const char *wizloop_error(void);
/* Its code; for functions that return NULL on failure. WIZLOOP_OK if none has failed yet. */
WIZLOOP_API int wizloop_error_code(void);

/* NULL on failure. The chip is powered, its cable in, its link up. `config` NULL: WIZLOOP_CONFIG_INIT. */
WIZLOOP_API wizloop_t *wizloop_create(const wizloop_config *config);

/* Closes captures and traces; WIZLOOP_E_MACHINE if one could not be written whole. */
WIZLOOP_API int wizloop_destroy(wizloop_t *bed);

/* For drivers whose callbacks carry no context: one handle for the process, made at the first call from the environment:
 * WIZLOOP_BOARD, WIZLOOP_SEED, WIZLOOP_SET (settings, separated by spaces), WIZLOOP_PCAP, WIZLOOP_TRACE. NULL on
 * failure. wizloop_set_default() puts another handle in its place, or none (NULL). */
WIZLOOP_API wizloop_t *wizloop_default(void);
WIZLOOP_API int wizloop_set_default(wizloop_t *bed);

/* Calls `firmware(context)`. Returns WIZLOOP_OK when it returns, and WIZLOOP_E_HANG if it hangs: then its stack is
 * unwound as by a C++ exception, so that its destructors run, and virtual time goes on from there. Where the exception cannot pass (a noexcept function, a
 * destructor) the process ends; what hung is on standard error by then. What counts as a hang:
 * poll_limit_ns and run_limit_ns of the configuration; wizloop_error() names the register. Without wizloop_run(), on_hang
 * of the configuration says what happens. Code that spins without calling in is beyond any guard: give the test a
 * timeout. */
WIZLOOP_API int wizloop_run(wizloop_t *bed, void (*firmware)(void *context), void *context);

/* --- pins: levels 0 and 1 --------------------------------------------------------------------------------------- */

/* Costs the board's select or deselect time. A level that it has already changes nothing and costs nothing. */
WIZLOOP_API int wizloop_scsn(wizloop_t *bed, int level);
/* What the edges of SCSn cost from the next frame on, in place of select_ns and deselect_ns of the board file: for a
 * platform that prices the calls around them by themselves. */
WIZLOOP_API int wizloop_scsn_price(wizloop_t *bed, uint64_t select_ps, uint64_t deselect_ps);
/* Costs nothing; hold it low for 500 us with wizloop_advance_ns(). */
WIZLOOP_API int wizloop_rstn(wizloop_t *bed, int level);
/* The level now. */
WIZLOOP_API int wizloop_intn(wizloop_t *bed);
/* The PMODE pins, 0 to 7; read at the next hardware reset. */
WIZLOOP_API int wizloop_pmode(wizloop_t *bed, int code);

typedef void (*wizloop_level_fn)(void *context, int level);
/* Called at each edge of INTn, the board's interrupt latency after it. NULL: nobody any more. */
WIZLOOP_API int wizloop_on_intn(wizloop_t *bed, wizloop_level_fn callback, void *context);

/* --- SPI: any split of a frame; mosi NULL sends zeros, miso NULL drops what comes; 0 bytes are allowed ------------ */

/* From the next frame on. SCLK is `hz`, or the board file's sclk_hz if that is less. Modes 1 and 2 are found fault with,
 * and read and write half a clock off. */
WIZLOOP_API int wizloop_spi_clock(wizloop_t *bed, uint32_t hz, int mode);

/* One byte by the platform's byte-wise call; returns what came, 0 to 255. */
WIZLOOP_API int wizloop_spi_byte(wizloop_t *bed, uint8_t mosi);
/* A buffer by the platform's buffer call: at the burst price where the board has one, else byte by byte. */
WIZLOOP_API int wizloop_spi_transfer(wizloop_t *bed, const uint8_t *mosi, uint8_t *miso, size_t bytes);
/* A buffer by DMA. Both buffers must stay until wizloop_dma_wait() returns 1 (over), 0 (not by then) or an error;
 * wizloop_dma_abort() ends it early. */
WIZLOOP_API int wizloop_dma_start(wizloop_t *bed, const uint8_t *mosi, uint8_t *miso, size_t bytes);
WIZLOOP_API int wizloop_dma_wait(wizloop_t *bed, uint64_t timeout_ns);
WIZLOOP_API int wizloop_dma_abort(wizloop_t *bed);

typedef struct wizloop_segment {
  const uint8_t *mosi;
  uint8_t *miso;
  size_t bytes;
} wizloop_segment;
/* SCSn low, the segments one after another, SCSn high. */
WIZLOOP_API int wizloop_spi_transaction(wizloop_t *bed, const wizloop_segment *segments, size_t count);

/* The wires as levels from now on, for a host that moves them by itself, such as an SPI master in RTL: no price, and time
 * passes by wizloop_advance_ps() alone. Modes 0 and 3; not together with the calls above. Returns the levels that the
 * chip drives: WIZLOOP_MISO (high also while deselected: a pull-up) and WIZLOOP_INTN. */
#define WIZLOOP_MISO 1
#define WIZLOOP_INTN 2
WIZLOOP_API int wizloop_spi_levels(wizloop_t *bed, int scsn, int sclk, int mosi);
/* From now on the pins that wizloop_spi_levels() moves are drawn into a waveform, a VCD; until wizloop_destroy(). */
WIZLOOP_API int wizloop_spi_wave(wizloop_t *bed, const char *file);

/* Another device on the same SCLK, MOSI and MISO is selected (1) or let go (0). */
WIZLOOP_API int wizloop_other_select(wizloop_t *bed, int selected);

/* --- registers: one frame each, variable data length; `block` is BSB[4:0], datasheet 2.2.2 ------------------------ */

WIZLOOP_API int wizloop_read(wizloop_t *bed, uint8_t block, uint16_t offset, void *data, size_t bytes);
WIZLOOP_API int wizloop_write(wizloop_t *bed, uint8_t block, uint16_t offset, const void *data, size_t bytes);
/* What a read would give, without a frame, time or side effect. */
WIZLOOP_API int wizloop_peek(wizloop_t *bed, uint8_t block, uint16_t offset, void *data, size_t bytes);

/* --- time ------------------------------------------------------------------------------------------------------- */

/* 0 for a bad handle. */
WIZLOOP_API uint64_t wizloop_now_ps(wizloop_t *bed);
WIZLOOP_API uint64_t wizloop_now_ns(wizloop_t *bed);
/* Firmware sleeps: delay(), sleep(). */
WIZLOOP_API int wizloop_advance_ns(wizloop_t *bed, uint64_t ns);
WIZLOOP_API int wizloop_advance_ps(wizloop_t *bed, uint64_t ps);
/* Firmware computes. */
WIZLOOP_API int wizloop_spend_ns(wizloop_t *bed, uint64_t ns);
/* Firmware sleeps until INTn is low (1) or the time is over (0). The interrupt latency is paid. */
WIZLOOP_API int wizloop_wait_intn(wizloop_t *bed, uint64_t timeout_ns);
/* When something will happen next, if firmware does nothing; UINT64_MAX: never. */
WIZLOOP_API uint64_t wizloop_next_event_ns(wizloop_t *bed);

typedef void (*wizloop_tick_fn)(void *context);
/* A timer interrupt each `period_ns`: called when SCSn is high, at its instant or at the next end of a frame. Several
 * periods that passed in one frame make several calls. NULL: none any more. */
WIZLOOP_API int wizloop_on_tick(wizloop_t *bed, uint64_t period_ns, wizloop_tick_fn callback, void *context);

/* A number of the board file in the unit that ends its key: "select_ns", "cpu_hz", "arduino.digital_write_ns". Returns 1
 * if the file has it, 0 if not. */
WIZLOOP_API int wizloop_price(wizloop_t *bed, const char *key, double *value);

/* --- cable and station ------------------------------------------------------------------------------------------ */

/* Pulls the cable (0) or plugs it in (1). */
WIZLOOP_API int wizloop_link(wizloop_t *bed, int plugged);
/* A frame from your own station, without FCS, 14 to 1514 bytes, padded to 60; it goes out as soon as the cable is free. */
WIZLOOP_API int wizloop_deliver(wizloop_t *bed, const uint8_t *frame, size_t bytes);

/* --- the simulated PC, 192.168.1.10/24 -------------------------------------------------------------------------- */

/* Starts a service; `options` are "key=value" words, NULL for none. Returns its number, from 0.
 *   tcp-echo, udp-echo    port=7
 *   tcp-sink, udp-sink    port=9; discards
 *   tcp-source            port=19 bytes=N: sends bytes 00 01 .. FF 00 .. to whoever connects
 *   ping                  to=IP count=1 payload=56 interval_ms=1000
 *   dhcp                  first=192.168.1.100 count=16 lease_s=3600 router=IP dns=IP ntp=IP delay_ms=0
 *                         ignored_discovers=0 ignored_requests=0 refused_requests=0: of the first so many
 *   dns                   NAME=IP ...; whatever is not listed does not exist. delay_ms=0 ignored_queries=0
 *                         failed_queries=0 truncated_queries=0
 *   ntp                   2026-01-01 at the start of the run. delay_ms=0 ignored_queries=0 refused_queries=0
 */
WIZLOOP_API int wizloop_pc_serve(wizloop_t *bed, const char *service, const char *options);
/* A counter of a service: "bytes", "packets", "connections", "mismatches", "answered", "lost", "leases", "queries" ...
 * The error names those that it has. */
WIZLOOP_API int wizloop_pc_count(wizloop_t *bed, int service, const char *counter, uint64_t *value);

/* Sockets of the PC, for tests. They never wait: let time pass, and look again. `ip` is the address as a number,
 * 0xC0A80114 for 192.168.1.20. Each returns the socket's number, from 0. */
WIZLOOP_API int wizloop_pc_tcp_connect(wizloop_t *bed, uint32_t ip, uint16_t port);
WIZLOOP_API int wizloop_pc_tcp_listen(wizloop_t *bed, uint16_t port); /* one connection */
WIZLOOP_API int wizloop_pc_udp_open(wizloop_t *bed, uint16_t port);   /* 0: any */

#define WIZLOOP_PC_WAITING 0     /* for the connection */
#define WIZLOOP_PC_CONNECTED 1   /* or an open UDP port */
#define WIZLOOP_PC_PEER_CLOSED 2 /* the board has sent its FIN; sending still works */
#define WIZLOOP_PC_CLOSED 3
#define WIZLOOP_PC_LOST 4 /* refused, reset or given up */
WIZLOOP_API int wizloop_pc_state(wizloop_t *bed, int socket);

/* How many bytes were taken or given. */
WIZLOOP_API int wizloop_pc_send(wizloop_t *bed, int socket, const void *data, size_t bytes);
WIZLOOP_API int wizloop_pc_receive(wizloop_t *bed, int socket, void *data, size_t bytes);
/* One datagram; from wizloop_pc_receive_from() 0 if none is there, or its bytes, of which what does not fit is lost. */
WIZLOOP_API int wizloop_pc_send_to(wizloop_t *bed, int socket, uint32_t ip, uint16_t port, const void *data,
                                   size_t bytes);
WIZLOOP_API int wizloop_pc_receive_from(wizloop_t *bed, int socket, uint32_t *ip, uint16_t *port, void *data,
                                        size_t bytes);
/* FIN after what was sent; UDP: shut. */
WIZLOOP_API int wizloop_pc_close(wizloop_t *bed, int socket);

/* --- what it comes to ------------------------------------------------------------------------------------------- */

typedef struct wizloop_finding {
  const char *rule;     /* "write-beyond-free"; `wizloop explain` tells all about it */
  const char *severity; /* "note", "warning", "error" */
  const char *seen;     /* "S0 Sn_TX_WR ..." */
  const char *spi;      /* MOSI of the frame in hex; "" outside of one */
  const char *state;    /* of the socket; "" if none is concerned */
  uint64_t at_ps;
  uint64_t count;
} wizloop_finding;

WIZLOOP_API int wizloop_finding_count(wizloop_t *bed);
/* Valid until the next call with this handle. */
WIZLOOP_API int wizloop_finding_get(wizloop_t *bed, int index, wizloop_finding *finding);
/* Findings that fail a test: warnings and errors that nobody announced, and with chip.preset=strict all. How many rules. */
WIZLOOP_API int wizloop_failing(wizloop_t *bed);
/* You know that the driver breaks this rule, and why that is accepted. */
WIZLOOP_API int wizloop_announce(wizloop_t *bed, const char *rule, const char *reason);
/* Why findings of that rule are accepted, as you, a setting or the board file announced; NULL: nobody did. Valid until
 * the next call with this handle. */
WIZLOOP_API const char *wizloop_announced(wizloop_t *bed, const char *rule);

/* What firmware reads again and again without finding a change, and since when, for whoever gives it up before
 * poll_limit_ns does: "S0 Sn_CR = 0x20 for 0.25 s"; "": nothing. Valid until the next call with this handle. */
WIZLOOP_API const char *wizloop_polled(wizloop_t *bed);

typedef void (*wizloop_finding_fn)(void *context, const wizloop_finding *finding);
/* Each kind of finding, once, as soon as the call that earned it is done. NULL: nobody any more. */
WIZLOOP_API int wizloop_on_finding(wizloop_t *bed, wizloop_finding_fn callback, void *context);
typedef void (*wizloop_trace_fn)(void *context, const char *line);
/* The line of text for each event, from within the model: the callback must not call in. NULL: nobody any more. */
WIZLOOP_API int wizloop_on_trace(wizloop_t *bed, wizloop_trace_fn callback, void *context);

/* "spi_bytes", "spi_frames", "frames_sent", "frames_received", "records_dropped", "fingerprint"; what went through the
 * buffers, "sends" (commands), "send_bytes" and "rx_bytes_read"; and the accounts of the time budget in ns:
 * "spi_clock_ns", "byte_gap_ns", "select_ns", "dma_setup_ns", "cpu_ns", "chip_ns", "wire_ns", "peer_ns", "idle_ns". */
WIZLOOP_API int wizloop_counter(wizloop_t *bed, const char *name, uint64_t *value);
/* Findings, budget and fingerprint as text for a person; valid until the next call with this handle. */
WIZLOOP_API const char *wizloop_report(wizloop_t *bed);

#ifdef __cplusplus
}
#endif

#endif
