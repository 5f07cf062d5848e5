//! Settings of a network interface of the namespace this process is in, by ioctl.

use std::mem;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{Error, Result};

/// Longest interface name: IFNAMSIZ less the final zero.
pub const MAX_NAME: usize = libc::IFNAMSIZ - 1;

/// An offload, and the ethtool commands that read and write it (linux/ethtool.h).
struct Offload {
    name: &'static str,
    get: u32,
    set: u32,
}

/// Everything that would make one packet of several, or leave a checksum to hardware that is not there.
const OFFLOADS: [Offload; 6] = [
    Offload { name: "rx-checksumming", get: 0x14, set: 0x15 },
    Offload { name: "tx-checksumming", get: 0x16, set: 0x17 },
    Offload { name: "scatter-gather", get: 0x18, set: 0x19 },
    Offload { name: "tso", get: 0x1e, set: 0x1f },
    Offload { name: "gso", get: 0x23, set: 0x24 },
    Offload { name: "gro", get: 0x2b, set: 0x2c },
];

/// An interface by name, with the socket its ioctls need.
pub struct Interface<'a> {
    name: &'a str,
    socket: OwnedFd,
}

impl<'a> Interface<'a> {
    /// Finds `name` in the current namespace.
    pub fn find(name: &'a str) -> Result<Interface<'a>> {
        // SAFETY: no pointers; a non-negative result is a descriptor nobody else owns.
        let socket = unsafe {
            let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            if fd < 0 {
                return Err(Error::refused("open a socket for ioctls", "check the file limit"));
            }
            OwnedFd::from_raw_fd(fd)
        };
        let interface = Interface { name, socket };
        interface.index()?;
        Ok(interface)
    }

    pub fn index(&self) -> Result<i32> {
        let mut request = request_for(self.name);
        self.call(libc::SIOCGIFINDEX as _, &mut request, "find")?;
        // SAFETY: SIOCGIFINDEX fills this member of the union.
        Ok(unsafe { request.ifr_ifru.ifru_ifindex })
    }

    pub fn set_mtu(&self, mtu: usize) -> Result<()> {
        let mut request = request_for(self.name);
        request.ifr_ifru.ifru_mtu = mtu as i32;
        self.call(libc::SIOCSIFMTU as _, &mut request, "set the MTU of")
    }

    pub fn bring_up(&self) -> Result<()> {
        let mut request = request_for(self.name);
        self.call(libc::SIOCGIFFLAGS as _, &mut request, "read the flags of")?;
        // SAFETY: SIOCGIFFLAGS filled this member of the union.
        unsafe { request.ifr_ifru.ifru_flags |= libc::IFF_UP as i16 };
        self.call(libc::SIOCSIFFLAGS as _, &mut request, "bring up")
    }

    /// Turns every offload off and makes sure of it.
    pub fn turn_offloads_off(&self) -> Result<()> {
        for offload in &OFFLOADS {
            // A driver may refuse a command for a feature it does not have; what counts is the reading.
            let _ = self.ethtool(offload.set, 0);
            let on = self.ethtool(offload.get, 0)?;
            if on != 0 {
                return Err(Error::Environment(format!(
                    "turn off {} of '{}': it stays on; packets would not be packets on the wire",
                    offload.name, self.name
                )));
            }
        }
        Ok(())
    }

    fn ethtool(&self, command: u32, value: u32) -> Result<u32> {
        // struct ethtool_value of linux/ethtool.h
        let mut argument = [command, value];
        let mut request = request_for(self.name);
        request.ifr_ifru.ifru_data = argument.as_mut_ptr().cast();
        self.call(libc::SIOCETHTOOL as _, &mut request, "ask ethtool about")?;
        Ok(argument[1])
    }

    fn call(&self, command: u64, request: &mut libc::ifreq, tried: &str) -> Result<()> {
        // SAFETY: `request` is a live ifreq; SIOCETHTOOL's data outlives the call.
        if unsafe { libc::ioctl(self.socket.as_raw_fd(), command as _, request) } != 0 {
            return Err(Error::refused(
                format!("{tried} interface '{}'", self.name),
                "check the name and the namespace it is in",
            ));
        }
        Ok(())
    }
}

/// An ifreq for an interface; `name` was checked to fit.
pub fn request_for(name: &str) -> libc::ifreq {
    // SAFETY: all zeroes is a valid ifreq.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().take(MAX_NAME).zip(name.bytes()) {
        *slot = byte as libc::c_char;
    }
    request
}
