//! The crate itself: handles, pins, buses, time, findings, and what drivers do wrong.

mod common;

use std::time::Duration;

use common::{expect_findings, pattern, testbed, until, IP, MAC};
use embedded_hal::delay::DelayNs;
use embedded_hal::digital::{InputPin, OutputPin};
use embedded_hal::spi::{Operation, SpiBus, SpiDevice};
use embedded_hal_async::digital::Wait;
use wizloop::{By, ErrorCode, Task, Testbed};

const VERSIONR: [u8; 3] = [0x00, 0x39, 0x00];

fn read<const N: usize>(spi: &mut impl SpiDevice, header: [u8; 3]) -> [u8; N] {
    let mut data = [0; N];
    spi.transaction(&mut [Operation::Write(&header), Operation::Read(&mut data)]).unwrap();
    data
}

fn write(spi: &mut impl SpiDevice, header: [u8; 3], data: &[u8]) {
    spi.transaction(&mut [Operation::Write(&header), Operation::Write(data)]).unwrap();
}

/// A chip as MR.RST leaves it.
fn reset(spi: &mut impl SpiDevice) {
    write(spi, [0x00, 0x00, 0x04], &[0x80]);
    while read::<1>(spi, [0x00, 0x00, 0x00]) != [0] {}
}

/// Socket 0 in UDP mode, with an address.
fn open_udp(bed: &Testbed) {
    let mut spi = bed.spi_device();
    reset(&mut spi);
    write(&mut spi, [0x00, 0x05, 0x04], &[255, 255, 255, 0]); // SUBR
    write(&mut spi, [0x00, 0x09, 0x04], &MAC); // SHAR
    write(&mut spi, [0x00, 0x0F, 0x04], &IP.octets()); // SIPR
    write(&mut spi, [0x00, 0x00, 0x0C], &[0x02]); // Sn_MR: UDP
    write(&mut spi, [0x00, 0x04, 0x0C], &5000u16.to_be_bytes()); // Sn_PORT
    write(&mut spi, [0x00, 0x01, 0x0C], &[0x01]); // Sn_CR: OPEN
    write(&mut spi, [0x00, 0x18, 0x04], &[0x01]); // SIMR
}

/// A datagram of the PC to port 5000, 20 ms from now.
async fn send_soon(bed: &Testbed) {
    embedded_hal_async::delay::DelayNs::delay_ms(&mut bed.delay(), 20).await;
    let pc = bed.pc().udp_open(0).unwrap();
    assert!(pc.send_to(b"hello", std::net::SocketAddrV4::new(IP, 5000)).unwrap());
}

#[test]
fn every_kind_of_operation_reads_the_same() {
    let bed = Testbed::builder().build().unwrap();
    for by in [By::Byte, By::Burst, By::Dma] {
        let mut spi = bed.spi_device().by(by);
        assert_eq!(read(&mut spi, VERSIONR), [4], "{by:?}");
        let mut frame = [0x00, 0x39, 0x00, 0xFF];
        spi.transfer_in_place(&mut frame).unwrap();
        assert_eq!(frame[3], 4, "{by:?}");
        let mut more = [0; 4];
        spi.transfer(&mut more, &VERSIONR).unwrap(); // what is written ends first
        assert_eq!(more[3], 4, "{by:?}");
        let mut less = [0; 2];
        spi.transfer(&mut less, &[0x00, 0x39, 0x00, 0x00]).unwrap();
        let before = bed.now();
        spi.transaction(&mut [Operation::Write(&VERSIONR), Operation::DelayNs(5000), Operation::Read(&mut less[..1])])
            .unwrap();
        assert!(bed.now() - before >= Duration::from_micros(5));
        assert_eq!(less[0], 4, "{by:?}");
    }
    assert_eq!(bed.failing(), 0, "{}", bed.report());
}

#[test]
fn a_buffer_that_is_both_read_and_written_arrives_whole() {
    let bed = Testbed::builder().build().unwrap();
    for by in [By::Byte, By::Burst, By::Dma] {
        let data = pattern(2048);
        let mut both = data.clone();
        let header = [0x00, 0x00, 0x14]; // TX buffer of socket 0, write
        let mut spi = bed.spi_device().by(by);
        spi.transaction(&mut [Operation::Write(&header), Operation::TransferInPlace(&mut both)]).unwrap();
        assert!(bed.peek::<2048>(2, 0).unwrap()[..] == data, "{by:?}");
    }
}

