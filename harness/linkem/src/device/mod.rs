//! The two ends of the link: where packets of a host come out, and where they go in.

mod packet;
mod stamps;
mod tun;

use std::io;
use std::os::unix::io::RawFd;

use crate::cli::{Backend, Options};
use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::namespace::Namespace;
use crate::{Ns, MTU};

pub use packet::{trusted_stamp, PacketRing};
pub use tun::{sent_but_dropped, Tun};

/// A packet that came in. `bytes` is its whole length, even if the buffer held less.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Ns,
    pub bytes: usize,
}

/// One host's end of the link. Nothing here blocks.
pub trait Device {
    fn fd(&self) -> RawFd;

    /// Bytes in front of the IP packet; they are not counted on the link.
    fn framing(&self) -> usize;

    /// Fills `buffer` with the next packet the host sent; None when there is none.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Arrival>>;

    /// Whether `receive` would find a packet, by memory shared with the kernel. None: only `receive` can tell.
    fn waiting(&self) -> Option<bool> {
        None
    }

    /// Hands a packet to the host.
    fn send(&mut self, packet: &[u8]) -> io::Result<()>;

    /// Whether the kernel tells when a packet came; else it came when it was read.
    fn stamped(&self) -> bool;

    /// Packets the host sent but the kernel dropped before they could be received; None if unknown.
    fn drops(&mut self) -> Option<u64>;

    /// Clears an error that polling reported; fails when the device is gone for good.
    fn recover(&mut self) -> io::Result<()>;
}

/// Both ends.
pub struct Ends {
    pub client: Box<dyn Device>,
    pub server: Box<dyn Device>,
}

/// Opens both ends. It leaves this process in the last namespace it had to enter.
pub fn open(options: &Options) -> Result<Ends> {
    let client_ns = Namespace::open(&options.client_ns)?;
    let server_ns = Namespace::open(&options.server_ns)?;
    match &options.backend {
        Backend::Tun => {
            client_ns.enter()?;
            let client = Box::new(Tun::create(&options.device)?);
            server_ns.enter()?;
            let server = Box::new(Tun::create(&options.device)?);
            Ok(Ends { client, server })
        }
        Backend::Veth { middle_ns, client_peer, server_peer } => {
            let middle_ns = Namespace::open(middle_ns)?;
            for host in [client_ns, server_ns] {
                host.enter()?;
                prepare_veth(&options.device)?;
            }
            middle_ns.enter()?;
            let client = Box::new(open_peer(client_peer)?);
            let server = Box::new(open_peer(server_peer)?);
            Ok(Ends { client, server })
        }
    }
}

/// The device of a host failed while the link was running.
pub fn lost(host: &str, error: &io::Error) -> Error {
    Error::Failure(format!(
        "receive from the {host}'s device: {error}; it was removed while the link was running"
    ))
}

fn prepare_veth(name: &str) -> Result<()> {
    let interface = Interface::find(name)?;
    interface.turn_offloads_off()?;
    interface.set_mtu(MTU)
}

fn open_peer(name: &str) -> Result<PacketRing> {
    prepare_veth(name)?;
    let interface = Interface::find(name)?;
    let ring = PacketRing::open(name, interface.index()?)?;
    packet::silence_ipv6(name);
    interface.bring_up()?;
    Ok(ring)
}
