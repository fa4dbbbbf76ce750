//! The crate embassy-net-wiznet: MACRAW under embassy-net, its tasks on virtual time.

mod common;

use std::future::Future;
use std::net::Ipv4Addr;
use std::time::Duration;

use common::{expect_findings, pattern, testbed, Known, GATEWAY, IP, KB64, MAC};
use embassy_futures::select::{select, select3, Either, Either3};
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{tcp::TcpSocket, Config, Ipv4Cidr, Stack, StackResources, StaticConfigV4};
use embassy_net_wiznet::{chip::W5500, State};
use wizloop::{Pc, Task, Testbed};

/// Socket 0 gets 16 KiB and the others keep the 2 KiB of reset.
const BUFFERS_OVERLAP: Known = ("buffers-over-committed", "embassy-net-wiznet uses socket 0 alone");
/// Frames are sent with no look at Sn_IR.
const SENDOK_IS_LEFT: Known = ("send-result-not-cleared", "embassy-net-wiznet does not use SENDOK");
/// As nobody waits for SENDOK, a short frame written while a long one is on the wire is sent too early.
const SENDS_TOO_EARLY: Known = ("send-while-sending", "embassy-net-wiznet does not wait for SENDOK");

fn static_config() -> Config {
    Config::ipv4_static(StaticConfigV4 {
        address: Ipv4Cidr::new(IP, 24),
        gateway: Some(GATEWAY),
        dns_servers: Default::default(),
    })
}

