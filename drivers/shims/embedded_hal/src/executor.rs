//! Waiting in virtual time: delays, INTn, and the executor that lets time pass when all tasks wait.
//!
//! A future that waits tells the [`Testbed::block_on`](crate::Testbed::block_on) of its thread until when. In any other
//! executor it lets time pass by itself, and is ready at once.

use std::cell::RefCell;
use std::future::{poll_fn, Future};
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use crate::ffi;
use crate::testbed::Bed;
use crate::Error;

/// A task that is polled so often while no time passes spins.
const MOST_POLLS_IN_AN_INSTANT: u32 = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    Low,
    High,
    Falling,
    Rising,
    AnyEdge,
}

/// Who waits for what, among the tasks of one `block_on`.
struct Reactor {
    bed: Arc<Bed>,
    timers: Vec<(u64, Waker)>,
    intn: Vec<(Awaited, Waker)>,
}

thread_local! {
    static REACTOR: RefCell<Option<Reactor>> = const { RefCell::new(None) };
}

/// Whether a `block_on` on that testbed runs on this thread; `action` then tells it what to wait for.
fn tell(bed: &Arc<Bed>, action: impl FnOnce(&mut Reactor)) -> bool {
    REACTOR.with_borrow_mut(|reactor| match reactor {
        Some(reactor) if Arc::ptr_eq(&reactor.bed, bed) => {
            action(reactor);
            true
        }
        _ => false,
    })
}

/// The testbed whose `block_on` runs on this thread.
#[cfg(feature = "embassy-time")]
pub(crate) fn current() -> Option<Arc<Bed>> {
    REACTOR.with_borrow(|reactor| reactor.as_ref().map(|reactor| reactor.bed.clone()))
}

/// Has `waker` woken at that time; whether a `block_on` on that testbed runs on this thread to do so.
pub(crate) fn wake_at(bed: &Arc<Bed>, at_ps: u64, waker: &Waker) -> bool {
    tell(bed, |reactor| {
        if !reactor.timers.iter().any(|(at, known)| *at == at_ps && known.will_wake(waker)) {
            reactor.timers.push((at_ps, waker.clone()));
        }
    })
}

fn wake_at_intn(bed: &Arc<Bed>, awaited: Awaited, waker: &Waker) -> bool {
    tell(bed, |reactor| {
        if !reactor.intn.iter().any(|(kind, known)| *kind == awaited && known.will_wake(waker)) {
            reactor.intn.push((awaited, waker.clone()));
        }
    })
}

/// Lets time pass until INTn may have done what is awaited, or until that time.
fn pass_time(bed: &Bed, awaited: &[Awaited], until_ps: Option<u64>) {
    let left_ns = |at_ps: u64| at_ps.saturating_sub(bed.now_ps()).div_ceil(1000);
    let most_ns = until_ps.map_or(u64::MAX, left_ns);
    if awaited.is_empty() {
        bed.advance_ns(most_ns);
    } else if awaited.iter().all(|kind| *kind == Awaited::Low) {
        bed.wait_intn(most_ns);
    } else {
        let event_ns = left_ns(bed.next_event_ns().saturating_mul(1000)).max(1);
        if event_ns == u64::MAX / 1000 && until_ps.is_none() {
            panic!("a task waits for {awaited:?} of INTn, and nothing will happen any more");
        }
        bed.advance_ns(event_ns.min(most_ns));
    }
}

