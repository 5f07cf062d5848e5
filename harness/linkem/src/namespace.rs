//! Moving this process into network namespaces.

use std::fs::File;
use std::os::unix::io::AsRawFd;

use crate::error::{Error, Result};

/// A network namespace, held open. Open all before entering one: /proc/self/ns/net changes meaning.
pub struct Namespace<'a> {
    name: &'a str,
    file: File,
}

impl<'a> Namespace<'a> {
    /// `name` is a file such as /run/netns/NAME or /proc/PID/ns/net.
    pub fn open(name: &'a str) -> Result<Namespace<'a>> {
        let file = File::open(name).map_err(|error| {
            Error::Environment(format!(
                "open namespace '{name}': {error}; it must exist while linkem starts"
            ))
        })?;
        Ok(Namespace { name, file })
    }

    /// Makes it the namespace of this process.
    ///
    /// There is no way back on purpose: a process in a user namespace may not re-enter its first
    /// network namespace, and linkem needs none of its own. Sockets and devices stay where they were
    /// opened.
    pub fn enter(&self) -> Result<()> {
        // SAFETY: the descriptor is open for the duration of the call.
        if unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
            return Err(Error::refused(
                format!("enter namespace '{}'", self.name),
                "want a network namespace, and root or its user namespace",
            ));
        }
        Ok(())
    }
}