#[test]
fn a_bus_without_select_reads_frames_of_fixed_length() {
    let bed = Testbed::builder().build().unwrap();
    bed.scsn().set_low().unwrap();
    let mut bus = bed.spi_bus();
    for _ in 0..2 {
        let mut version = [0];
        bus.write(&[0x00, 0x39, 0x01]).unwrap();
        bus.read(&mut version).unwrap();
        bus.flush().unwrap();
        assert_eq!(version, [4]);
    }
    expect_findings(&bed, &[]);
}

#[test]
fn the_board_prices_each_way_to_move_a_buffer() {
    let time_of = |by| {
        let bed = Testbed::builder().board("stm32f405-cubeide").build().unwrap();
        let began = bed.now();
        read::<1024>(&mut bed.spi_device().by(by), [0x00, 0x00, 0x18]);
        bed.now() - began
    };
    assert!(time_of(By::Byte) > time_of(By::Burst));
    let bed = Testbed::builder().board("stm32f405-cubeide").build().unwrap();
    assert!(bed.price("sclk_hz").unwrap().unwrap() > 1e6);
    assert_eq!(bed.price("no_such_key").unwrap(), None);
}

#[test]
fn delays_take_virtual_time_only() {
    let bed = Testbed::builder().build().unwrap();
    bed.delay().delay_ms(3_600_000);
    assert_eq!(bed.now().as_secs(), 3600);
}

#[test]
fn reset_takes_registers_back() {
    let bed = Testbed::builder().build().unwrap();
    let mut spi = bed.spi_device();
    write(&mut spi, [0x00, 0x0F, 0x04], &IP.octets());
    bed.rstn().set_low().unwrap();
    bed.delay().delay_us(500);
    bed.rstn().set_high().unwrap();
    bed.delay().delay_ms(1);
    assert_eq!(read(&mut spi, [0x00, 0x0F, 0x00]), [0; 4]);
}

#[test]
fn intn_falls_for_one_task_while_another_sleeps() {
    let bed = testbed("testbed_intn").build().unwrap();
    open_udp(&bed);
    bed.advance(Duration::from_millis(1));
    let mut intn = bed.intn();
    assert!(intn.is_high().unwrap());
    bed.block_on(async {
        let waits = async {
            intn.wait_for_falling_edge().await.unwrap();
            assert!(intn.is_low().unwrap());
            intn.wait_for_low().await.unwrap();
            write(&mut bed.spi_device(), [0x00, 0x02, 0x0C], &[0xFF]); // Sn_IR
            intn.wait_for_high().await.unwrap();
        };
        embassy_futures::join::join(Task::new(waits), Task::new(send_soon(&bed))).await;
    });
    assert!(bed.now() > Duration::from_millis(20) && bed.now() < Duration::from_millis(30));
    expect_findings(&bed, &[]);
}

#[test]
fn waits_let_time_pass_in_any_other_executor_too() {
    let bed = Testbed::builder().build().unwrap();
    open_udp(&bed);
    embassy_futures::block_on(send_soon(&bed));
    assert!(bed.now() >= Duration::from_millis(20));
    let mut intn = bed.intn();
    embassy_futures::block_on(intn.wait_for_low()).unwrap();
    assert!(intn.is_low().unwrap());
}

#[test]
#[should_panic(expected = "nothing will ever wake them")]
fn tasks_that_nothing_will_wake_are_found_out() {
    Testbed::builder().build().unwrap().block_on(std::future::pending::<()>());
}

#[test]
#[should_panic(expected = "while no virtual time passes")]
fn a_task_that_spins_is_found_out() {
    let bed = Testbed::builder().build().unwrap();
    bed.block_on(async {
        loop {
            embassy_futures::yield_now().await;
        }
    });
}

#[test]
#[should_panic(expected = "firmware hangs: it has read S0 Sn_IR = 0x00")]
fn a_driver_that_polls_for_ever_panics_with_the_register() {
    let bed = Testbed::builder().poll_limit(Duration::from_secs(1)).build().unwrap();
    let mut spi = bed.spi_device();
    while read(&mut spi, [0x00, 0x02, 0x08]) == [0] {}
}

#[test]
#[should_panic(expected = "firmware hangs: it has read S0 Sn_IR = 0x00")]
fn so_does_one_that_never_raises_scsn() {
    let bed = Testbed::builder().poll_limit(Duration::from_secs(1)).build().unwrap();
    bed.scsn().set_low().unwrap();
    let mut bus = bed.spi_bus();
    let mut sn_ir = [0];
    while sn_ir == [0] {
        bus.write(&[0x00, 0x02, 0x09]).unwrap();
        bus.read(&mut sn_ir).unwrap();
    }
}

/// A driver that talks to its chip when it is dropped, as some do.
struct Closes(wizloop::SpiDevice);

