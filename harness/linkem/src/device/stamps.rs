//! When a host sent a packet into its TUN device, told by the kernel: reading a TUN device tells only when it was read.
//!
//! A TUN device runs a BPF program on each packet that it queues (TUNSETFILTEREBPF, Linux 4.16). Ours lets all pass and
//! notes the time in memory that it shares with us. So a late wake-up does not shift the link's timing, but shows as
//! lateness.

use std::io;
use std::mem;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::Ns;

/// Times kept: more packets than the harness lets a device queue.
const SLOTS: usize = 16384;

/// What the program and this process share: how many packets were queued so far, and when each of the last ones was.
#[repr(C)]
struct Shared {
    queued: u64,
    at: [Ns; SLOTS],
}

/// The program notes a packet just before the device queues it. A packet noted this long ago that is not there was
/// dropped by the device.
const DROPPED_AFTER: Ns = 100_000;

/// _IOR('T', 225, int) of linux/if_tun.h.
const TUNSETFILTEREBPF: u64 = 0x8004_54e1;

// linux/bpf.h
const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_PROG_TYPE_SOCKET_FILTER: u32 = 1;
const BPF_F_MMAPABLE: u32 = 1 << 10;
const CALL_MAP_LOOKUP_ELEM: i32 = 1;
const CALL_KTIME_GET_NS: i32 = 5;
const PSEUDO_MAP_FD: u8 = 1;

/// The kernel's notes on one TUN device, read in step with its packets.
pub struct Stamps {
    shared: *mut Shared,
    taken: u64,
}

impl Stamps {
    /// Fails where BPF is not permitted (CAP_BPF) or too old (Linux 5.5).
    pub fn attach(tun: RawFd) -> io::Result<Stamps> {
        let map = create_map()?;
        let program = load_program(map.as_raw_fd())?;
        let number: libc::c_int = program.as_raw_fd();
        // SAFETY: the pointer is to a live int. The device keeps the program and the program the map.
        if unsafe { libc::ioctl(tun, TUNSETFILTEREBPF as _, &number) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Stamps { shared: share(&map)?, taken: 0 })
    }

    /// When the packet read just now was queued, if that is known and before `now`.
    pub fn of_next(&mut self, now: Ns) -> Ns {
        let noted = self.noted();
        if noted == 0 || noted > SLOTS as u64 {
            return now;
        }
        let at = self.first();
        self.taken += 1;
        at.min(now)
    }

    /// Packets that the program noted and nobody has read: they wait, are just being queued, or were dropped.
    pub fn noted(&self) -> u64 {
        // SAFETY: the mapping holds a Shared for as long as self lives.
        let queued = unsafe { ptr::addr_of!((*self.shared).queued).read_volatile() };
        queued.saturating_sub(self.taken)
    }

    /// The device is empty at `now`. What it dropped was noted, too: forget that.
    pub fn skip_dropped(&mut self, now: Ns) {
        self.taken += self.noted().saturating_sub(SLOTS as u64);
        while self.noted() > 0 && self.first() + DROPPED_AFTER < now {
            self.taken += 1;
        }
    }

    /// The time of the first packet that was noted and not read.
    fn first(&self) -> Ns {
        // SAFETY: as above. The program writes a time, then the count, then the device hands out the packet, so the
        // time of a packet that was counted is complete.
        unsafe { ptr::addr_of!((*self.shared).at[self.taken as usize % SLOTS]).read_volatile() }
    }
}

impl Drop for Stamps {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and nothing refers to it any more.
        unsafe { libc::munmap(self.shared.cast(), mem::size_of::<Shared>()) };
    }
}

/// struct bpf_insn.
#[repr(C)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn op(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: from << 4 | to, offset, immediate }
}

/// `shared.at[shared.queued % SLOTS] = now; shared.queued += 1; return 64 KiB` (more than any packet: keep all of it).
fn program(map: RawFd) -> [Instruction; 19] {
    const LOAD_MAP: u8 = 0x18; // two instructions long
    const LOAD: u8 = 0x79; // 64 bits
    const STORE: u8 = 0x7b;
    const STORE_32: u8 = 0x62; // an immediate
    const MOVE: u8 = 0xbf;
    const SET: u8 = 0xb7; // to an immediate
    const ADD: u8 = 0x0f;
    const ADD_NUMBER: u8 = 0x07;
    const AND_NUMBER: u8 = 0x57;
    const SHIFT_LEFT: u8 = 0x67;
    const SKIP_IF_NULL: u8 = 0x15;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    let at = mem::size_of::<u64>() as i16;
    [
        op(STORE_32, 10, 0, -4, 0), // the key 0, on the stack
        op(MOVE, 2, 10, 0, 0),
        op(ADD_NUMBER, 2, 0, 0, -4),
        op(LOAD_MAP, 1, PSEUDO_MAP_FD, 0, map),
        op(0, 0, 0, 0, 0),
        op(CALL, 0, 0, 0, CALL_MAP_LOOKUP_ELEM),
        op(SKIP_IF_NULL, 0, 0, 10, 0),
        op(MOVE, 6, 0, 0, 0), // r6: shared
        op(CALL, 0, 0, 0, CALL_KTIME_GET_NS),
        op(LOAD, 1, 6, 0, 0), // r1: queued
        op(MOVE, 2, 1, 0, 0),
        op(AND_NUMBER, 2, 0, 0, SLOTS as i32 - 1),
        op(SHIFT_LEFT, 2, 0, 0, 3),
        op(ADD, 2, 6, 0, 0), // r2: shared + 8 * slot
        op(STORE, 2, 0, at, 0),
        op(ADD_NUMBER, 1, 0, 0, 1),
        op(STORE, 6, 1, 0, 0),
        op(SET, 0, 0, 0, 1 << 16),
        op(EXIT, 0, 0, 0, 0),
    ]
}

/// The members of union bpf_attr for BPF_MAP_CREATE that are needed.
#[repr(C)]
struct MapAttributes {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

/// The members of union bpf_attr for BPF_PROG_LOAD that are needed.
#[repr(C)]
struct ProgramAttributes {
    kind: u32,
    length: u32,
    instructions: u64,
    license: u64,
}

fn create_map() -> io::Result<OwnedFd> {
    let value_bytes = mem::size_of::<Shared>() as u32;
    bpf(
        BPF_MAP_CREATE,
        &MapAttributes {
            kind: BPF_MAP_TYPE_ARRAY,
            key_bytes: 4,
            value_bytes,
            entries: 1,
            flags: BPF_F_MMAPABLE,
        },
    )
}

fn load_program(map: RawFd) -> io::Result<OwnedFd> {
    let instructions = program(map);
    let attributes = ProgramAttributes {
        kind: BPF_PROG_TYPE_SOCKET_FILTER,
        length: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: b"\0".as_ptr() as u64,
    };
    bpf(BPF_PROG_LOAD, &attributes)
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the pointer and size are those of a live struct, whose own pointers are live, too; both commands give a
    // descriptor nobody else owns.
    unsafe {
        let size = mem::size_of::<T>();
        let fd = libc::syscall(libc::SYS_bpf, command, attributes as *const T, size);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

fn share(map: &OwnedFd) -> io::Result<*mut Shared> {
    // SAFETY: the kernel chooses the address; the map's only value is a Shared.
    let shared = unsafe {
        let fd = map.as_raw_fd();
        let bytes = mem::size_of::<Shared>();
        libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, fd, 0)
    };
    if shared == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(shared.cast())
}
