//! Moving this process into a network namespace.

use std::fs::File;
use std::os::unix::io::AsRawFd;

use crate::error::{Error, Result};

/// Enters the network namespace of a file such as /run/netns/NAME or /proc/PID/ns/net.
///
/// There is no way back on purpose: a process in a user namespace may not re-enter its first network
/// namespace, and linkem needs no network of its own. Sockets and devices keep the one they came from.
pub fn enter(file: &str) -> Result<()> {
    let handle = File::open(file).map_err(|error| {
        Error::Environment(format!(
            "open namespace '{file}': {error}; it must exist while linkem starts"
        ))
    })?;
    // SAFETY: the descriptor is open for the duration of the call.
    if unsafe { libc::setns(handle.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
        return Err(Error::refused(
            format!("enter namespace '{file}'"),
            "want a network namespace, and root or its user namespace",
        ));
    }
    Ok(())
}
