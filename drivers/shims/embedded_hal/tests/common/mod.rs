//! What the tests of drivers have in common.
#![allow(dead_code)] // no test uses all of it

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use wizloop::{Builder, PcTcp, Testbed};

pub const MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x00, 0x00, 0x20];
pub const IP: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 20);
pub const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 1);
pub const KB64: usize = 64 * 1024;

/// A testbed with a capture in the folder that cargo keeps for tests.
pub fn testbed(name: &str) -> Builder {
    Testbed::builder().name(name).pcap(format!("{}/{name}.pcapng", env!("CARGO_TARGET_TMPDIR")))
}

/// Bytes in which a byte lost, doubled or moved shows.
pub fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

/// A rule that a driver breaks, and why its tests accept that.
pub type Known = (&'static str, &'static str);

/// Exactly these rules were broken, and with that known the run passes.
pub fn expect_findings(bed: &Testbed, expected: &[Known]) {
    for (rule, reason) in expected {
        bed.announce(rule, reason).unwrap();
    }
    let found: BTreeSet<_> = bed.findings().into_iter().map(|finding| finding.rule).collect();
    let rules: BTreeSet<_> = expected.iter().map(|(rule, _)| String::from(*rule)).collect();
    assert_eq!(found, rules, "{}", bed.report());
    assert_eq!(bed.failing(), 0, "{}", bed.report());
}

/// Looks again each 100 us until there is something to see; panics after 10 s of virtual time.
pub fn until<T>(bed: &Testbed, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = bed.now() + Duration::from_secs(10);
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(bed.now() < deadline, "still no {what}\n{}", bed.report());
        bed.advance(Duration::from_micros(100));
    }
}

/// Takes what has come for the PC.
pub fn take(socket: &PcTcp, received: &mut Vec<u8>) {
    let mut chunk = [0; 4096];
    loop {
        match socket.receive(&mut chunk).unwrap() {
            0 => return,
            count => received.extend_from_slice(&chunk[..count]),
        }
    }
}
