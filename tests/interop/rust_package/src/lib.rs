//! The driver.

use embedded_hal::spi::{Operation, SpiDevice};

/// VERSIONR.
pub fn version<S: SpiDevice>(spi: &mut S) -> Result<u8, S::Error> {
    let mut version = [0];
    spi.transaction(&mut [Operation::Write(&[0x00, 0x39, 0x00]), Operation::Read(&mut version)])?;
    Ok(version[0])
}
