//! The clock of embassy-time is that of the testbed whose `block_on` runs on the thread.

use std::task::Waker;

use embassy_time_driver::{Driver, TICK_HZ};

use crate::executor;

struct VirtualTime;

const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl Driver for VirtualTime {
    /// 0 outside of a `block_on`.
    fn now(&self) -> u64 {
        let now_ps = executor::current().map_or(0, |bed| bed.now_ps());
        (u128::from(now_ps) * u128::from(TICK_HZ) / PS_PER_SECOND) as u64
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        let bed = executor::current().expect("embassy-time outside of Testbed::block_on(): there is no clock");
        let at_ps = (u128::from(at) * PS_PER_SECOND).div_ceil(u128::from(TICK_HZ));
        executor::wake_at(&bed, u64::try_from(at_ps).unwrap_or(u64::MAX), waker);
    }
}

embassy_time_driver::time_driver_impl!(static DRIVER: VirtualTime = VirtualTime);
