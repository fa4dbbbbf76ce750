//! What a byte costs on the host through the crate, beside the same calls of the C ABI.
//!
//!     cargo run --release --example speed

use std::hint::black_box;
use std::time::{Duration, Instant};

use embedded_hal::spi::{Operation, SpiDevice};

#[allow(dead_code)]
#[path = "../src/ffi.rs"]
mod ffi;

const ROUNDS: usize = 7;
const LONG: usize = 2048;

/// The least time of a byte over some rounds: the others were disturbed.
fn ns_per_byte(bytes_in_frame: usize, frames: usize, mut frame: impl FnMut()) -> f64 {
    let round = |_| {
        let began = Instant::now();
        (0..frames).for_each(|_| frame());
        began.elapsed()
    };
    let best = (0..ROUNDS).map(round).min().unwrap_or(Duration::ZERO);
    best.as_nanos() as f64 / (frames * bytes_in_frame) as f64
}

/// Header and data of one read as one transaction, through the C ABI alone.
fn read_in_c(bed: *mut ffi::wizloop_t, header: &[u8; 3], data: &mut [u8]) {
    let segments = [
        ffi::wizloop_segment { mosi: header.as_ptr(), miso: std::ptr::null_mut(), bytes: 3 },
        ffi::wizloop_segment { mosi: std::ptr::null(), miso: data.as_mut_ptr(), bytes: data.len() },
    ];
    // SAFETY: the handle is good, and the buffers outlive the call.
    assert_eq!(unsafe { ffi::wizloop_spi_transaction(bed, segments.as_ptr(), 2) }, ffi::WIZLOOP_OK);
}

fn main() {
    let bed = wizloop::Testbed::builder().build().expect("a testbed");
    let mut spi = bed.spi_device();
    // SAFETY: no configuration is the default one.
    let c = unsafe { ffi::wizloop_create(std::ptr::null()) };
    let mut data = vec![0; LONG];
    for (what, header, bytes, frames) in
        [("VERSIONR", [0x00, 0x39, 0x00], 1, 400_000), ("RX buffer", [0x00, 0x00, 0x18], LONG, 4_000)]
    {
        let through_crate = ns_per_byte(3 + bytes, frames, || {
            let read = Operation::Read(&mut data[..bytes]);
            spi.transaction(&mut [Operation::Write(&header), read]).expect("a frame");
            black_box(&data);
        });
        let in_c = ns_per_byte(3 + bytes, frames, || {
            read_in_c(c, &header, &mut data[..bytes]);
            black_box(&data);
        });
        println!("{what:10} {:5} bytes a frame: {through_crate:6.2} ns a byte, in C {in_c:6.2}", 3 + bytes);
    }
    // SAFETY: the handle is good, and nobody uses it any more.
    unsafe { ffi::wizloop_destroy(c) };
}
