//! One chip with everything around it, and how it is made.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void, CStr, CString};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::device::{By, SpiBus, SpiDevice};
use crate::executor::{self, Delay};
use crate::ffi::{self, wizloop_t};
use crate::pc::Pc;
use crate::pins::{Intn, Rstn, Scsn};
use crate::Error;

/// The longest that is waited for in one call of the library.
const LONGEST_WAIT_NS: u64 = 1_000_000_000_000_000;

/// Edges of INTn since somebody first waited for one, counted by the callback of the library.
#[derive(Default)]
pub(crate) struct Edges {
    are_counted: AtomicBool,
    pub(crate) falling: AtomicU64,
    pub(crate) rising: AtomicU64,
}

extern "C" fn count_edge(context: *mut c_void, level: c_int) {
    // SAFETY: `context` is the `edges` of the `Bed` whose call is under way.
    let edges = unsafe { &*context.cast::<Edges>() };
    let counter = if level == 0 { &edges.falling } else { &edges.rising };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A frame that the chip has sent, without its FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// From the destination's MAC address on.
    pub bytes: Vec<u8>,
    /// When its first bit went out.
    pub start: Duration,
}

/// What has arrived at a station of the caller's own.
type Arrived = Mutex<VecDeque<SentFrame>>;

extern "C" fn take_frame(context: *mut c_void, frame: *const u8, bytes: usize, start_ps: u64) {
    // SAFETY: `context` is the `arrived` of the `Bed` whose call is under way, and `frame` is good for `bytes`.
    let (arrived, frame) = unsafe { (&*context.cast::<Arrived>(), std::slice::from_raw_parts(frame, bytes)) };
    let frame = SentFrame { bytes: frame.to_vec(), start: Duration::from_nanos(start_ps / 1000) };
    arrived.lock().unwrap_or_else(PoisonError::into_inner).push_back(frame);
}

struct Handle(*mut wizloop_t);

// SAFETY: any thread may call with a handle.
unsafe impl Send for Handle {}

/// What all handles on one testbed share. One call at a time: texts that the library hands out are valid until the next.
pub(crate) struct Bed {
    handle: Mutex<Handle>,
    pub(crate) edges: Box<Edges>,
    arrived: Arc<Arrived>,
}

impl Bed {
    fn lock(&self) -> MutexGuard<'_, Handle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the library; what `action` returns is a code of it, or a value. Panics if the driver hangs, except while a
    /// panic unwinds: destructors of drivers then get an error.
    pub(crate) fn call(&self, action: impl FnOnce(*mut wizloop_t) -> c_int) -> Result<c_int, Error> {
        let error = {
            let handle = self.lock();
            let code = action(handle.0);
            if code >= ffi::WIZLOOP_OK {
                return Ok(code);
            }
            Error::of_last_call(code)
        };
        if error.code() == crate::ErrorCode::Hang && !std::thread::panicking() {
            panic!("{error}");
        }
        Err(error)
    }

    /// For what cannot fail but by a hang or a testbed that was closed, where no error can be returned.
    pub(crate) fn must(&self, action: impl FnOnce(*mut wizloop_t) -> c_int) -> c_int {
        match self.call(action) {
            Ok(value) => value,
            Err(_) if std::thread::panicking() => 0,
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn now_ps(&self) -> u64 {
        // SAFETY: the handle is good, or destroyed, which the library knows.
        unsafe { ffi::wizloop_now_ps(self.lock().0) }
    }

    pub(crate) fn next_event_ns(&self) -> u64 {
        // SAFETY: as above.
        unsafe { ffi::wizloop_next_event_ns(self.lock().0) }
    }

    pub(crate) fn advance_ns(&self, ns: u64) {
        // SAFETY: as above.
        self.must(|handle| unsafe { ffi::wizloop_advance_ns(handle, ns.min(LONGEST_WAIT_NS)) });
    }

    pub(crate) fn wait_intn(&self, timeout_ns: u64) -> bool {
        // SAFETY: as above.
        self.must(|handle| unsafe { ffi::wizloop_wait_intn(handle, timeout_ns.min(LONGEST_WAIT_NS)) }) == 1
    }

    /// Has the edges of INTn counted from the first call on.
    pub(crate) fn count_edges(&self) {
        if self.edges.are_counted.swap(true, Ordering::Relaxed) {
            return;
        }
        let context: *const Edges = &*self.edges;
        // SAFETY: `edges` lives until after the handle is destroyed, with which callbacks end.
        self.must(|handle| unsafe { ffi::wizloop_on_intn(handle, Some(count_edge), context.cast_mut().cast()) });
    }

    fn close(&self) -> Result<(), Error> {
        // SAFETY: as above.
        self.call(|handle| unsafe { ffi::wizloop_destroy(handle) }).map(|_| ())
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // Closed already, or nobody wants to know: `Testbed::close` tells whether the captures are whole.
        let _ = self.close();
    }
}

/// How a testbed is to be. All of it is optional.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    name: Option<String>,
    board: Option<String>,
    seed: Option<u64>,
    settings: Vec<String>,
    pcap: Option<PathBuf>,
    trace: Option<PathBuf>,
    has_station: bool,
    poll_limit: Option<Duration>,
    run_limit: Option<Duration>,
}

fn c_string(text: &str, what: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::argument(format!("{what} {text:?} has a NUL in it")))
}

