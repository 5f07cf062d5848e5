//! An AF_PACKET socket with a TPACKET_V2 receive ring on a veth end: the backend without /dev/net/tun.
//!
//! The kernel stamps each frame when it arrives, so a late reader does not shift the link's timing.

use std::fs;
use std::io;
use std::mem;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{fence, Ordering};

use super::{Arrival, Device};
use crate::error::{Error, Result};
use crate::{clock, Ns, NS_PER_MS, NS_PER_S};

// linux/if_packet.h
const PACKET_RX_RING: i32 = 5;
const PACKET_STATISTICS: i32 = 6;
const PACKET_VERSION: i32 = 10;
const PACKET_QDISC_BYPASS: i32 = 20;
const PACKET_IGNORE_OUTGOING: i32 = 23;
const TPACKET_V2: i32 = 1;
const TP_STATUS_USER: u32 = 1;
const TP_STATUS_KERNEL: u32 = 0;

/// struct tpacket_req: 8 MiB of frames, half a second of full packets at 100 Mbit/s.
const FRAME_BYTES: usize = 2048;
const FRAMES: usize = 4096;
const BLOCK_BYTES: usize = 65536;

/// struct tpacket2_hdr, as far as it is read.
#[repr(C)]
struct Header {
    status: u32,
    whole_bytes: u32,
    captured_bytes: u32,
    mac_offset: u16,
    net_offset: u16,
    seconds: u32,
    nanoseconds: u32,
}

const ETHERNET_HEADER: usize = 14;

/// How often the offset between the clocks is measured anew.
const OFFSET_LIFETIME: Ns = 100 * NS_PER_MS;

/// A frame that seems to have waited longer was stamped by a clock that was set meanwhile.
const OLDEST_STAMP: Ns = NS_PER_S;

/// A veth end, opened raw.
pub struct PacketRing {
    socket: OwnedFd,
    ring: *mut u8,
    position: usize,
    drops: u64,
    offset: i64,
    offset_taken: Ns,
}

impl PacketRing {
    /// Opens the interface with this index in the current namespace.
    pub fn open(name: &str, index: i32) -> Result<PacketRing> {
        // SAFETY: no pointers; a non-negative result is a descriptor nobody else owns. Protocol 0
        // receives nothing until bind names the interface.
        let socket = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_PACKET, kind, 0);
            if fd < 0 {
                return Err(Error::refused("open an AF_PACKET socket", "want CAP_NET_RAW"));
            }
            OwnedFd::from_raw_fd(fd)
        };
        let set = |option: i32, value: &[i32]| set_option(&socket, option, value);
        set(PACKET_IGNORE_OUTGOING, &[1])?;
        set(PACKET_QDISC_BYPASS, &[1])?;
        set(PACKET_VERSION, &[TPACKET_V2])?;
        let blocks = FRAMES * FRAME_BYTES / BLOCK_BYTES;
        let geometry = [BLOCK_BYTES, blocks, FRAME_BYTES, FRAMES].map(|number| number as i32);
        set(PACKET_RX_RING, &geometry)?;
        let ring = map_ring(&socket)?;
        bind(&socket, name, index)?;
        Ok(PacketRing {
            socket,
            ring,
            position: 0,
            drops: 0,
            offset: clock::realtime_offset(),
            offset_taken: clock::now(),
        })
    }

    /// The frame to be read next. `position` < FRAMES, so it lies inside the mapping.
    fn frame(&self) -> *mut u8 {
        // SAFETY: see above; the mapping lives as long as self.
        unsafe { self.ring.add(self.position * FRAME_BYTES) }
    }

    /// A kernel timestamp as a point of CLOCK_MONOTONIC, never in the future.
    fn arrival_time(&mut self, stamp: Ns) -> Ns {
        let now = clock::now();
        if now - self.offset_taken > OFFSET_LIFETIME {
            self.offset = clock::realtime_offset();
            self.offset_taken = now;
        }
        trusted_stamp(stamp as i64 - self.offset, now)
    }
}

/// The stamp, unless the clock it was taken from must have been set in between.
pub fn trusted_stamp(stamp: i64, now: Ns) -> Ns {
    if stamp > now as i64 || stamp < now.saturating_sub(OLDEST_STAMP) as i64 {
        return now;
    }
    stamp as Ns
}

