//! The crates w5500-ll and w5500-hl: hardware sockets, in variable and in fixed data length mode.

mod common;

use std::time::Duration;

use common::{expect_findings, pattern, take, testbed, until, Known, GATEWAY, IP, KB64, MAC, MASK};
use embedded_hal::digital::OutputPin;
use w5500_hl::ll::net::{Eui48Addr, Ipv4Addr, SocketAddrV4};
use w5500_hl::ll::{eh1, LinkStatus, Registers, Sn, SocketStatus};
use w5500_hl::{block, Common, Tcp, Udp};
use wizloop::{Pc, PcState, SpiDevice, Testbed};

const PC: Ipv4Addr = Pc::IP;

/// tcp_write() and udp_send() neither wait for SENDOK nor clear it.
const SENDOK_IS_LEFT: Known = ("send-result-not-cleared", "w5500-hl leaves Sn_IR to its user");

fn configure<W: Registers>(bed: &Testbed, chip: &mut W)
where
    W::Error: std::fmt::Debug,
{
    assert_eq!(chip.version().unwrap(), w5500_hl::ll::VERSION);
    chip.set_shar(&Eui48Addr { octets: MAC }).unwrap();
    chip.set_sipr(&IP).unwrap();
    chip.set_subr(&MASK).unwrap();
    chip.set_gar(&GATEWAY).unwrap();
    until(bed, "link", || (chip.phycfgr().unwrap().lnk() == LinkStatus::Up).then_some(()));
}

fn started(bed: &Testbed) -> eh1::vdm::W5500<SpiDevice> {
    eh1::reset(&mut bed.rstn(), &mut bed.delay()).unwrap();
    let mut chip = eh1::vdm::W5500::new(bed.spi_device());
    configure(bed, &mut chip);
    chip
}

fn connect<W: Registers>(bed: &Testbed, chip: &mut W, port: u16)
where
    W::Error: std::fmt::Debug,
{
    chip.tcp_connect(Sn::Sn0, 50_000, &SocketAddrV4::new(PC, port)).unwrap();
    until(bed, "connection", || (chip.sn_sr(Sn::Sn0).unwrap() == Ok(SocketStatus::Established)).then_some(()));
}

/// Sends and receives until all is back.
fn echo<W: Registers>(bed: &Testbed, chip: &mut W, sent: &[u8]) -> Vec<u8>
where
    W::Error: std::fmt::Debug,
{
    let (mut at, mut back) = (0, Vec::new());
    until(bed, "echo", || {
        let end = (at + 2048).min(sent.len());
        at += usize::from(chip.tcp_write(Sn::Sn0, &sent[at..end]).unwrap());
        let mut chunk = [0; 2048];
        let count = usize::from(chip.tcp_read(Sn::Sn0, &mut chunk).unwrap());
        back.extend_from_slice(&chunk[..count]);
        (back.len() == sent.len()).then_some(())
    });
    back
}

#[test]
fn tcp_client_echo_64k() {
    let bed = testbed("w5500_hl_tcp_client_echo_64k").board("w55rp20").build().unwrap();
    bed.pc().serve("tcp-echo", "port=7").unwrap();
    let mut chip = started(&bed);
    connect(&bed, &mut chip, 7);
    let sent = pattern(KB64);
    assert!(echo(&bed, &mut chip, &sent) == sent);
    chip.tcp_disconnect(Sn::Sn0).unwrap();
    until(&bed, "end", || chip.is_state_closed(Sn::Sn0).unwrap().then_some(()));
    expect_findings(&bed, &[SENDOK_IS_LEFT]);
    bed.close().unwrap();
}

