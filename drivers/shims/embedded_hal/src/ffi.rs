//! `sim/capi/wizloop.h`, by hand: as much of it as this crate calls. `tests/c_header.rs` holds it to the header.
#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

pub const WIZLOOP_ABI: u32 = 1;

pub const WIZLOOP_OK: c_int = 0;
pub const WIZLOOP_E_HANDLE: c_int = -1;
pub const WIZLOOP_E_ARGUMENT: c_int = -2;
pub const WIZLOOP_E_STATE: c_int = -3;
pub const WIZLOOP_E_HANG: c_int = -4;
pub const WIZLOOP_E_MACHINE: c_int = -5;
pub const WIZLOOP_E_PRICE: c_int = -6;

pub const WIZLOOP_HANG_RETURN: c_int = 1;

pub const WIZLOOP_PC_WAITING: c_int = 0;
pub const WIZLOOP_PC_CONNECTED: c_int = 1;
pub const WIZLOOP_PC_PEER_CLOSED: c_int = 2;
pub const WIZLOOP_PC_CLOSED: c_int = 3;
pub const WIZLOOP_PC_LOST: c_int = 4;

#[repr(C)]
pub struct wizloop_t {
    opaque: [u8; 0],
}

#[repr(C)]
pub struct wizloop_station {
    pub transmit: Option<extern "C" fn(context: *mut c_void, frame: *const u8, bytes: usize, start_ps: u64)>,
    pub context: *mut c_void,
}

#[repr(C)]
pub struct wizloop_config {
    pub size: u32,
    pub abi: u32,
    pub name: *const c_char,
    pub board: *const c_char,
    pub seed: u64,
    pub settings: *const *const c_char,
    pub setting_count: usize,
    pub pcap_file: *const c_char,
    pub trace_file: *const c_char,
    pub station: *const wizloop_station,
    pub poll_limit_ns: u64,
    pub run_limit_ns: u64,
    pub on_hang: c_int,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct wizloop_segment {
    pub mosi: *const u8,
    pub miso: *mut u8,
    pub bytes: usize,
}

#[repr(C)]
pub struct wizloop_finding {
    pub rule: *const c_char,
    pub severity: *const c_char,
    pub seen: *const c_char,
    pub spi: *const c_char,
    pub state: *const c_char,
    pub at_ps: u64,
    pub count: u64,
}

pub type wizloop_level_fn = Option<extern "C" fn(context: *mut c_void, level: c_int)>;

extern "C" {
    pub fn wizloop_error() -> *const c_char;
    pub fn wizloop_create(config: *const wizloop_config) -> *mut wizloop_t;
    pub fn wizloop_destroy(bed: *mut wizloop_t) -> c_int;

    pub fn wizloop_scsn(bed: *mut wizloop_t, level: c_int) -> c_int;
    pub fn wizloop_rstn(bed: *mut wizloop_t, level: c_int) -> c_int;
    pub fn wizloop_intn(bed: *mut wizloop_t) -> c_int;
    pub fn wizloop_pmode(bed: *mut wizloop_t, code: c_int) -> c_int;
    pub fn wizloop_on_intn(bed: *mut wizloop_t, callback: wizloop_level_fn, context: *mut c_void) -> c_int;

    pub fn wizloop_spi_clock(bed: *mut wizloop_t, hz: u32, mode: c_int) -> c_int;
    pub fn wizloop_spi_byte(bed: *mut wizloop_t, mosi: u8) -> c_int;
    pub fn wizloop_spi_transfer(bed: *mut wizloop_t, mosi: *const u8, miso: *mut u8, bytes: usize) -> c_int;
    pub fn wizloop_dma_start(bed: *mut wizloop_t, mosi: *const u8, miso: *mut u8, bytes: usize) -> c_int;
    pub fn wizloop_dma_wait(bed: *mut wizloop_t, timeout_ns: u64) -> c_int;
    pub fn wizloop_dma_abort(bed: *mut wizloop_t) -> c_int;
    pub fn wizloop_spi_transaction(bed: *mut wizloop_t, segments: *const wizloop_segment, count: usize) -> c_int;

    pub fn wizloop_peek(bed: *mut wizloop_t, block: u8, offset: u16, data: *mut c_void, bytes: usize) -> c_int;

    pub fn wizloop_now_ps(bed: *mut wizloop_t) -> u64;
    pub fn wizloop_advance_ns(bed: *mut wizloop_t, ns: u64) -> c_int;
    pub fn wizloop_spend_ns(bed: *mut wizloop_t, ns: u64) -> c_int;
    pub fn wizloop_wait_intn(bed: *mut wizloop_t, timeout_ns: u64) -> c_int;
    pub fn wizloop_next_event_ns(bed: *mut wizloop_t) -> u64;
    pub fn wizloop_price(bed: *mut wizloop_t, key: *const c_char, value: *mut f64) -> c_int;

    pub fn wizloop_link(bed: *mut wizloop_t, plugged: c_int) -> c_int;
    pub fn wizloop_deliver(bed: *mut wizloop_t, frame: *const u8, bytes: usize) -> c_int;

    pub fn wizloop_pc_serve(bed: *mut wizloop_t, service: *const c_char, options: *const c_char) -> c_int;
    pub fn wizloop_pc_count(bed: *mut wizloop_t, service: c_int, counter: *const c_char, value: *mut u64) -> c_int;
    pub fn wizloop_pc_tcp_connect(bed: *mut wizloop_t, ip: u32, port: u16) -> c_int;
    pub fn wizloop_pc_tcp_listen(bed: *mut wizloop_t, port: u16) -> c_int;
    pub fn wizloop_pc_udp_open(bed: *mut wizloop_t, port: u16) -> c_int;
    pub fn wizloop_pc_state(bed: *mut wizloop_t, socket: c_int) -> c_int;
    pub fn wizloop_pc_send(bed: *mut wizloop_t, socket: c_int, data: *const c_void, bytes: usize) -> c_int;
    pub fn wizloop_pc_receive(bed: *mut wizloop_t, socket: c_int, data: *mut c_void, bytes: usize) -> c_int;
    pub fn wizloop_pc_send_to(
        bed: *mut wizloop_t,
        socket: c_int,
        ip: u32,
        port: u16,
        data: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub fn wizloop_pc_receive_from(
        bed: *mut wizloop_t,
        socket: c_int,
        ip: *mut u32,
        port: *mut u16,
        data: *mut c_void,
        bytes: usize,
    ) -> c_int;
    pub fn wizloop_pc_close(bed: *mut wizloop_t, socket: c_int) -> c_int;

    pub fn wizloop_finding_count(bed: *mut wizloop_t) -> c_int;
    pub fn wizloop_finding_get(bed: *mut wizloop_t, index: c_int, finding: *mut wizloop_finding) -> c_int;
    pub fn wizloop_failing(bed: *mut wizloop_t) -> c_int;
    pub fn wizloop_announce(bed: *mut wizloop_t, rule: *const c_char, reason: *const c_char) -> c_int;
    pub fn wizloop_counter(bed: *mut wizloop_t, name: *const c_char, value: *mut u64) -> c_int;
    pub fn wizloop_report(bed: *mut wizloop_t) -> *const c_char;
}