impl Device for PacketRing {
    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn framing(&self) -> usize {
        ETHERNET_HEADER
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Arrival>> {
        let frame = self.frame();
        // SAFETY: the kernel fills a frame before it sets USER and does not touch it again before we
        // set KERNEL; the fences keep our reads between the two.
        let (stamp, bytes) = unsafe {
            let header = frame.cast::<Header>();
            let status = ptr::addr_of_mut!((*header).status);
            if status.read_volatile() & TP_STATUS_USER == 0 {
                return Ok(None);
            }
            fence(Ordering::Acquire);
            let start = usize::from((*header).mac_offset);
            let captured = ((*header).captured_bytes as usize)
                .min(buffer.len())
                .min(FRAME_BYTES.saturating_sub(start));
            ptr::copy_nonoverlapping(frame.add(start), buffer.as_mut_ptr(), captured);
            let stamp = Ns::from((*header).seconds) * NS_PER_S + Ns::from((*header).nanoseconds);
            let bytes = (*header).whole_bytes as usize;
            fence(Ordering::Release);
            status.write_volatile(TP_STATUS_KERNEL);
            (stamp, bytes)
        };
        self.position = (self.position + 1) % FRAMES;
        Ok(Some(Arrival { at: self.arrival_time(stamp), bytes }))
    }

    fn waiting(&self) -> Option<bool> {
        // SAFETY: the status lies inside the mapping, and the kernel writes it whole.
        let status =
            unsafe { ptr::addr_of!((*self.frame().cast::<Header>()).status).read_volatile() };
        Some(status & TP_STATUS_USER != 0)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and length are those of a live slice.
        let sent = unsafe { libc::send(self.fd(), packet.as_ptr().cast(), packet.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    fn stamped(&self) -> bool {
        true
    }

    fn drops(&mut self) -> Option<u64> {
        // struct tpacket_stats: packets, drops. Reading resets it.
        let mut counts = [0_u32; 2];
        read_option(&self.socket, libc::SOL_PACKET, PACKET_STATISTICS, &mut counts).ok()?;
        self.drops += u64::from(counts[1]);
        Some(self.drops)
    }

    fn recover(&mut self) -> io::Result<()> {
        // "Network is down" says that an end was set down. It may come up again, so only clear it.
        read_option(&self.socket, libc::SOL_SOCKET, libc::SO_ERROR, &mut [0_u32])
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and nothing refers to it any more.
        unsafe { libc::munmap(self.ring.cast(), FRAMES * FRAME_BYTES) };
    }
}

/// Keeps the middle namespace from sending neighbour discovery of its own into the hosts.
///
/// Best effort: where /proc is read-only the hosts see a few such packets, which carry no one's data.
pub fn silence_ipv6(name: &str) {
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
}

fn set_option(socket: &OwnedFd, option: i32, value: &[i32]) -> Result<()> {
    // SAFETY: the pointer and length are those of a live slice.
    let result = unsafe {
        let bytes = mem::size_of_val(value) as libc::socklen_t;
        let fd = socket.as_raw_fd();
        libc::setsockopt(fd, libc::SOL_PACKET, option, value.as_ptr().cast(), bytes)
    };
    if result != 0 {
        return Err(Error::refused(
            format!("set AF_PACKET option {option}"),
            "want Linux 4.20 or later",
        ));
    }
    Ok(())
}

fn read_option(socket: &OwnedFd, level: i32, option: i32, value: &mut [u32]) -> io::Result<()> {
    let mut bytes = mem::size_of_val(value) as libc::socklen_t;
    // SAFETY: the pointer and length are those of a live slice.
    let result = unsafe {
        let value = value.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), level, option, value, &mut bytes)
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn map_ring(socket: &OwnedFd) -> Result<*mut u8> {
    // SAFETY: the kernel chooses the address; the ring of this size was just made.
    let ring = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = FRAMES * FRAME_BYTES;
        libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
    };
    if ring == libc::MAP_FAILED {
        return Err(Error::refused("map the packet ring", "raise the locked-memory limit"));
    }
    Ok(ring.cast())
}

fn bind(socket: &OwnedFd, name: &str, index: i32) -> Result<()> {
    // SAFETY: all zeroes is a valid sockaddr_ll; the pointer and length are those of a live one.
    let result = unsafe {
        let mut address: libc::sockaddr_ll = mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        let bytes = mem::size_of_val(&address) as libc::socklen_t;
        libc::bind(socket.as_raw_fd(), ptr::addr_of!(address).cast(), bytes)
    };
    if result != 0 {
        let tried = format!("listen on interface '{name}'");
        return Err(Error::refused(tried, "check that it is in the middle namespace"));
    }
    Ok(())
}