fn pointer(text: &Option<CString>) -> *const std::ffi::c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

fn limit_ns(limit: Option<Duration>) -> u64 {
    limit.map_or(0, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).max(1))
}

impl Builder {
    /// For messages and captures.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// A board file, or the name of one of wizloop's own; without it, a board whose code is free.
    pub fn board(mut self, board: impl Into<String>) -> Self {
        self.board = Some(board.into());
        self
    }

    /// Of all chance in the run.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// A setting as on the command line: `"fault.link_loss=ppm=1000"`, `"chip.preset=strict"`, `"board.sclk_hz=8000000"`.
    pub fn set(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// Writes what passes on the cable to this file, for Wireshark.
    pub fn pcap(mut self, file: impl Into<PathBuf>) -> Self {
        self.pcap = Some(file.into());
        self
    }

    /// Writes a line for each event to this file.
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Self {
        self.trace = Some(file.into());
        self
    }

    /// A station of your own in place of the PC: [`Testbed::next_frame`] and [`Testbed::deliver`].
    pub fn station(mut self) -> Self {
        self.has_station = true;
        self
    }

    /// The same registers polled for so long, without a change, are a hang; 60 s.
    pub fn poll_limit(mut self, limit: Duration) -> Self {
        self.poll_limit = Some(limit);
        self
    }

    /// The whole run is one; 24 hours.
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.run_limit = Some(limit);
        self
    }

    /// The chip is powered, its cable in, its link up.
    pub fn build(self) -> Result<Testbed, Error> {
        let optional = |text: &Option<String>, what| text.as_deref().map(|text| c_string(text, what)).transpose();
        let file = |file: &Option<PathBuf>| {
            let text = |file: &Path| file.to_str().map(str::to_owned).ok_or_else(|| not_text(file));
            file.as_deref().map(|file| text(file).and_then(|text| c_string(&text, "file"))).transpose()
        };
        let name = optional(&self.name, "name")?;
        let board = optional(&self.board, "board")?;
        let (pcap, trace) = (file(&self.pcap)?, file(&self.trace)?);
        let settings = self.settings.iter().map(|text| c_string(text, "setting")).collect::<Result<Vec<_>, _>>()?;
        let settings: Vec<_> = settings.iter().map(|text| text.as_ptr()).collect();
        let arrived = Arc::<Arrived>::default();
        let context = Arc::as_ptr(&arrived);
        let station = ffi::wizloop_station { transmit: Some(take_frame), context: context.cast_mut().cast() };
        let config = ffi::wizloop_config {
            size: size_of::<ffi::wizloop_config>() as u32,
            abi: ffi::WIZLOOP_ABI,
            name: pointer(&name),
            board: pointer(&board),
            seed: self.seed.unwrap_or(1),
            settings: settings.as_ptr(),
            setting_count: settings.len(),
            pcap_file: pointer(&pcap),
            trace_file: pointer(&trace),
            station: if self.has_station { &station } else { ptr::null() },
            poll_limit_ns: limit_ns(self.poll_limit),
            run_limit_ns: limit_ns(self.run_limit),
            on_hang: ffi::WIZLOOP_HANG_RETURN,
        };
        // SAFETY: all that `config` points to outlives the call, which keeps none of it but the station's context: `arrived`
        // lives until after the handle is destroyed.
        let handle = unsafe { ffi::wizloop_create(&config) };
        if handle.is_null() {
            return Err(Error::of_last_call(ffi::WIZLOOP_E_ARGUMENT));
        }
        Ok(Testbed { bed: Arc::new(Bed { handle: Mutex::new(Handle(handle)), edges: Box::default(), arrived }) })
    }
}

