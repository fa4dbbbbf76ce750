//! What a call can fail with.

use std::ffi::{c_int, CStr};
use std::fmt;

use crate::ffi;

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The testbed was closed.
    Handle,
    /// A value out of range, an unknown name.
    Argument,
    /// Not now: a frame is under way, there is no PC.
    State,
    /// The guard has ended a driver that waits for ever. Calls return it only while the panic that says so unwinds.
    Hang,
    /// No lwIP, a full disk.
    Machine,
    /// The board file prices no DMA.
    Price,
}

/// What went wrong, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    message: String,
}

impl Error {
    /// What kind of thing went wrong.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Error { code: ErrorCode::Argument, message: message.into() }
    }

    /// Of this thread's last call, which has returned `code`.
    pub(crate) fn of_last_call(code: c_int) -> Self {
        // SAFETY: the text is valid until this thread's next call that fails.
        let message = unsafe { CStr::from_ptr(ffi::wizloop_error()) }.to_string_lossy().into_owned();
        let code = match code {
            ffi::WIZLOOP_E_HANDLE => ErrorCode::Handle,
            ffi::WIZLOOP_E_STATE => ErrorCode::State,
            ffi::WIZLOOP_E_HANG => ErrorCode::Hang,
            ffi::WIZLOOP_E_MACHINE => ErrorCode::Machine,
            ffi::WIZLOOP_E_PRICE => ErrorCode::Price,
            _ => ErrorCode::Argument,
        };
        Error { code, message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl embedded_hal::spi::Error for Error {
    fn kind(&self) -> embedded_hal::spi::ErrorKind {
        embedded_hal::spi::ErrorKind::Other
    }
}

impl embedded_hal::digital::Error for Error {
    fn kind(&self) -> embedded_hal::digital::ErrorKind {
        embedded_hal::digital::ErrorKind::Other
    }
}
