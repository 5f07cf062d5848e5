//! A TUN device: IP packets without any framing, so no ARP and no addresses to resolve.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::io::{AsRawFd, RawFd};

use super::stamps::Stamps;
use super::{Arrival, Device};
use crate::error::{Error, Result};
use crate::interface::{request_for, Interface};
use crate::{clock, MTU};

const TUN_FILE: &str = "/dev/net/tun";

/// _IOW('T', 202, int) of linux/if_tun.h.
const TUNSETIFF: u64 = 0x4004_54ca;

/// A TUN device in the namespace it was created in. It vanishes with this process.
pub struct Tun {
    name: String,
    file: File,
    /// /proc/net/dev of the device's namespace, open since we were in it.
    counters: Option<File>,
    /// None where the kernel does not stamp: a packet then arrives when it is read.
    stamps: Option<Stamps>,
}

impl Tun {
    /// Creates `name` in the current namespace. Addresses, routes, "up" and a `txqueuelen` with room for a
    /// burst (which this ioctl family lets only the machine's root set) are left to the caller.
    pub fn create(name: &str) -> Result<Tun> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(TUN_FILE)
            .map_err(|error| {
                Error::Environment(format!(
                    "open {TUN_FILE}: {error}; run as root with the tun module, or use --backend veth"
                ))
            })?;
        let mut request = request_for(name);
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
        request.ifr_ifru.ifru_flags = flags as i16;
        // SAFETY: `request` is a live ifreq.
        if unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &mut request) } != 0 {
            return Err(Error::refused(
                format!("create TUN device '{name}'"),
                "want a free name, and CAP_NET_ADMIN in the namespace",
            ));
        }
        Interface::find(name)?.set_mtu(MTU)?;
        let counters = File::open("/proc/thread-self/net/dev").ok();
        let stamps = Stamps::attach(file.as_raw_fd()).ok();
        Ok(Tun { name: name.to_string(), file, counters, stamps })
    }
}

impl Device for Tun {
    fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    fn framing(&self) -> usize {
        0
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Arrival>> {
        match self.file.read(buffer) {
            Ok(bytes) => {
                let now = clock::now();
                let at = self.stamps.as_mut().map_or(now, |stamps| stamps.of_next(now));
                Ok(Some(Arrival { at, bytes }))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if let Some(stamps) = &mut self.stamps {
                    stamps.skip_dropped(clock::now());
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn waiting(&self) -> Option<bool> {
        self.stamps.as_ref().map(|stamps| stamps.noted() > 0)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.file.write(packet).map(|_| ())
    }

    fn stamped(&self) -> bool {
        self.stamps.is_some()
    }

    fn drops(&mut self) -> Option<u64> {
        let mut table = String::new();
        let file = self.counters.as_mut()?;
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_to_string(&mut table).ok()?;
        sent_but_dropped(&table, &self.name)
    }

    fn recover(&mut self) -> io::Result<()> {
        // A TUN file reports an error only when its device was deleted.
        Err(io::Error::from_raw_os_error(libc::ENODEV))
    }
}

/// The "transmit drop" column of a device in the text of /proc/net/dev.
pub fn sent_but_dropped(table: &str, name: &str) -> Option<u64> {
    const TRANSMIT_DROP: usize = 11;
    table
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))
        .find_map(|columns| columns.split_whitespace().nth(TRANSMIT_DROP)?.parse().ok())
}