#[test]
fn tcp_server() {
    let bed = testbed("w5500_hl_tcp_server").build().unwrap();
    let mut chip = started(&bed);
    chip.tcp_listen(Sn::Sn1, 80).unwrap();
    let pc = bed.pc().tcp_connect(SocketAddrV4::new(IP, 80)).unwrap();
    until(&bed, "connection", || (chip.sn_sr(Sn::Sn1).unwrap() == Ok(SocketStatus::Established)).then_some(()));
    until(&bed, "connection of the PC", || (pc.state().unwrap() == PcState::Connected).then_some(()));

    assert_eq!(pc.send(b"GET / HTTP/1.0\r\n\r\n").unwrap(), 18);
    let mut request = [0; 64];
    let count = until(&bed, "request", || match chip.tcp_read(Sn::Sn1, &mut request).unwrap() {
        0 => None,
        count => Some(usize::from(count)),
    });
    assert_eq!(&request[..count], b"GET / HTTP/1.0\r\n\r\n");
    assert_eq!(chip.tcp_write(Sn::Sn1, b"HTTP/1.0 204 No Content\r\n\r\n").unwrap(), 27);
    let mut answer = Vec::new();
    until(&bed, "answer", || {
        take(&pc, &mut answer);
        (answer.len() == 27).then_some(())
    });
    chip.tcp_disconnect(Sn::Sn1).unwrap();
    until(&bed, "FIN", || (pc.state().unwrap() == PcState::PeerClosed).then_some(()));
    pc.close().unwrap();
    until(&bed, "end", || chip.is_state_closed(Sn::Sn1).unwrap().then_some(()));
    expect_findings(&bed, &[]);
}

#[test]
fn udp() {
    let bed = testbed("w5500_hl_udp").build().unwrap();
    bed.pc().serve("udp-echo", "port=7").unwrap();
    let mut chip = started(&bed);
    chip.udp_bind(Sn::Sn2, 5000).unwrap();
    for size in [1, 100, 1472] {
        let sent = pattern(size);
        assert_eq!(usize::from(chip.udp_send_to(Sn::Sn2, &sent, &SocketAddrV4::new(PC, 7)).unwrap()), size);
        let mut back = [0; 2048];
        let (count, from) = block!(chip.udp_recv_from(Sn::Sn2, &mut back)).unwrap();
        assert_eq!((&back[..usize::from(count)], from), (&sent[..], SocketAddrV4::new(PC, 7)));
    }
    expect_findings(&bed, &[SENDOK_IS_LEFT]);
}

#[test]
fn tcp_client_echo_64k_in_fixed_data_length_mode() {
    let bed = testbed("w5500_hl_tcp_client_echo_64k_in_fixed_data_length_mode").build().unwrap();
    bed.pc().serve("tcp-echo", "port=7").unwrap();
    bed.scsn().set_low().unwrap(); // tied low
    eh1::reset(&mut bed.rstn(), &mut bed.delay()).unwrap();
    let mut chip = eh1::fdm::W5500::new(bed.spi_bus());
    configure(&bed, &mut chip);
    connect(&bed, &mut chip, 7);
    let sent = pattern(KB64);
    assert!(echo(&bed, &mut chip, &sent) == sent);
    expect_findings(&bed, &[SENDOK_IS_LEFT]);
}

#[test]
fn a_cable_that_is_pulled_ends_the_connection() {
    let bed = testbed("w5500_hl_a_cable_that_is_pulled").build().unwrap();
    bed.pc().serve("tcp-echo", "port=7").unwrap();
    let mut chip = started(&bed);
    connect(&bed, &mut chip, 7);
    bed.set_link(false).unwrap();
    chip.tcp_write(Sn::Sn0, b"lost").unwrap();
    bed.advance(Duration::from_secs(60)); // RTR and RCR at reset give up after 31.8 s
    assert!(chip.is_state_closed(Sn::Sn0).unwrap());
    expect_findings(&bed, &[]);
}

#[test]
fn a_device_can_be_made_of_the_bus_and_the_select_pin() {
    let bed = testbed("w5500_ll_bus_and_select_pin").build().unwrap();
    bed.advance(Duration::from_millis(1)); // the PLL
    let device = embedded_hal_bus::spi::ExclusiveDevice::new(bed.spi_bus(), bed.scsn(), bed.delay()).unwrap();
    let mut chip = eh1::vdm::W5500::new(device);
    configure(&bed, &mut chip);
    assert_eq!(chip.sipr().unwrap(), IP);
    expect_findings(&bed, &[]);
}