fn not_text(file: &Path) -> Error {
    Error::argument(format!("the path {} is not text", file.display()))
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Works on this chip today.
    Warning,
    /// Breaks the datasheet.
    Error,
}

/// A rule of the datasheet that the driver broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `"write-beyond-free"`; `wizloop explain` tells all about it.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// `"S0 Sn_TX_WR ..."`, where it was seen first.
    pub seen: String,
    /// MOSI of the frame in hex; empty outside of one.
    pub spi: String,
    /// Of the socket; empty if none is concerned.
    pub state: String,
    /// When it was seen first.
    pub at: Duration,
    /// How often.
    pub count: u64,
}

/// One W5500 with its board, cable and PC. A clone is another handle on the same one. Handles may go to other threads;
/// several testbeds may live in one process, each with a time of its own.
#[derive(Clone)]
pub struct Testbed {
    pub(crate) bed: Arc<Bed>,
}

impl Testbed {
    /// Says how it is to be.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The bus with SCSn, for drivers that frame their accesses (variable data length).
    pub fn spi_device(&self) -> SpiDevice {
        SpiDevice::new(self.bed.clone(), By::Burst)
    }

    /// The bus alone. SCSn is [`Testbed::scsn`]; hold it low for drivers of the fixed data length modes.
    pub fn spi_bus(&self) -> SpiBus {
        SpiBus::new(self.bed.clone(), By::Burst)
    }

    /// Chip select.
    pub fn scsn(&self) -> Scsn {
        Scsn::new(self.bed.clone())
    }

    /// Reset. Hold it low for 500 us.
    pub fn rstn(&self) -> Rstn {
        Rstn::new(self.bed.clone())
    }

    /// The interrupt.
    pub fn intn(&self) -> Intn {
        Intn::new(self.bed.clone())
    }

    /// A delay in virtual time.
    pub fn delay(&self) -> Delay {
        Delay::new(self.bed.clone())
    }

    /// The simulated PC, 192.168.1.10.
    pub fn pc(&self) -> Pc {
        Pc::new(self.bed.clone())
    }

    /// Runs a future, and lets virtual time pass whenever it waits. Several tasks are one future by a `join` or `select`.
    ///
    /// Panics if it waits for something that will never be.
    pub fn block_on<F: std::future::Future>(&self, future: F) -> F::Output {
        executor::block_on(&self.bed, future)
    }