/// What `Wait` does on INTn.
pub(crate) async fn wait_for(bed: &Arc<Bed>, awaited: Awaited) -> Result<(), Error> {
    let is_level = matches!(awaited, Awaited::Low | Awaited::High);
    if !is_level {
        bed.count_edges();
    }
    let edges = || (bed.edges.falling.load(Ordering::Relaxed), bed.edges.rising.load(Ordering::Relaxed));
    let before = edges();
    poll_fn(|context| loop {
        // SAFETY: the handle is good, or destroyed, which the library knows.
        let level = match bed.call(|handle| unsafe { ffi::wizloop_intn(handle) }) {
            Ok(level) => level,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let is_met = match awaited {
            Awaited::Low => level == 0,
            Awaited::High => level == 1,
            Awaited::Falling => edges().0 != before.0,
            Awaited::Rising => edges().1 != before.1,
            Awaited::AnyEdge => edges() != before,
        };
        if is_met {
            return Poll::Ready(Ok(()));
        }
        if wake_at_intn(bed, awaited, context.waker()) {
            return Poll::Pending;
        }
        pass_time(bed, &[awaited], None);
    })
    .await
}

/// A delay in virtual time, blocking and async.
pub struct Delay {
    bed: Arc<Bed>,
}

impl Delay {
    pub(crate) fn new(bed: Arc<Bed>) -> Self {
        Delay { bed }
    }
}

impl embedded_hal::delay::DelayNs for Delay {
    fn delay_ns(&mut self, ns: u32) {
        self.bed.advance_ns(u64::from(ns));
    }
}

impl embedded_hal_async::delay::DelayNs for Delay {
    async fn delay_ns(&mut self, ns: u32) {
        let at_ps = self.bed.now_ps() + u64::from(ns) * 1000;
        poll_fn(|context| {
            if self.bed.now_ps() < at_ps {
                if wake_at(&self.bed, at_ps, context.waker()) {
                    return Poll::Pending;
                }
                pass_time(&self.bed, &[], Some(at_ps));
            }
            Poll::Ready(())
        })
        .await;
    }
}

/// Whether a task was woken since it was polled last, and who is to be told.
#[derive(Default)]
struct Woken {
    is_woken: AtomicBool,
    parent: Mutex<Option<Waker>>,
}

impl Woken {
    fn new() -> Arc<Self> {
        Arc::new(Woken { is_woken: AtomicBool::new(true), parent: Mutex::default() })
    }
    fn take(&self) -> bool {
        self.is_woken.swap(false, Ordering::Relaxed)
    }
    fn parent(&self) -> MutexGuard<'_, Option<Waker>> {
        self.parent.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn wake(&self) {
        self.is_woken.store(true, Ordering::Relaxed);
        let parent = self.parent().clone();
        parent.iter().for_each(Waker::wake_by_ref);
    }
}

/// One table for all wakers, which `std::task::Wake` does not promise: a task whose waker is not known again by
/// `Waker::will_wake` is woken by some queues each time it waits.
static WAKER: RawWakerVTable = RawWakerVTable::new(clone_waker, wake, wake_by_ref, drop_waker);

// SAFETY of the four: `data` comes from `Arc::into_raw` of a `Woken`, and each waker holds one count of it.
unsafe fn clone_waker(data: *const ()) -> RawWaker {
    Arc::increment_strong_count(data.cast::<Woken>());
    RawWaker::new(data, &WAKER)
}
unsafe fn wake(data: *const ()) {
    wake_by_ref(data);
    drop_waker(data);
}
unsafe fn wake_by_ref(data: *const ()) {
    (*data.cast::<Woken>()).wake();
}
unsafe fn drop_waker(data: *const ()) {
    Arc::decrement_strong_count(data.cast::<Woken>());
}

fn waker(woken: &Arc<Woken>) -> Waker {
    // SAFETY: the functions of the table keep the count, and a `Woken` may be shared by threads.
    unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(woken.clone()).cast(), &WAKER)) }
}

/// A future with a waker of its own, as each task of an executor has one. Tasks that wake each other, as those of
/// embassy-net do, wait for ever awake if they share one.
///
/// ```text
/// bed.block_on(select3(Task::new(driver.run()), Task::new(network.run()), Task::new(test)))
/// ```
pub struct Task<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

impl<F: Future> Task<F> {
    /// Makes one of a future.
    pub fn new(future: F) -> Self {
        Task { future: Box::pin(future), woken: Woken::new() }
    }
}

impl<F: Future> Future for Task<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        *self.woken.parent() = Some(context.waker().clone());
        if !self.woken.take() {
            return Poll::Pending;
        }
        let waker = waker(&self.woken);
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

/// The reactor of this thread, for as long as this lives.
struct Entered;

impl Entered {
    fn new(bed: &Arc<Bed>) -> Self {
        REACTOR.with_borrow_mut(|reactor| {
            assert!(reactor.is_none(), "block_on() within block_on()");
            *reactor = Some(Reactor { bed: bed.clone(), timers: Vec::new(), intn: Vec::new() });
        });
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        REACTOR.with_borrow_mut(|reactor| *reactor = None);
    }
}

/// All tasks wait: lets time pass until one of them may go on.
fn idle(bed: &Bed) {
    let (awaited, wakers, until_ps) = REACTOR.with_borrow_mut(|reactor| {
        let reactor = reactor.as_mut().expect("entered");
        let (awaited, wakers): (Vec<_>, Vec<_>) = reactor.intn.drain(..).unzip();
        (awaited, wakers, reactor.timers.iter().map(|(at, _)| *at).min())
    });
    assert!(
        !awaited.is_empty() || until_ps.is_some(),
        "all tasks wait, none of them for a time or for INTn: nothing will ever wake them"
    );
    pass_time(bed, &awaited, until_ps);
    wakers.into_iter().for_each(Waker::wake);
    let now_ps = bed.now_ps();
    let due = REACTOR.with_borrow_mut(|reactor| {
        let timers = &mut reactor.as_mut().expect("entered").timers;
        let (due, later) = std::mem::take(timers).into_iter().partition::<Vec<_>, _>(|(at, _)| *at <= now_ps);
        *timers = later;
        due
    });
    due.into_iter().for_each(|(_, waker)| waker.wake());
}

pub(crate) fn block_on<F: Future>(bed: &Arc<Bed>, future: F) -> F::Output {
    let _entered = Entered::new(bed);
    let woken = Woken::new();
    let waker = waker(&woken);
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut instant_ps = bed.now_ps();
    let mut polls = 0;
    loop {
        if !woken.take() {
            idle(bed);
            continue;
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        let now_ps = bed.now_ps();
        polls = if now_ps == instant_ps { polls + 1 } else { 0 };
        instant_ps = now_ps;
        assert!(polls < MOST_POLLS_IN_AN_INSTANT, "a task is woken for ever while no virtual time passes");
    }
}
