//! The SPI bus, with and without SCSn, blocking and async.
//!
//! Async calls are ready at once: the transfer has taken its virtual time by then.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use embedded_hal::spi::{ErrorType, Operation};

use crate::ffi::{self, wizloop_t};
use crate::testbed::Bed;
use crate::Error;

/// How the platform moves a buffer, which the board file prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Byte after byte.
    Byte,
    /// By a buffer call, where the board has one.
    Burst,
    /// By DMA; calls fail with [`crate::ErrorCode::Price`] where the board prices none.
    Dma,
}

/// One buffer, or a buffer each way: MOSI null sends zeros, MISO null drops what comes. They may be the same.
type Segment = ffi::wizloop_segment;

const EMPTY: Segment = Segment { mosi: ptr::null(), miso: ptr::null_mut(), bytes: 0 };

fn to_read(words: &mut [u8]) -> Segment {
    Segment { mosi: ptr::null(), miso: words.as_mut_ptr(), bytes: words.len() }
}
fn to_write(words: &[u8]) -> Segment {
    Segment { mosi: words.as_ptr(), miso: ptr::null_mut(), bytes: words.len() }
}
fn in_place(words: &mut [u8]) -> Segment {
    let miso = words.as_mut_ptr();
    Segment { mosi: miso, miso, bytes: words.len() }
}
/// What both have, then the rest of the longer one.
fn to_transfer(read: &mut [u8], write: &[u8]) -> [Segment; 2] {
    let both = read.len().min(write.len());
    let (read, read_rest) = read.split_at_mut(both);
    let (write, write_rest) = write.split_at(both);
    let rest = if read_rest.is_empty() { to_write(write_rest) } else { to_read(read_rest) };
    [Segment { mosi: write.as_ptr(), miso: read.as_mut_ptr(), bytes: both }, rest]
}

/// What an operation moves, or how long it waits.
enum Step {
    Move([Segment; 2]),
    Wait(u64),
}

fn step_of(operation: &mut Operation<'_, u8>) -> Step {
    match operation {
        Operation::Read(words) => Step::Move([to_read(words), EMPTY]),
        Operation::Write(words) => Step::Move([to_write(words), EMPTY]),
        Operation::TransferInPlace(words) => Step::Move([in_place(words), EMPTY]),
        Operation::Transfer(read, write) => Step::Move(to_transfer(read, write)),
        Operation::DelayNs(ns) => Step::Wait(u64::from(*ns)),
    }
}

/// SAFETY of what follows: the buffers of segments must be good for their bytes, in `step_of()` as slices are, and stay.
unsafe fn move_segment(handle: *mut wizloop_t, by: By, segment: &Segment) -> c_int {
    match by {
        _ if segment.bytes == 0 => ffi::WIZLOOP_OK,
        By::Byte => move_bytes(handle, segment),
        By::Burst => ffi::wizloop_spi_transfer(handle, segment.mosi, segment.miso, segment.bytes),
        By::Dma => move_by_dma(handle, segment),
    }
}

unsafe fn move_bytes(handle: *mut wizloop_t, segment: &Segment) -> c_int {
    for i in 0..segment.bytes {
        let mosi = if segment.mosi.is_null() { 0 } else { *segment.mosi.add(i) };
        let miso = ffi::wizloop_spi_byte(handle, mosi);
        if miso < 0 {
            return miso;
        }
        if !segment.miso.is_null() {
            *segment.miso.add(i) = miso as u8;
        }
    }
    ffi::WIZLOOP_OK
}

unsafe fn move_by_dma(handle: *mut wizloop_t, segment: &Segment) -> c_int {
    const SLICE_NS: u64 = 1_000_000_000;
    let started = ffi::wizloop_dma_start(handle, segment.mosi, segment.miso, segment.bytes);
    if started != ffi::WIZLOOP_OK {
        return started;
    }
    loop {
        match ffi::wizloop_dma_wait(handle, SLICE_NS) {
            0 => continue,
            1 => return ffi::WIZLOOP_OK,
            code => {
                ffi::wizloop_dma_abort(handle); // before the buffers go
                return code;
            }
        }
    }
}

fn perform(handle: *mut wizloop_t, by: By, operation: &mut Operation<'_, u8>) -> c_int {
    match step_of(operation) {
        // SAFETY: slices are good for their length, and stay until the call is over.
        Step::Move(segments) => unsafe {
            match move_segment(handle, by, &segments[0]) {
                ffi::WIZLOOP_OK => move_segment(handle, by, &segments[1]),
                code => code,
            }
        },
        // SAFETY: the handle is good, or destroyed, which the library knows.
        Step::Wait(ns) => unsafe { ffi::wizloop_advance_ns(handle, ns) },
    }
}