    /// Virtual time since power came.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.bed.now_ps() / 1000)
    }

    /// The driver sleeps.
    pub fn advance(&self, time: Duration) {
        self.bed.advance_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The driver computes.
    pub fn spend(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the handle is good, or destroyed, which the library knows.
        self.bed.must(|handle| unsafe { ffi::wizloop_spend_ns(handle, ns) });
    }

    /// SCLK is `hz`, or the board file's `sclk_hz` if that is less, from the next frame on.
    pub fn spi_clock(&self, hz: u32, mode: embedded_hal::spi::Mode) -> Result<(), Error> {
        use embedded_hal::spi::{Phase, Polarity};
        let mode = match (mode.polarity, mode.phase) {
            (Polarity::IdleLow, Phase::CaptureOnFirstTransition) => 0,
            (Polarity::IdleLow, Phase::CaptureOnSecondTransition) => 1,
            (Polarity::IdleHigh, Phase::CaptureOnFirstTransition) => 2,
            (Polarity::IdleHigh, Phase::CaptureOnSecondTransition) => 3,
        };
        // SAFETY: as above.
        self.bed.call(|handle| unsafe { ffi::wizloop_spi_clock(handle, hz, mode) }).map(|_| ())
    }

    /// What a read of a register or of buffer memory would give, without a frame, time or side effect. `block` is
    /// BSB\[4:0\], datasheet 2.2.2.
    pub fn peek<const N: usize>(&self, block: u8, offset: u16) -> Result<[u8; N], Error> {
        let mut data = [0; N];
        // SAFETY: `data` holds N bytes.
        self.bed.call(|handle| unsafe { ffi::wizloop_peek(handle, block, offset, data.as_mut_ptr().cast(), N) })?;
        Ok(data)
    }

    /// The PMODE pins, 0 to 7; the chip reads them at its next hardware reset.
    pub fn set_pmode(&self, code: u8) -> Result<(), Error> {
        // SAFETY: as above.
        self.bed.call(|handle| unsafe { ffi::wizloop_pmode(handle, c_int::from(code)) }).map(|_| ())
    }

    /// Pulls the cable, or plugs it in.
    pub fn set_link(&self, plugged: bool) -> Result<(), Error> {
        // SAFETY: as above.
        self.bed.call(|handle| unsafe { ffi::wizloop_link(handle, c_int::from(plugged)) }).map(|_| ())
    }

    /// The first frame that has arrived at your own station and was not taken yet.
    pub fn next_frame(&self) -> Option<SentFrame> {
        self.bed.arrived.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// A frame from your own station, without FCS, 14 to 1514 bytes; it goes out as soon as the cable is free.
    pub fn deliver(&self, frame: &[u8]) -> Result<(), Error> {
        // SAFETY: `frame` is good for its length.
        self.bed.call(|handle| unsafe { ffi::wizloop_deliver(handle, frame.as_ptr(), frame.len()) }).map(|_| ())
    }

    /// A number of the board file in the unit that ends its key, `"select_ns"`; `None` if the file has it not.
    pub fn price(&self, key: &str) -> Result<Option<f64>, Error> {
        let key = c_string(key, "key")?;
        let mut value = 0.0;
        // SAFETY: `key` and `value` outlive the call.
        let there = self.bed.call(|handle| unsafe { ffi::wizloop_price(handle, key.as_ptr(), &mut value) })?;
        Ok((there == 1).then_some(value))
    }

    /// `"spi_bytes"`, `"frames_sent"`, an account of the time budget such as `"spi_clock_ns"`; the error names all.
    pub fn counter(&self, name: &str) -> Result<u64, Error> {
        let name = c_string(name, "counter")?;
        let mut value = 0;
        // SAFETY: `name` and `value` outlive the call.
        self.bed.call(|handle| unsafe { ffi::wizloop_counter(handle, name.as_ptr(), &mut value) })?;
        Ok(value)
    }

    /// What the driver broke, in the order in which it did first.
    pub fn findings(&self) -> Vec<Finding> {
        let handle = self.bed.lock();
        // SAFETY: the handle is good, or destroyed, which the library knows.
        let count = unsafe { ffi::wizloop_finding_count(handle.0) }.max(0);
        (0..count).filter_map(|index| finding(handle.0, index)).collect()
    }

    /// How many rules are broken that fail a test: warnings and errors that nobody announced, and with
    /// `chip.preset=strict` all.
    pub fn failing(&self) -> usize {
        // SAFETY: as above.
        usize::try_from(self.bed.must(|handle| unsafe { ffi::wizloop_failing(handle) })).unwrap_or(0)
    }

    /// You know that the driver breaks this rule, and why that is accepted.
    pub fn announce(&self, rule: &str, reason: &str) -> Result<(), Error> {
        let (rule, reason) = (c_string(rule, "rule")?, c_string(reason, "reason")?);
        // SAFETY: both outlive the call.
        let announced =
            self.bed.call(|handle| unsafe { ffi::wizloop_announce(handle, rule.as_ptr(), reason.as_ptr()) });
        announced.map(|_| ())
    }

    /// Findings, budget and fingerprint as text for a person.
    pub fn report(&self) -> String {
        let handle = self.bed.lock();
        // SAFETY: the text is valid until the next call, and the lock is held until it is copied.
        unsafe { CStr::from_ptr(ffi::wizloop_report(handle.0)) }.to_string_lossy().into_owned()
    }

    /// Closes captures and traces; an error if one could not be written whole. All calls on any handle fail from then on.
    /// Without it they are closed when the last handle goes.
    pub fn close(self) -> Result<(), Error> {
        self.bed.close()
    }
}

fn finding(handle: *mut wizloop_t, index: c_int) -> Option<Finding> {
    let mut raw = std::mem::MaybeUninit::<ffi::wizloop_finding>::uninit();
    // SAFETY: filled in whole if the call succeeds; its texts are valid until the next, and copied before it.
    unsafe {
        if ffi::wizloop_finding_get(handle, index, raw.as_mut_ptr()) != ffi::WIZLOOP_OK {
            return None;
        }
        let raw = raw.assume_init();
        let text = |from| CStr::from_ptr(from).to_string_lossy().into_owned();
        let severity = match text(raw.severity).as_str() {
            "note" => Severity::Note,
            "warning" => Severity::Warning,
            _ => Severity::Error,
        };
        Some(Finding {
            rule: text(raw.rule),
            severity,
            seen: text(raw.seen),
            spi: text(raw.spi),
            state: text(raw.state),
            at: Duration::from_nanos(raw.at_ps / 1000),
            count: raw.count,
        })
    }
}
