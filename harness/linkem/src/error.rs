//! The ways linkem can fail, and the exit code of each.
//!
//! ```text
//! Error
//! |-- Usage        2  the command line or a direction makes no sense
//! |-- Environment  3  the machine lacks something (namespace, device, permission)
//! `-- Failure      1  something broke while the link was running
//! ```

use std::fmt;
use std::io;

#[derive(Debug, PartialEq, Eq)]
pub enum Error {
    Usage(String),
    Environment(String),
    Failure(String),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn exit_code(&self) -> i32 {
        match self {
            Error::Failure(_) => 1,
            Error::Usage(_) => 2,
            Error::Environment(_) => 3,
        }
    }

    /// The environment refused the system call that just failed: what was tried, what to do.
    pub fn refused(tried: impl fmt::Display, remedy: &str) -> Error {
        let found = io::Error::last_os_error();
        Error::Environment(format!("{tried}: {found}; {remedy}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text) | Error::Environment(text) | Error::Failure(text) => {
                out.write_str(text)
            }
        }
    }
}
