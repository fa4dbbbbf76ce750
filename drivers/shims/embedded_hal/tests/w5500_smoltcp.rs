//! The crate w5500 in MACRAW mode, under smoltcp.

mod common;

use std::time::Duration;

use common::{expect_findings, pattern, testbed, until, IP, KB64, MAC};
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpCidr};
use w5500::bus::{Bus, FourWire};
use w5500::raw_device::RawDevice;
use w5500::{MacAddress, UninitializedDevice};
use wizloop::{Pc, SpiDevice, Testbed};

/// The chip in MACRAW mode, as smoltcp sees it.
struct Wire<B: Bus>(RawDevice<B>);

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

struct Sender<'a, B: Bus>(&'a mut RawDevice<B>);

impl<B: Bus> TxToken for Sender<'_, B> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let mut frame = vec![0; length];
        let result = fill(&mut frame);
        assert_eq!(self.0.write_frame(&frame).unwrap(), length);
        result
    }
}

impl<B: Bus> Device for Wire<B> {
    type RxToken<'a>
        = Received
    where
        B: 'a;
    type TxToken<'a>
        = Sender<'a, B>
    where
        B: 'a;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sender<'_, B>)> {
        let mut frame = vec![0; 1514];
        match self.0.read_frame(&mut frame).unwrap() {
            0 => None,
            length => {
                frame.truncate(length);
                Some((Received(frame), Sender(&mut self.0)))
            }
        }
    }
    fn transmit(&mut self, _: Instant) -> Option<Sender<'_, B>> {
        Some(Sender(&mut self.0))
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

/// smoltcp on the chip.
struct Stack<B: Bus> {
    bed: Testbed,
    wire: Wire<B>,
    interface: Interface,
    sockets: SocketSet<'static>,
}

impl<B: Bus> Stack<B> {
    fn new(bed: &Testbed, device: RawDevice<B>) -> Self {
        let mut wire = Wire(device);
        let mut interface = Interface::new(Config::new(EthernetAddress(MAC).into()), &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|addresses| addresses.push(IpCidr::new(IP.into(), 24)).unwrap());
        Stack { bed: bed.clone(), wire, interface, sockets: SocketSet::new(Vec::new()) }
    }

    /// Runs the stack until there is something to see.
    fn until<T>(&mut self, what: &str, mut look: impl FnMut(&mut Interface, &mut SocketSet) -> Option<T>) -> T {
        let bed = self.bed.clone();
        until(&bed, what, || {
            let now = Instant::from_micros(i64::try_from(bed.now().as_micros()).unwrap());
            self.interface.poll(now, &mut self.wire, &mut self.sockets);
            look(&mut self.interface, &mut self.sockets)
        })
    }
}

fn raw(bed: &Testbed) -> Stack<FourWire<SpiDevice>> {
    bed.advance(Duration::from_millis(1)); // the PLL
    let chip = UninitializedDevice::new(FourWire::new(bed.spi_device()));
    Stack::new(bed, chip.initialize_macraw(MacAddress { octets: MAC }).unwrap())
}

#[test]
fn tcp_client_echo_64k() {
    let bed = testbed("w5500_smoltcp_tcp_client_echo_64k").board("w55rp20").build().unwrap();
    bed.pc().serve("tcp-echo", "port=7").unwrap();
    let mut stack = raw(&bed);
    let buffer = || tcp::SocketBuffer::new(vec![0; 4096]);
    let mut socket = tcp::Socket::new(buffer(), buffer());
    socket.connect(stack.interface.context(), (Pc::IP, 7), 50_000).unwrap();
    let socket = stack.sockets.add(socket);
    let (sent, mut at, mut back) = (pattern(KB64), 0, Vec::new());
    stack.until("echo", |_, sockets| {
        let socket = sockets.get_mut::<tcp::Socket>(socket);
        if socket.can_send() {
            at += socket.send_slice(&sent[at..]).unwrap();
        }
        let mut chunk = [0; 4096];
        if socket.can_recv() {
            let count = socket.recv_slice(&mut chunk).unwrap();
            back.extend_from_slice(&chunk[..count]);
        }
        (back.len() == sent.len()).then_some(())
    });
    assert!(back == sent);
    expect_findings(&bed, &[]);
}

#[test]
fn udp() {
    let bed = testbed("w5500_smoltcp_udp").build().unwrap();
    bed.pc().serve("udp-echo", "port=7").unwrap();
    let mut stack = raw(&bed);
    let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 4], vec![0; 4096]);
    let mut socket = udp::Socket::new(buffer(), buffer());
    socket.bind(5000).unwrap();
    socket.send_slice(&pattern(1472), (Pc::IP, 7)).unwrap();
    let socket = stack.sockets.add(socket);
    let back = stack.until("datagram", |_, sockets| {
        sockets.get_mut::<udp::Socket>(socket).recv().ok().map(|(data, _)| data.to_vec())
    });
    assert!(back == pattern(1472));
    expect_findings(&bed, &[]);
}

#[test]
fn answers_ping() {
    let bed = testbed("w5500_smoltcp_ping").build().unwrap();
    let mut stack = raw(&bed);
    let ping = bed.pc().serve("ping", &format!("to={IP} count=3 interval_ms=10")).unwrap();
    stack.until("answers", |_, _| (ping.count("answered").unwrap() == 3).then_some(()));
    assert_eq!(ping.count("lost").unwrap(), 0);
    expect_findings(&bed, &[]);
}
