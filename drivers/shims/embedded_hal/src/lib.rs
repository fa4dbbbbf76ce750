//! A simulated W5500 with its board, cable and PC behind embedded-hal, so that Rust drivers of the chip are tested as they
//! are, under a virtual clock. A safe wrapper of the C ABI `sim/capi/wizloop.h`.
//!
//! ```
//! use embedded_hal::spi::{Operation, SpiDevice};
//!
//! let bed = wizloop::Testbed::builder().seed(7).build()?;
//! let mut spi = bed.spi_device(); // for a driver: W5500::new(bed.spi_device())
//! let mut version = [0];
//! spi.transaction(&mut [Operation::Write(&[0x00, 0x39, 0x00]), Operation::Read(&mut version)])?;
//! assert_eq!(version, [0x04]); // VERSIONR
//! assert_eq!(bed.failing(), 0, "{}", bed.report());
//! # Ok::<(), wizloop::Error>(())
//! ```
//!
//! What a driver does on pins and bus takes virtual time, as the board file prices it; nothing sleeps. What it does wrong
//! is a [`Finding`]. A driver that polls for ever is ended: the call in which that shows panics, and says which register
//! it was.
#![warn(missing_docs)]

mod device;
#[cfg(feature = "embassy-time")]
mod embassy;
mod error;
mod executor;
mod ffi;
mod pc;
mod pins;
mod testbed;

pub use device::{By, SpiBus, SpiDevice};
pub use error::{Error, ErrorCode};
pub use executor::{Delay, Task};
pub use pc::{Pc, PcService, PcState, PcTcp, PcUdp};
pub use pins::{Intn, Rstn, Scsn};
pub use testbed::{Builder, Finding, SentFrame, Severity, Testbed};
