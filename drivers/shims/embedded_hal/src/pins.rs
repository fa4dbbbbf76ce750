//! The pins of the chip that are not the bus.

use std::ffi::c_int;
use std::sync::Arc;

use embedded_hal::digital::{ErrorType, InputPin, OutputPin};
use embedded_hal_async::digital::Wait;

use crate::executor::{wait_for, Awaited};
use crate::ffi::{self, wizloop_t};
use crate::testbed::Bed;
use crate::Error;

macro_rules! output_pin {
    ($(#[$meta:meta])* $name:ident, $function:path) => {
        $(#[$meta])*
        pub struct $name {
            bed: Arc<Bed>,
        }

        impl $name {
            pub(crate) fn new(bed: Arc<Bed>) -> Self {
                $name { bed }
            }

            fn set(&mut self, level: c_int) -> Result<(), Error> {
                let function: unsafe extern "C" fn(*mut wizloop_t, c_int) -> c_int = $function;
                // SAFETY: the handle is good, or destroyed, which the library knows.
                self.bed.call(|handle| unsafe { function(handle, level) }).map(|_| ())
            }
        }

        impl ErrorType for $name {
            type Error = Error;
        }

        impl OutputPin for $name {
            fn set_low(&mut self) -> Result<(), Error> {
                self.set(0)
            }
            fn set_high(&mut self) -> Result<(), Error> {
                self.set(1)
            }
        }
    };
}

output_pin!(
    /// Chip select.
    Scsn,
    ffi::wizloop_scsn
);
output_pin!(
    /// Reset.
    Rstn,
    ffi::wizloop_rstn
);

/// The interrupt: low while the chip asks for attention.
pub struct Intn {
    bed: Arc<Bed>,
}

impl Intn {
    pub(crate) fn new(bed: Arc<Bed>) -> Self {
        Intn { bed }
    }
}

impl ErrorType for Intn {
    type Error = Error;
}

impl InputPin for Intn {
    fn is_high(&mut self) -> Result<bool, Error> {
        // SAFETY: the handle is good, or destroyed, which the library knows.
        Ok(self.bed.call(|handle| unsafe { ffi::wizloop_intn(handle) })? == 1)
    }
    fn is_low(&mut self) -> Result<bool, Error> {
        Ok(!self.is_high()?)
    }
}

impl Wait for Intn {
    async fn wait_for_high(&mut self) -> Result<(), Error> {
        wait_for(&self.bed, Awaited::High).await
    }
    async fn wait_for_low(&mut self) -> Result<(), Error> {
        wait_for(&self.bed, Awaited::Low).await
    }
    async fn wait_for_rising_edge(&mut self) -> Result<(), Error> {
        wait_for(&self.bed, Awaited::Rising).await
    }
    async fn wait_for_falling_edge(&mut self) -> Result<(), Error> {
        wait_for(&self.bed, Awaited::Falling).await
    }
    async fn wait_for_any_edge(&mut self) -> Result<(), Error> {
        wait_for(&self.bed, Awaited::AnyEdge).await
    }
}
