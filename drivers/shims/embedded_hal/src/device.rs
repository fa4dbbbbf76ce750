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

/// The bytes of one operation: MOSI null sends zeros, MISO null drops what comes. They may be the same buffer.
struct Bytes {
    mosi: *const u8,
    miso: *mut u8,
    count: usize,
}

impl Bytes {
    fn read(words: &mut [u8]) -> Self {
        Bytes { mosi: ptr::null(), miso: words.as_mut_ptr(), count: words.len() }
    }
    fn write(words: &[u8]) -> Self {
        Bytes { mosi: words.as_ptr(), miso: ptr::null_mut(), count: words.len() }
    }
    fn in_place(words: &mut [u8]) -> Self {
        let miso = words.as_mut_ptr();
        Bytes { mosi: miso, miso, count: words.len() }
    }
    /// What both have, then the rest of the longer one.
    fn transfer(read: &mut [u8], write: &[u8]) -> [Self; 2] {
        let both = read.len().min(write.len());
        let (read, read_rest) = read.split_at_mut(both);
        let (write, write_rest) = write.split_at(both);
        let rest = if read_rest.is_empty() { Bytes::write(write_rest) } else { Bytes::read(read_rest) };
        [Bytes { mosi: write.as_ptr(), miso: read.as_mut_ptr(), count: both }, rest]
    }

    /// SAFETY: the buffers must be good for `count` bytes.
    unsafe fn pass(&self, handle: *mut wizloop_t, by: By) -> c_int {
        match by {
            By::Byte => {
                for i in 0..self.count {
                    let mosi = if self.mosi.is_null() { 0 } else { *self.mosi.add(i) };
                    let miso = ffi::wizloop_spi_byte(handle, mosi);
                    if miso < 0 {
                        return miso;
                    }
                    if !self.miso.is_null() {
                        *self.miso.add(i) = miso as u8;
                    }
                }
                ffi::WIZLOOP_OK
            }
            By::Burst => ffi::wizloop_spi_transfer(handle, self.mosi, self.miso, self.count),
            By::Dma => self.pass_by_dma(handle),
        }
    }

    unsafe fn pass_by_dma(&self, handle: *mut wizloop_t) -> c_int {
        const SLICE_NS: u64 = 1_000_000_000;
        if self.count == 0 {
            return ffi::WIZLOOP_OK;
        }
        let mut code = ffi::wizloop_dma_start(handle, self.mosi, self.miso, self.count);
        if code != ffi::WIZLOOP_OK {
            return code;
        }
        loop {
            code = ffi::wizloop_dma_wait(handle, SLICE_NS);
            match code {
                0 => continue,
                1 => return ffi::WIZLOOP_OK,
                _ => break,
            }
        }
        ffi::wizloop_dma_abort(handle); // before the buffers go
        code
    }
}

fn pass_operation(handle: *mut wizloop_t, by: By, operation: &mut Operation<'_, u8>) -> c_int {
    // SAFETY: slices are good for their length, and stay until the call is over.
    unsafe {
        match operation {
            Operation::Read(words) => Bytes::read(words).pass(handle, by),
            Operation::Write(words) => Bytes::write(words).pass(handle, by),
            Operation::TransferInPlace(words) => Bytes::in_place(words).pass(handle, by),
            Operation::Transfer(read, write) => {
                let [both, rest] = Bytes::transfer(read, write);
                match both.pass(handle, by) {
                    ffi::WIZLOOP_OK if rest.count > 0 => rest.pass(handle, by),
                    code => code,
                }
            }
            Operation::DelayNs(ns) => ffi::wizloop_advance_ns(handle, u64::from(*ns)),
        }
    }
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
        self.bed.call(|handle| {
            // SAFETY: the handle is good, or destroyed, which the library knows.
            let selected = unsafe { ffi::wizloop_scsn(handle, 0) };
            if selected != ffi::WIZLOOP_OK {
                return selected;
            }
            let passed = operations
                .iter_mut()
                .map(|operation| pass_operation(handle, by, operation))
                .find(|code| *code != ffi::WIZLOOP_OK);
            // SAFETY: as above.
            let released = unsafe { ffi::wizloop_scsn(handle, 1) };
            passed.unwrap_or(released)
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
        self.bed.call(|handle| pass_operation(handle, by, &mut operation))?;
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