impl Drop for Closes {
    fn drop(&mut self) {
        let _ = self.0.write(&[0x00, 0x01, 0x0C, 0x10]);
    }
}

#[test]
fn what_is_left_of_a_hang_can_be_looked_at() {
    let bed = Testbed::builder().poll_limit(Duration::from_secs(1)).build().unwrap();
    let mut driver = Closes(bed.spi_device());
    let hangs = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let driver = &mut driver;
        while read(&mut driver.0, [0x00, 0x02, 0x08]) == [0] {}
    }));
    assert!(hangs.is_err());
    assert_eq!(bed.findings()[0].rule, "endless-poll");
    assert_eq!(bed.failing(), 1, "{}", bed.report());
    let unwinds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || drop(driver)));
    assert!(unwinds.is_err(), "the chip is not there any more");
}

#[test]
fn a_run_that_does_not_end_is_ended() {
    let bed = Testbed::builder().run_limit(Duration::from_secs(2)).build().unwrap();
    let ends = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| loop {
        bed.advance(Duration::from_secs(1));
        read::<1>(&mut bed.spi_device(), VERSIONR);
    }));
    let message = ends.unwrap_err();
    assert!(message.downcast_ref::<String>().unwrap().contains("has not ended after 2 s"), "{message:?}");
}

#[test]
fn findings_say_what_was_seen() {
    let bed = Testbed::builder().build().unwrap();
    write(&mut bed.spi_device(), [0x00, 0x39, 0x04], &[1]); // VERSIONR is read-only
    let findings = bed.findings();
    assert_eq!(findings.len(), 1, "{}", bed.report());
    assert_eq!((findings[0].rule.as_str(), findings[0].spi.as_str()), ("write-to-read-only", "00 39 04 01"));
    assert_eq!(findings[0].count, 1);
    bed.announce("write-to-read-only", "on purpose").unwrap();
    assert_eq!(bed.failing(), 0);
    assert_eq!(bed.announce("no-such-rule", "").unwrap_err().code(), ErrorCode::Argument);
}

#[test]
fn bad_input_is_an_error_by_name() {
    let message = |builder: wizloop::Builder| builder.build().err().unwrap().to_string();
    assert!(message(Testbed::builder().board("no-board")).contains("there is no board \"no-board\""));
    assert!(message(Testbed::builder().set("chip.no_such=1")).contains("no_such"));
    assert!(message(Testbed::builder().name("a\0b")).contains("NUL"));
    assert!(message(Testbed::builder().pcap("/no/such/folder/x.pcapng")).contains("/no/such/folder/x.pcapng"));
    let bed = Testbed::builder().build().unwrap();
    assert!(bed.pc().serve("gopher", "").err().unwrap().to_string().contains("unknown service \"gopher\""));
    assert!(bed.counter("apples").unwrap_err().to_string().contains("there is no counter \"apples\""));
    assert_eq!(bed.peek::<1>(32, 0).unwrap_err().code(), ErrorCode::Argument);
}

#[test]
fn a_closed_testbed_answers_with_errors() {
    let bed = testbed("testbed_closed").build().unwrap();
    let (mut spi, mut intn) = (bed.spi_device(), bed.intn());
    bed.clone().close().unwrap();
    assert_eq!(spi.write(&VERSIONR).unwrap_err().code(), ErrorCode::Handle);
    assert_eq!(intn.is_low().unwrap_err().code(), ErrorCode::Handle);
    assert_eq!(bed.close().unwrap_err().code(), ErrorCode::Handle);
}

#[test]
fn handles_work_from_another_thread() {
    let bed = Testbed::builder().build().unwrap();
    let mut spi = bed.spi_device();
    let version = std::thread::spawn(move || read(&mut spi, VERSIONR)).join().unwrap();
    assert_eq!(version, [4]);
    assert_eq!(bed.counter("spi_frames").unwrap(), 1);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let bed = testbed(&format!("testbed_seed_{seed}"))
            .seed(seed)
            .set("fault.link_delay=always,delay=5ms")
            .build()
            .unwrap();
        open_udp(&bed);
        let pc = bed.pc().udp_open(0).unwrap();
        assert!(pc.send_to(b"hello", std::net::SocketAddrV4::new(IP, 5000)).unwrap());
        until(&bed, "datagram", || (bed.intn().is_low().unwrap()).then_some(()));
        bed.counter("fingerprint").unwrap()
    };
    assert_eq!(run(1), run(1));
}

#[test]
fn the_test_in_the_readme_is_the_one_that_runs() {
    assert!(include_str!("../README.md").contains(include_str!("first_test.rs")));
}

