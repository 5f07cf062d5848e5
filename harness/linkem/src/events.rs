//! Waiting for packets, for the next due time and for signals, in one place.

use std::io;
use std::mem;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::error::{Error, Result};
use crate::{Ns, NS_PER_S};

const SIGNALS: [libc::c_int; 5] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// A link has two ends.
pub const DEVICES: usize = 2;

const TIMER: u64 = u64::MAX;
const SIGNAL: u64 = u64::MAX - 1;

/// What a wait found, besides packets.
#[derive(Debug, Default)]
pub struct Found {
    /// A caller wants the counts so far.
    pub report: bool,
    /// A caller wants what takes longer to tell: when the link was busy.
    pub details: bool,
    /// A caller wants traces and step lists to begin now.
    pub restart: bool,
    /// The time has come that was waited for.
    pub timed: bool,
    /// A caller wants the link to end.
    pub stop: bool,
    /// Whether the device of that number has packets.
    pub readable: [bool; DEVICES],
    /// The numbers of devices that reported an error.
    pub broken: Vec<usize>,
}

/// An epoll set with an absolute timer and the signals of this process.
pub struct Events {
    epoll: OwnedFd,
    timer: OwnedFd,
    signals: OwnedFd,
    armed: Option<Ns>,
}

impl Events {
    /// Blocks the signals for this thread and all it starts later; they arrive through `wait`.
    pub fn new() -> Result<Events> {
        // SAFETY: `mask` is written by sigemptyset before it is read; results are owned once.
        unsafe {
            let mut mask: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut mask);
            for signal in SIGNALS {
                libc::sigaddset(&mut mask, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &mask, ptr::null_mut());
            let signals = libc::signalfd(-1, &mask, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
            let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
            let timer = libc::timerfd_create(libc::CLOCK_MONOTONIC, flags);
            let epoll = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            let events = Events {
                epoll: owned(epoll, "create epoll")?,
                timer: owned(timer, "create a timer")?,
                signals: owned(signals, "create signalfd")?,
                armed: None,
            };
            // Edge-triggered, an expired timer needs no read: to set it anew clears it.
            events.watch(events.timer.as_raw_fd(), TIMER, libc::EPOLLET)?;
            events.watch(events.signals.as_raw_fd(), SIGNAL, 0)?;
            Ok(events)
        }
    }

    pub fn watch_device(&self, fd: RawFd, number: usize) -> Result<()> {
        self.watch(fd, number as u64, 0)
    }

    fn watch(&self, fd: RawFd, token: u64, flags: libc::c_int) -> Result<()> {
        let events = (libc::EPOLLIN | flags) as u32;
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: `event` is live during the call, and both descriptors are open.
        let result =
            unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) };
        if result != 0 {
            return Err(Error::refused("watch a descriptor", "check the epoll limits"));
        }
        Ok(())
    }

    /// Returns at once if `busy`; else when a packet, a signal or the time `until` comes.
    pub fn wait(&mut self, until: Option<Ns>, busy: bool) -> Result<Found> {
        if !busy {
            self.arm(until)?;
        }
        // SAFETY: all zeroes are valid epoll_events; the length is that of the array.
        let (events, count) = unsafe {
            let mut events: [libc::epoll_event; 8] = mem::zeroed();
            let timeout = if busy { 0 } else { -1 };
            let count = libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), 8, timeout);
            (events, count)
        };
        if count < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return Err(failure("wait for packets"));
        }
        let mut found = Found::default();
        for event in events.iter().take(count.max(0) as usize) {
            let (token, flags) = (event.u64, event.events);
            match token {
                TIMER => {
                    self.armed = None;
                    found.timed = true;
                }
                SIGNAL => self.read_signals(&mut found),
                number if flags & (libc::EPOLLERR | libc::EPOLLHUP) as u32 != 0 => {
                    found.broken.push(number as usize);
                }
                number => found.readable[number as usize] = true,
            }
        }
        Ok(found)
    }

    fn arm(&mut self, until: Option<Ns>) -> Result<()> {
        if until == self.armed {
            return Ok(());
        }
        // Zero disarms the timer, and no link is due at the boot of the machine.
        let at = until.unwrap_or(0);
        let setting = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec {
                tv_sec: (at / NS_PER_S) as _,
                tv_nsec: (at % NS_PER_S) as _,
            },
        };
        // SAFETY: `setting` is live, and the old value is not asked for.
        let result = unsafe {
            let timer = self.timer.as_raw_fd();
            libc::timerfd_settime(timer, libc::TFD_TIMER_ABSTIME, &setting, ptr::null_mut())
        };
        if result != 0 {
            return Err(failure("set the timer"));
        }
        self.armed = until;
        Ok(())
    }

    fn read_signals(&self, found: &mut Found) {
        let size = mem::size_of::<libc::signalfd_siginfo>();
        loop {
            // SAFETY: all zeroes is a valid siginfo, and `size` is its size.
            let (signal, bytes) = unsafe {
                let mut info: libc::signalfd_siginfo = mem::zeroed();
                let bytes =
                    libc::read(self.signals.as_raw_fd(), ptr::addr_of_mut!(info).cast(), size);
                (info.ssi_signo as libc::c_int, bytes)
            };
            if bytes != size as isize {
                return;
            }
            match signal {
                libc::SIGUSR1 => found.report = true,
                libc::SIGUSR2 => found.details = true,
                libc::SIGALRM => found.restart = true,
                _ => found.stop = true,
            }
        }
    }
}

fn owned(fd: RawFd, tried: &str) -> Result<OwnedFd> {
    if fd < 0 {
        return Err(Error::refused(tried, "check the file limit"));
    }
    // SAFETY: the caller just got this descriptor and gives it away.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn failure(tried: &str) -> Error {
    Error::Failure(format!("{tried}: {}", io::Error::last_os_error()))
}
