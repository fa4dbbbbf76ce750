//! The crates w5500-dhcp and w5500-dns, on w5500-hl, with the DHCP and DNS servers of the PC.

mod common;

use std::time::Duration;

use common::{expect_findings, testbed, until, Known, MAC};
use embassy_futures::select::select;
use embedded_hal_async::delay::DelayNs;
use embedded_hal_async::digital::Wait;
use w5500_dhcp::ll::net::{Eui48Addr, Ipv4Addr};
use w5500_dhcp::ll::{eh1, LinkStatus, Registers, Sn};
use w5500_dhcp::{Client, Hostname};
use w5500_dns::hl::block;
use w5500_dns::RData;
use wizloop::{Pc, SpiDevice, Testbed};

type Chip = eh1::vdm::W5500<SpiDevice>;

const NAME: Hostname = Hostname::new_unwrapped("board");
const LEASED: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 100);

/// The DNS client opens its socket for each question, and never looks at Sn_IR; that of DHCP clears it in process().
const SENDOK_IS_LEFT: Known = ("send-result-not-cleared", "w5500-hl leaves Sn_IR to its user");

fn started(bed: &Testbed) -> Chip {
    eh1::reset(&mut bed.rstn(), &mut bed.delay()).unwrap();
    let mut chip = eh1::vdm::W5500::new(bed.spi_device());
    chip.set_shar(&Eui48Addr { octets: MAC }).unwrap();
    chip
}

/// Calls process() as its documentation says, at once, at each interrupt, and when it asks for it, until `done`.
fn process_until(bed: &Testbed, chip: &mut Chip, client: &mut Client, done: impl Fn(&Client, &Testbed) -> bool) {
    let deadline = bed.now() + Duration::from_secs(7200);
    let mut intn = bed.intn();
    loop {
        let seconds = client.process(chip, bed.now().as_secs() as u32).unwrap();
        if done(client, bed) {
            return;
        }
        assert!(bed.now() < deadline, "{client:?}\n{}", bed.report());
        let mut delay = bed.delay();
        bed.block_on(select(intn.wait_for_low(), delay.delay_ms(1000 * seconds.max(1))));
    }
}

#[test]
fn dhcp_gets_a_lease_and_renews_it() {
    let bed = testbed("w5500_dhcp").build().unwrap();
    let server = bed.pc().serve("dhcp", "first=192.168.1.100 count=4 lease_s=600 router=192.168.1.1 dns=192.168.1.10");
    let mut chip = started(&bed);
    let mut client = Client::new(Sn::Sn0, 1, Eui48Addr { octets: MAC }, NAME);
    client.setup_socket(&mut chip).unwrap();
    process_until(&bed, &mut chip, &mut client, |client, _| client.has_lease());
    assert_eq!((client.leased_ip(), client.dns()), (Some(LEASED), Some(Pc::IP)));
    assert_eq!(chip.sipr().unwrap(), LEASED);
    assert_eq!(server.unwrap().count("leases").unwrap(), 1);

    process_until(&bed, &mut chip, &mut client, |client, bed| client.has_lease() && bed.now().as_secs() > 700);
    assert_eq!(client.leased_ip(), Some(LEASED));
    expect_findings(&bed, &[]);
    bed.close().unwrap();
}

#[test]
fn dhcp_asks_again_where_nobody_answers() {
    let bed = testbed("w5500_dhcp_again").build().unwrap();
    bed.pc().serve("dhcp", "first=192.168.1.100 ignored_discovers=2 refused_requests=1").unwrap();
    let mut chip = started(&bed);
    let mut client = Client::new(Sn::Sn0, 1, Eui48Addr { octets: MAC }, NAME);
    client.setup_socket(&mut chip).unwrap();
    process_until(&bed, &mut chip, &mut client, |client, _| client.has_lease());
    assert_eq!(client.leased_ip(), Some(LEASED));
    expect_findings(&bed, &[]);
}

fn resolve(chip: &mut Chip, name: &str) -> Vec<Ipv4Addr> {
    let mut client = w5500_dns::Client::new(Sn::Sn3, 45_917, Pc::IP, 1);
    let id = client.a_question(chip, &Hostname::new(name).unwrap()).unwrap();
    let mut buffer = [0; 64];
    let mut response = block!(client.response(chip, &mut buffer, id)).unwrap();
    let mut addresses = Vec::new();
    while let Some(record) = response.next_rr().unwrap() {
        if let RData::A(address) = record.rdata {
            addresses.push(address);
        }
    }
    response.done().unwrap();
    addresses
}

#[test]
fn dns_resolves_what_the_server_knows() {
    let bed = testbed("w5500_dns").build().unwrap();
    bed.pc().serve("dns", "broker.lan=192.168.1.77 two.lan=10.0.0.1 two.lan=10.0.0.2").unwrap();
    let mut chip = started(&bed);
    chip.set_sipr(&common::IP).unwrap();
    chip.set_subr(&common::MASK).unwrap();
    until(&bed, "link", || (chip.phycfgr().unwrap().lnk() == LinkStatus::Up).then_some(()));
    assert_eq!(resolve(&mut chip, "broker.lan"), [Ipv4Addr::new(192, 168, 1, 77)]);
    assert_eq!(resolve(&mut chip, "two.lan").len(), 2);
    assert!(resolve(&mut chip, "nobody.lan").is_empty());
    expect_findings(&bed, &[SENDOK_IS_LEFT]);
}
