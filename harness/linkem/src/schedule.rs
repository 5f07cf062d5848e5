//! Being woken in time: scheduling decides how accurate a user-space link is.

use std::mem;

/// Above every ordinary process, below the kernel's own threads.
const FIFO_PRIORITY: i32 = 50;

/// A short slice makes the fair scheduler (Linux 6.12 and later) prefer this thread at wake-up.
const SLICE_NS: u64 = 100_000;

/// What the kernel granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// SCHED_FIFO: needs CAP_SYS_NICE or RLIMIT_RTPRIO.
    Fifo,
    /// The ordinary class with a short slice: needs no privilege, promises less.
    Slice,
    /// The ordinary class.
    Other,
}

impl Scheduling {
    pub fn name(self) -> &'static str {
        match self {
            Scheduling::Fifo => "fifo",
            Scheduling::Slice => "slice",
            Scheduling::Other => "other",
        }
    }
}

/// Takes the best scheduling this process may have, for this thread alone.
pub fn take_best() -> Scheduling {
    // SAFETY: plain values only. Timer slack would add 50 us to each wake-up of an ordinary thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
    if take_fifo() {
        Scheduling::Fifo
    } else if take_slice() {
        Scheduling::Slice
    } else {
        Scheduling::Other
    }
}

fn take_fifo() -> bool {
    // SAFETY: all zeroes is a valid sched_param (musl has further fields).
    let mut parameters: libc::sched_param = unsafe { mem::zeroed() };
    parameters.sched_priority = FIFO_PRIORITY;
    // SAFETY: the pointer is to a live sched_param.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 }
}

/// struct sched_attr of linux/sched/types.h, first version (48 bytes).
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

fn take_slice() -> bool {
    let size = mem::size_of::<SchedAttr>();
    let wanted = SchedAttr { size: size as u32, runtime: SLICE_NS, ..SchedAttr::default() };
    let mut granted = SchedAttr::default();
    // SAFETY: both pointers are to live structs of the size passed along.
    let accepted = unsafe {
        libc::syscall(libc::SYS_sched_setattr, 0, &wanted as *const SchedAttr, 0) == 0
            && libc::syscall(libc::SYS_sched_getattr, 0, &mut granted as *mut SchedAttr, size, 0)
                == 0
    };
    // Older kernels accept the call and ignore the slice.
    accepted && granted.runtime == SLICE_NS
}