#[test]
fn frames_of_many_buffers_are_frames_like_others() {
    let bed = Testbed::builder().build().unwrap();
    let mut spi = bed.spi_device();
    let mut version = [0];
    let mut operations: Vec<_> = VERSIONR.iter().map(|byte| Operation::Write(std::slice::from_ref(byte))).collect();
    operations.extend((0..10).map(|_| Operation::Write(&[])));
    operations.push(Operation::Read(&mut version));
    spi.transaction(&mut operations).unwrap();
    assert_eq!(version, [4]);

    let data = pattern(12);
    let mut operations = vec![Operation::Write(&[0x00, 0x00, 0x14])]; // TX buffer of socket 0, write
    operations.extend(data.chunks(1).map(Operation::Write));
    spi.transaction(&mut operations).unwrap();
    assert_eq!(bed.peek::<12>(2, 0).unwrap()[..], data[..]);
    assert_eq!(bed.counter("spi_frames").unwrap(), 2);
}

#[test]
fn clocks_to_a_chip_that_is_not_selected_are_a_finding() {
    let bed = Testbed::builder().build().unwrap();
    bed.spi_bus().write(&VERSIONR).unwrap();
    assert_eq!(bed.findings()[0].rule, "clocks-without-select");
    assert_eq!(bed.failing(), 1, "{}", bed.report());
}

#[test]
fn mode_1_is_a_finding_and_reads_half_a_clock_off() {
    let bed = Testbed::builder().build().unwrap();
    bed.spi_clock(8_000_000, embedded_hal::spi::MODE_1).unwrap();
    assert_ne!(read(&mut bed.spi_device(), VERSIONR), [4]);
    assert!(bed.failing() > 0);
    bed.spi_clock(8_000_000, embedded_hal::spi::MODE_3).unwrap();
    assert_eq!(read(&mut bed.spi_device(), VERSIONR), [4]);
    assert_eq!(bed.spi_clock(0, embedded_hal::spi::MODE_0).unwrap_err().code(), ErrorCode::Argument);
}

#[test]
fn a_frame_that_two_threads_clock_is_a_finding() {
    let bed = Testbed::builder().build().unwrap();
    bed.scsn().set_low().unwrap();
    bed.spi_bus().write(&VERSIONR).unwrap();
    let mut bus = bed.spi_bus();
    std::thread::spawn(move || bus.read(&mut [0])).join().unwrap().unwrap();
    bed.scsn().set_high().unwrap();
    assert_eq!(bed.findings()[0].rule, "frame-of-two-threads");
}

#[test]
fn a_station_of_the_tests_own_hears_and_answers() {
    let bed = testbed("testbed_station").station().build().unwrap();
    let mut spi = bed.spi_device();
    reset(&mut spi);
    write(&mut spi, [0x00, 0x00, 0x0C], &[0x04]); // Sn_MR: MACRAW
    write(&mut spi, [0x00, 0x01, 0x0C], &[0x01]); // Sn_CR: OPEN
    let frame = pattern(60);
    write(&mut spi, [0x00, 0x00, 0x14], &frame); // TX buffer
    write(&mut spi, [0x00, 0x24, 0x0C], &60u16.to_be_bytes()); // Sn_TX_WR
    assert_eq!(bed.next_frame(), None);
    let began = bed.now();
    write(&mut spi, [0x00, 0x01, 0x0C], &[0x20]); // Sn_CR: SEND
    bed.advance(Duration::from_millis(1));
    let sent = bed.next_frame().unwrap();
    assert_eq!(sent.bytes, frame);
    assert!(sent.start > began && sent.start < bed.now());

    bed.deliver(&frame).unwrap();
    bed.advance(Duration::from_millis(1));
    assert_eq!(read(&mut spi, [0x00, 0x26, 0x08]), 62u16.to_be_bytes()); // Sn_RX_RSR
    assert_eq!(bed.deliver(&[0; 13]).unwrap_err().code(), ErrorCode::Argument);
    assert_eq!(bed.pc().udp_open(0).err().unwrap().code(), ErrorCode::State);
    expect_findings(&bed, &[]);
}

#[test]
fn testbeds_have_a_time_each() {
    let (one, other) = (Testbed::builder().build().unwrap(), Testbed::builder().build().unwrap());
    one.advance(Duration::from_secs(5));
    write(&mut one.spi_device(), [0x00, 0x0F, 0x04], &IP.octets());
    assert_eq!(read(&mut other.spi_device(), [0x00, 0x0F, 0x00]), [0; 4]);
    assert!(other.now() < Duration::from_secs(1));
}