/// Runs `test` beside the tasks of the driver and of the stack.
fn with_stack<T>(bed: &Testbed, config: Config, test: impl AsyncFnOnce(Stack<'_>) -> T) -> T {
    bed.block_on(async {
        let mut state = State::<4, 4>::new();
        let started =
            embassy_net_wiznet::new::<4, 4, W5500, _, _, _>(MAC, &mut state, bed.spi_device(), bed.intn(), bed.rstn());
        let (device, driver) = started.await.unwrap();
        let mut resources = StackResources::<4>::new();
        let (stack, mut network) = embassy_net::new(device, config, &mut resources, 1);
        match select3(Task::new(driver.run()), Task::new(network.run()), Task::new(test(stack))).await {
            Either3::First(_) | Either3::Second(_) => unreachable!("tasks that never end"),
            Either3::Third(result) => result,
        }
    })
}

async fn within_10s<T>(bed: &Testbed, what: &str, future: impl Future<Output = T>) -> T {
    match select(future, embassy_time::Timer::after_secs(10)).await {
        Either::First(result) => result,
        Either::Second(()) => panic!("still no {what}\n{}", bed.report()),
    }
}

async fn echo(bed: &Testbed, stack: Stack<'_>, sent: &[u8]) -> Vec<u8> {
    let (mut rx, mut tx) = ([0; 4096], [0; 4096]);
    let mut socket = TcpSocket::new(stack, &mut rx, &mut tx);
    within_10s(bed, "connection", socket.connect((Pc::IP, 7))).await.unwrap();
    let (mut reader, mut writer) = socket.split();
    let mut back = vec![0; sent.len()];
    let send = async {
        let mut rest = sent;
        while !rest.is_empty() {
            let count = writer.write(rest).await.unwrap();
            rest = &rest[count..];
        }
    };
    let receive = async {
        let mut at = 0;
        while at < back.len() {
            let count = reader.read(&mut back[at..]).await.unwrap();
            assert!(count > 0);
            at += count;
        }
    };
    within_10s(bed, "echo", embassy_futures::join::join(send, receive)).await;
    back
}

fn echo_64k(bed: &Testbed) {
    bed.pc().serve("tcp-echo", "port=7").unwrap();
    let sent = pattern(KB64);
    let back = with_stack(bed, static_config(), async |stack| {
        within_10s(bed, "link", stack.wait_link_up()).await;
        echo(bed, stack, &sent).await
    });
    assert!(back == sent);
}

/// Writing the shortest frame takes longer at 4 MHz than the longest is on the wire.
#[test]
fn tcp_client_echo_64k_on_a_slow_bus() {
    let bed = testbed("embassy_net_wiznet_tcp_client_echo_64k_on_a_slow_bus")
        .board("w55rp20")
        .set("board.sclk_hz=4000000")
        .build()
        .unwrap();
    echo_64k(&bed);
    expect_findings(&bed, &[BUFFERS_OVERLAP, SENDOK_IS_LEFT]);
    bed.close().unwrap();
}

#[test]
fn tcp_client_echo_64k_where_sn_tx_wr_reads_as_written() {
    let bed = testbed("embassy_net_wiznet_tcp_client_echo_64k_where_sn_tx_wr_reads_as_written")
        .board("w55rp20")
        .set("chip.quirk.tx_wr_readback=plain")
        .build()
        .unwrap();
    echo_64k(&bed);
    expect_findings(&bed, &[BUFFERS_OVERLAP, SENDOK_IS_LEFT, SENDS_TOO_EARLY]);
}

/// Where Sn_TX_WR reads as of the last SEND that was carried out, the frame after one that was sent too early is written
/// over it. TCP repairs that, a second or more each time.
#[test]
fn tcp_client_echo_on_a_fast_bus_loses_frames() {
    let bed = testbed("embassy_net_wiznet_tcp_client_echo_on_a_fast_bus").board("w55rp20").build().unwrap();
    bed.pc().serve("tcp-echo", "port=7").unwrap();
    let sent = pattern(8192);
    let took = with_stack(&bed, static_config(), async |stack| {
        within_10s(&bed, "link", stack.wait_link_up()).await;
        let began = bed.now();
        assert!(echo(&bed, stack, &sent).await == sent);
        bed.now() - began
    });
    assert!(took > Duration::from_secs(1), "{took:?}");
    expect_findings(&bed, &[BUFFERS_OVERLAP, SENDOK_IS_LEFT, SENDS_TOO_EARLY]);
}

#[test]
fn ping_is_answered() {
    let bed = testbed("embassy_net_wiznet_ping").build().unwrap();
    with_stack(&bed, static_config(), async |stack| {
        within_10s(&bed, "link", stack.wait_link_up()).await;
        let ping = bed.pc().serve("ping", &format!("to={IP} count=3 interval_ms=10")).unwrap();
        within_10s(&bed, "answer", async {
            while ping.count("answered").unwrap() < 3 {
                embassy_time::Timer::after_millis(1).await;
            }
        })
        .await;
        assert_eq!(ping.count("lost").unwrap(), 0);
    });
    expect_findings(&bed, &[BUFFERS_OVERLAP, SENDOK_IS_LEFT]);
}

#[test]
fn udp() {
    let bed = testbed("embassy_net_wiznet_udp").build().unwrap();
    bed.pc().serve("udp-echo", "port=7").unwrap();
    with_stack(&bed, static_config(), async |stack| {
        within_10s(&bed, "link", stack.wait_link_up()).await;
        let (mut rx_meta, mut tx_meta) = ([PacketMetadata::EMPTY; 4], [PacketMetadata::EMPTY; 4]);
        let (mut rx, mut tx) = ([0; 4096], [0; 4096]);
        let mut socket = UdpSocket::new(stack, &mut rx_meta, &mut rx, &mut tx_meta, &mut tx);
        socket.bind(5000).unwrap();
        for size in [1, 100, 1472] {
            let sent = pattern(size);
            socket.send_to(&sent, (Pc::IP, 7)).await.unwrap();
            let mut back = [0; 2048];
            let (count, from) = within_10s(&bed, "datagram", socket.recv_from(&mut back)).await.unwrap();
            assert_eq!((&back[..count], from.endpoint.port), (&sent[..], 7));
        }
    });
    expect_findings(&bed, &[BUFFERS_OVERLAP, SENDOK_IS_LEFT]);
}

/// The first DISCOVER goes before the link is up: this takes a chip that gives SENDOK for it.
#[test]
fn dhcp_and_dns() {
    let bed = testbed("embassy_net_wiznet_dhcp_and_dns").set("chip.quirk.macraw_without_link=sendok").build().unwrap();
    bed.pc().serve("dhcp", "first=192.168.1.100 count=4 router=192.168.1.1 dns=192.168.1.10").unwrap();
    bed.pc().serve("dns", "broker.lan=192.168.1.77").unwrap();
    let (address, broker) = with_stack(&bed, Config::dhcpv4(Default::default()), async |stack| {
        within_10s(&bed, "lease", stack.wait_config_up()).await;
        let query = stack.dns_query("broker.lan", embassy_net::dns::DnsQueryType::A);
        let broker = within_10s(&bed, "address of the name", query).await.unwrap();
        (stack.config_v4().unwrap().address.address(), broker)
    });
    assert_eq!(address, Ipv4Addr::new(192, 168, 1, 100));
    assert_eq!(broker.as_slice(), [Ipv4Addr::new(192, 168, 1, 77).into()]);
    expect_findings(&bed, &[BUFFERS_OVERLAP, SENDOK_IS_LEFT]);
}

/// The same on a chip that gives no SENDOK without a link, nor later: what the driver sends from then on waits behind it.
#[test]
fn a_frame_sent_without_link_is_the_last() {
    let bed = testbed("embassy_net_wiznet_a_frame_sent_without_link").build().unwrap();
    let server = bed.pc().serve("dhcp", "first=192.168.1.100").unwrap();
    with_stack(&bed, Config::dhcpv4(Default::default()), async |stack| {
        within_10s(&bed, "link", stack.wait_link_up()).await;
        embassy_time::Timer::after_secs(60).await;
        assert!(stack.config_v4().is_none());
    });
    assert_eq!(server.count("leases").unwrap(), 0);
    assert_eq!(bed.counter("frames_sent").unwrap(), 0);
    expect_findings(&bed, &[BUFFERS_OVERLAP, SENDS_TOO_EARLY]);
}
