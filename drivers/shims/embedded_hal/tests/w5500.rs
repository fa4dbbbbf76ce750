//! The crate w5500: hardware sockets behind embedded-nal.

mod common;

use std::net::SocketAddr;
use std::time::Duration;

use common::{expect_findings, pattern, testbed, until, Known, IP, KB64, MAC};
use embedded_hal::digital::OutputPin;
use embedded_nal::{nb, TcpClientStack, UdpClientStack};
use w5500::bus::{FourWire, ThreeWire};
use w5500::udp::UdpSocket;
use w5500::{DeviceState, MacAddress, Manual, Mode, UninitializedDevice};
use wizloop::{Pc, SpiDevice, Testbed};

type Chip = w5500::Device<FourWire<SpiDevice>, DeviceState<Manual>>;

/// `close()` is CLOSE without DISCON.
const CLOSES_HARD: Known = ("close-without-disconnect", "w5500 has no other way to end a connection");

/// `receive()` of UDP takes as the length what the RX buffer holds, headers included, from behind the header on.
const READS_TOO_FAR: Known = ("read-beyond-received", "w5500 takes the larger of two lengths, not the smaller");
/// Frames of a length that the driver did not mean are read as others.
const READS_ANYWHERE: Known = ("reserved-register", "w5500 sets the wrong bits in fixed data length mode");

fn mac() -> MacAddress {
    MacAddress { octets: MAC }
}

fn started(bed: &Testbed) -> Chip {
    bed.advance(Duration::from_millis(1)); // the PLL
    UninitializedDevice::new(FourWire::new(bed.spi_device())).initialize_manual(mac(), IP, Mode::default()).unwrap()
}

fn pc(port: u16) -> SocketAddr {
    (Pc::IP, port).into()
}

#[test]
fn tcp_client_echo_64k() {
    let bed = testbed("w5500_tcp_client_echo_64k").board("w55rp20").build().unwrap();
    bed.pc().serve("tcp-echo", "port=7").unwrap();
    let mut chip = started(&bed);
    let mut socket = TcpClientStack::socket(&mut chip).unwrap();
    nb::block!(TcpClientStack::connect(&mut chip, &mut socket, pc(7))).unwrap();
    let (sent, mut at, mut back) = (pattern(KB64), 0, Vec::new());
    until(&bed, "echo", || {
        if at < sent.len() && at - back.len() < 2048 {
            let end = (at + 1024).min(sent.len());
            at += nb::block!(TcpClientStack::send(&mut chip, &mut socket, &sent[at..end])).unwrap();
        }
        let mut chunk = [0; 2048];
        let count = nb::block!(TcpClientStack::receive(&mut chip, &mut socket, &mut chunk)).unwrap();
        back.extend_from_slice(&chunk[..count]);
        (back.len() == sent.len()).then_some(())
    });
    assert!(back == sent);
    TcpClientStack::close(&mut chip, socket).unwrap();
    expect_findings(&bed, &[CLOSES_HARD]);
    bed.close().unwrap();
}

fn udp_socket(bed: &Testbed) -> (Chip, UdpSocket) {
    bed.pc().serve("udp-echo", "port=7").unwrap();
    let mut chip = started(bed);
    let mut socket = UdpClientStack::socket(&mut chip).unwrap();
    UdpClientStack::connect(&mut chip, &mut socket, pc(7)).unwrap();
    (chip, socket)
}

/// `receive()` says 8 bytes more than came: it counts the header that the chip puts before a datagram.
#[test]
fn udp() {
    let bed = testbed("w5500_udp").build().unwrap();
    let (mut chip, mut socket) = udp_socket(&bed);
    for size in [1, 100, 1472] {
        let sent = pattern(size);
        nb::block!(UdpClientStack::send(&mut chip, &mut socket, &sent)).unwrap();
        let mut back = [0; 2048];
        let (count, from) = nb::block!(UdpClientStack::receive(&mut chip, &mut socket, &mut back)).unwrap();
        assert_eq!((count, from), (size + 8, pc(7)));
        assert_eq!(back[..size], sent[..]);
    }
    expect_findings(&bed, &[READS_TOO_FAR]);
}

/// `receive()` takes all that the RX buffer holds for one datagram.
#[test]
fn udp_loses_the_second_of_two_datagrams_that_wait() {
    let bed = testbed("w5500_udp_two_wait").build().unwrap();
    let (mut chip, mut socket) = udp_socket(&bed);
    for datagram in [b"one", b"two"] {
        nb::block!(UdpClientStack::send(&mut chip, &mut socket, datagram)).unwrap();
        bed.advance(Duration::from_millis(1));
    }
    let mut back = [0; 2048];
    let (count, _) = nb::block!(UdpClientStack::receive(&mut chip, &mut socket, &mut back)).unwrap();
    assert_eq!((count, &back[..3]), (8 + 3 + 8 + 3, &b"one"[..]));
    assert!(matches!(UdpClientStack::receive(&mut chip, &mut socket, &mut back), Err(nb::Error::WouldBlock)));
    expect_findings(&bed, &[READS_TOO_FAR]);
}

/// The writes of `ThreeWire` lack the bit of a write, and the driver does not look.
#[test]
fn fixed_data_length_mode_writes_nothing() {
    let bed = testbed("w5500_fixed_data_length_mode").build().unwrap();
    bed.scsn().set_low().unwrap(); // tied low
    bed.advance(Duration::from_millis(1)); // the PLL
    let chip = UninitializedDevice::new(ThreeWire::new(bed.spi_bus()));
    chip.initialize_manual(mac(), IP, Mode::default()).unwrap();
    assert_eq!(bed.peek::<6>(0, 0x0009).unwrap(), [0; 6]); // SHAR
    assert_eq!(bed.peek::<4>(0, 0x000F).unwrap(), [0; 4]); // SIPR
    expect_findings(&bed, &[READS_ANYWHERE]);
}
