//! The crate w5500-ll, async: registers, and an interrupt that is awaited.

mod common;

use std::net::SocketAddrV4;
use std::time::Duration;

use common::{expect_findings, testbed, IP, MAC, MASK};
use embedded_hal_async::digital::Wait;
use w5500_ll::aio::Registers;
use w5500_ll::net::Eui48Addr;
use w5500_ll::{eh1, Protocol, Sn, SocketCommand, SocketInterruptMask, SocketMode};

#[test]
fn a_datagram_is_awaited_and_read() {
    let bed = testbed("w5500_ll_a_datagram_is_awaited_and_read").board("w55rp20").build().unwrap();
    bed.advance(Duration::from_millis(1)); // the PLL
    let mut chip = eh1::vdm::W5500::new(bed.spi_device());
    let mut intn = bed.intn();
    let datagram = bed.block_on(async {
        assert_eq!(chip.version().await?, w5500_ll::VERSION);
        chip.set_shar(&Eui48Addr { octets: MAC }).await?;
        chip.set_sipr(&IP).await?;
        chip.set_subr(&MASK).await?;
        chip.set_simr(Sn::Sn0.bitmask()).await?;
        chip.set_sn_imr(Sn::Sn0, SocketInterruptMask::ALL_MASKED.unmask_recv()).await?;
        chip.set_sn_mr(Sn::Sn0, SocketMode::DEFAULT.set_protocol(Protocol::Udp)).await?;
        chip.set_sn_port(Sn::Sn0, 5000).await?;
        chip.set_sn_cr(Sn::Sn0, SocketCommand::Open).await?;

        let pc = bed.pc().udp_open(0)?;
        assert!(pc.send_to(b"hello", SocketAddrV4::new(IP, 5000))?);
        intn.wait_for_low().await?;
        let mut datagram = vec![0; chip.sn_rx_rsr(Sn::Sn0).await?.into()];
        let at = chip.sn_rx_rd(Sn::Sn0).await?;
        chip.sn_rx_buf(Sn::Sn0, at, &mut datagram).await?;
        chip.set_sn_rx_rd(Sn::Sn0, at.wrapping_add(datagram.len() as u16)).await?;
        chip.set_sn_cr(Sn::Sn0, SocketCommand::Recv).await?;
        Ok::<_, wizloop::Error>(datagram)
    });
    assert_eq!(datagram.unwrap()[8..], *b"hello"); // behind the sender and the length
    expect_findings(&bed, &[("never-reset", "registers alone: what is built on them resets the chip")]);
}
