//! The two clocks: one that never jumps, and sleeping by it; and the one captures and ring timestamps are written in.

use std::ptr;

use crate::{Ns, NS_PER_S};

/// CLOCK_MONOTONIC now.
pub fn now() -> Ns {
    read(libc::CLOCK_MONOTONIC)
}

/// Sleeps until `at` or a signal. One system call, where a timer in an epoll set needs two; but no packet ends it.
pub fn sleep_until(at: Ns) {
    if at <= now() {
        return;
    }
    let at = libc::timespec { tv_sec: (at / NS_PER_S) as _, tv_nsec: (at % NS_PER_S) as _ };
    // SAFETY: `at` is a valid timespec, and what is left is not asked for.
    unsafe {
        let absolute = libc::TIMER_ABSTIME;
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, absolute, &at, ptr::null_mut());
    }
}

/// What to add to CLOCK_MONOTONIC to get CLOCK_REALTIME, at this moment.
pub fn realtime_offset() -> i64 {
    // Two readings of the monotonic clock around one of the other: their middle cancels the call's cost.
    let before = now();
    let realtime = read(libc::CLOCK_REALTIME);
    let after = now();
    realtime as i64 - (before + (after - before) / 2) as i64
}

fn read(clock: libc::clockid_t) -> Ns {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; neither clock can fail on Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as Ns * NS_PER_S + time.tv_nsec as Ns
}