/// A frame of few buffers goes in one call.
const MOST_SEGMENTS: usize = 4;

/// How many segments the operations make; none if they are too many, or wait in between.
fn collect(operations: &mut [Operation<'_, u8>], segments: &mut [Segment; MOST_SEGMENTS]) -> Option<usize> {
    let mut count = 0;
    for operation in operations {
        let Step::Move(pair) = step_of(operation) else { return None };
        for segment in pair {
            if segment.bytes > 0 {
                *segments.get_mut(count)? = segment;
                count += 1;
            }
        }
    }
    Some(count)
}

/// The bus with SCSn: each transaction is one frame.
pub struct SpiDevice {
    bed: Arc<Bed>,
    by: By,
}

impl SpiDevice {
    pub(crate) fn new(bed: Arc<Bed>, by: By) -> Self {
        SpiDevice { bed, by }
    }

    /// Moves buffers that way; [`By::Burst`] unless told.
    pub fn by(mut self, by: By) -> Self {
        self.by = by;
        self
    }

    fn frame(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Error> {
        let by = self.by;
        if by == By::Burst {
            let mut segments = [EMPTY; MOST_SEGMENTS];
            if let Some(count) = collect(operations, &mut segments) {
                // SAFETY: slices are good for their length, and stay until the call is over.
                let frame = |handle| unsafe { ffi::wizloop_spi_transaction(handle, segments.as_ptr(), count) };
                return self.bed.call(frame).map(|_| ());
            }
        }
        self.bed.call(|handle| {
            // SAFETY: the handle is good, or destroyed, which the library knows.
            let selected = unsafe { ffi::wizloop_scsn(handle, 0) };
            if selected != ffi::WIZLOOP_OK {
                return selected;
            }
            let failed = operations
                .iter_mut()
                .map(|operation| perform(handle, by, operation))
                .find(|code| *code != ffi::WIZLOOP_OK);
            // SAFETY: as above.
            let released = unsafe { ffi::wizloop_scsn(handle, 1) };
            failed.unwrap_or(released)
        })?;
        Ok(())
    }
}

impl ErrorType for SpiDevice {
    type Error = Error;
}

impl embedded_hal::spi::SpiDevice for SpiDevice {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Error> {
        self.frame(operations)
    }
}

impl embedded_hal_async::spi::SpiDevice for SpiDevice {
    async fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Error> {
        self.frame(operations)
    }
}

/// The bus alone: whoever has SCSn says where a frame begins and ends.
pub struct SpiBus {
    bed: Arc<Bed>,
    by: By,
}

impl SpiBus {
    pub(crate) fn new(bed: Arc<Bed>, by: By) -> Self {
        SpiBus { bed, by }
    }

    /// Moves buffers that way; [`By::Burst`] unless told.
    pub fn by(mut self, by: By) -> Self {
        self.by = by;
        self
    }

    fn pass(&mut self, mut operation: Operation<'_, u8>) -> Result<(), Error> {
        let by = self.by;
        self.bed.call(|handle| perform(handle, by, &mut operation))?;
        Ok(())
    }
}

impl ErrorType for SpiBus {
    type Error = Error;
}

impl embedded_hal::spi::SpiBus for SpiBus {
    fn read(&mut self, words: &mut [u8]) -> Result<(), Error> {
        self.pass(Operation::Read(words))
    }
    fn write(&mut self, words: &[u8]) -> Result<(), Error> {
        self.pass(Operation::Write(words))
    }
    fn transfer(&mut self, read: &mut [u8], write: &[u8]) -> Result<(), Error> {
        self.pass(Operation::Transfer(read, write))
    }
    fn transfer_in_place(&mut self, words: &mut [u8]) -> Result<(), Error> {
        self.pass(Operation::TransferInPlace(words))
    }
    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl embedded_hal_async::spi::SpiBus for SpiBus {
    async fn read(&mut self, words: &mut [u8]) -> Result<(), Error> {
        self.pass(Operation::Read(words))
    }
    async fn write(&mut self, words: &[u8]) -> Result<(), Error> {
        self.pass(Operation::Write(words))
    }
    async fn transfer(&mut self, read: &mut [u8], write: &[u8]) -> Result<(), Error> {
        self.pass(Operation::Transfer(read, write))
    }
    async fn transfer_in_place(&mut self, words: &mut [u8]) -> Result<(), Error> {
        self.pass(Operation::TransferInPlace(words))
    }
    async fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
