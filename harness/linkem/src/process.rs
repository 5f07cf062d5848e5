//! This process: its life and what it has used.

use std::mem;

/// Asks the kernel to kill this process when the thread that started it ends.
pub fn die_with_parent() {
    // SAFETY: plain values only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64, 0_u64, 0_u64, 0_u64) };
}

/// CPU seconds of all threads.
pub struct CpuTime {
    pub user_s: f64,
    pub system_s: f64,
}

pub fn cpu_time() -> CpuTime {
    // SAFETY: all zeroes is a valid rusage, and the pointer is to a live one.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    CpuTime { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) }
}
