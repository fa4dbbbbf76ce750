//! The simulated PC at the other end of the cable. Its sockets never wait: let time pass, and look again.

use std::ffi::{c_int, CString};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use crate::ffi;
use crate::testbed::Bed;
use crate::Error;

/// The PC, 192.168.1.10/24.
#[derive(Clone)]
pub struct Pc {
    bed: Arc<Bed>,
}

impl Pc {
    pub(crate) fn new(bed: Arc<Bed>) -> Self {
        Pc { bed }
    }

    /// Its address.
    pub const IP: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 10);

    /// Starts a service by its name, with `"key=value"` words: `serve("tcp-echo", "port=7")`. `wizloop_pc_serve` in
    /// `wizloop.h` lists them; the error names what exists.
    pub fn serve(&self, service: &str, options: &str) -> Result<PcService, Error> {
        let (service, options) = (c_string(service)?, c_string(options)?);
        // SAFETY: the handle is good, or destroyed, which the library knows; both texts outlive the call.
        let number =
            self.bed.call(|handle| unsafe { ffi::wizloop_pc_serve(handle, service.as_ptr(), options.as_ptr()) })?;
        Ok(PcService { bed: self.bed.clone(), number })
    }

    /// Begins to connect to the board.
    pub fn tcp_connect(&self, to: SocketAddrV4) -> Result<PcTcp, Error> {
        let ip = u32::from(*to.ip());
        // SAFETY: as above.
        let number = self.bed.call(|handle| unsafe { ffi::wizloop_pc_tcp_connect(handle, ip, to.port()) })?;
        Ok(PcTcp { bed: self.bed.clone(), number })
    }

    /// Listens for one connection.
    pub fn tcp_listen(&self, port: u16) -> Result<PcTcp, Error> {
        // SAFETY: as above.
        let number = self.bed.call(|handle| unsafe { ffi::wizloop_pc_tcp_listen(handle, port) })?;
        Ok(PcTcp { bed: self.bed.clone(), number })
    }

    /// Opens a UDP port; 0 takes any.
    pub fn udp_open(&self, port: u16) -> Result<PcUdp, Error> {
        // SAFETY: as above.
        let number = self.bed.call(|handle| unsafe { ffi::wizloop_pc_udp_open(handle, port) })?;
        Ok(PcUdp { bed: self.bed.clone(), number })
    }
}

fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::argument(format!("{text:?} has a NUL in it")))
}

/// A service that runs on the PC.
pub struct PcService {
    bed: Arc<Bed>,
    number: c_int,
}

impl PcService {
    /// A counter: `"bytes"`, `"packets"`, `"connections"`; the error names those that the service has.
    pub fn count(&self, counter: &str) -> Result<u64, Error> {
        let counter = c_string(counter)?;
        let mut value = 0;
        let number = self.number;
        // SAFETY: `counter` and `value` outlive the call.
        self.bed.call(|handle| unsafe { ffi::wizloop_pc_count(handle, number, counter.as_ptr(), &mut value) })?;
        Ok(value)
    }
}

/// How far a connection of the PC is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcState {
    /// For the connection.
    Waiting,
    /// Both ways.
    Connected,
    /// The board has sent its FIN; sending still works.
    PeerClosed,
    /// Both ways are closed.
    Closed,
    /// Refused, reset or given up.
    Lost,
}

/// A TCP connection of the PC.
pub struct PcTcp {
    bed: Arc<Bed>,
    number: c_int,
}

impl PcTcp {
    /// How far it is.
    pub fn state(&self) -> Result<PcState, Error> {
        let number = self.number;
        // SAFETY: the handle is good, or destroyed, which the library knows.
        Ok(match self.bed.call(|handle| unsafe { ffi::wizloop_pc_state(handle, number) })? {
            ffi::WIZLOOP_PC_WAITING => PcState::Waiting,
            ffi::WIZLOOP_PC_CONNECTED => PcState::Connected,
            ffi::WIZLOOP_PC_PEER_CLOSED => PcState::PeerClosed,
            ffi::WIZLOOP_PC_CLOSED => PcState::Closed,
            ffi::WIZLOOP_PC_LOST => PcState::Lost,
            unknown => unreachable!("wizloop_pc_state() gives {unknown}"),
        })
    }

    /// How many of the bytes were taken.
    pub fn send(&self, data: &[u8]) -> Result<usize, Error> {
        let number = self.number;
        // SAFETY: `data` is good for its length.
        let taken = self
            .bed
            .call(|handle| unsafe { ffi::wizloop_pc_send(handle, number, data.as_ptr().cast(), data.len()) })?;
        Ok(taken as usize)
    }

    /// How many bytes were there.
    pub fn receive(&self, data: &mut [u8]) -> Result<usize, Error> {
        let number = self.number;
        // SAFETY: `data` is good for its length.
        let given = self
            .bed
            .call(|handle| unsafe { ffi::wizloop_pc_receive(handle, number, data.as_mut_ptr().cast(), data.len()) })?;
        Ok(given as usize)
    }

    /// FIN after what was sent.
    pub fn close(&self) -> Result<(), Error> {
        let number = self.number;
        // SAFETY: the handle is good, or destroyed, which the library knows.
        self.bed.call(|handle| unsafe { ffi::wizloop_pc_close(handle, number) }).map(|_| ())
    }
}

/// A UDP port of the PC.
pub struct PcUdp {
    bed: Arc<Bed>,
    number: c_int,
}

impl PcUdp {
    /// Sends one datagram; whether it was taken.
    pub fn send_to(&self, data: &[u8], to: SocketAddrV4) -> Result<bool, Error> {
        let (number, ip) = (self.number, u32::from(*to.ip()));
        // SAFETY: `data` is good for its length.
        let taken = self.bed.call(|handle| unsafe {
            ffi::wizloop_pc_send_to(handle, number, ip, to.port(), data.as_ptr().cast(), data.len())
        })?;
        Ok(taken as usize == data.len())
    }

    /// One datagram, if one is there: its length, of which what does not fit is lost, and its sender.
    pub fn receive_from(&self, data: &mut [u8]) -> Result<Option<(usize, SocketAddrV4)>, Error> {
        let number = self.number;
        let (mut ip, mut port) = (0, 0);
        // SAFETY: `data` is good for its length; `ip` and `port` outlive the call.
        let bytes = self.bed.call(|handle| unsafe {
            ffi::wizloop_pc_receive_from(handle, number, &mut ip, &mut port, data.as_mut_ptr().cast(), data.len())
        })?;
        Ok((bytes > 0).then(|| (bytes as usize, SocketAddrV4::new(Ipv4Addr::from(ip), port))))
    }

    /// Closes the port.
    pub fn close(&self) -> Result<(), Error> {
        let number = self.number;
        // SAFETY: the handle is good, or destroyed, which the library knows.
        self.bed.call(|handle| unsafe { ffi::wizloop_pc_close(handle, number) }).map(|_| ())
    }
}
