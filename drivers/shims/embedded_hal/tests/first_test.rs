use embedded_hal::spi::{Operation, SpiDevice};

const CAPTURE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/wizloop.pcapng");

#[test]
fn it_finds_its_chip() {
    let bed = wizloop::Testbed::builder().board("w55rp20").pcap(CAPTURE).build().unwrap();
    bed.pc().serve("tcp-echo", "port=7").unwrap();

    let mut spi = bed.spi_device(); // MyDriver::new(bed.spi_device(), bed.rstn(), bed.delay())
    let mut version = [0];
    spi.transaction(&mut [Operation::Write(&[0x00, 0x39, 0x00]), Operation::Read(&mut version)]).unwrap();
    assert_eq!(version, [4]);

    assert_eq!(bed.failing(), 0, "{}", bed.report());
    bed.close().unwrap(); // the capture is whole
}
