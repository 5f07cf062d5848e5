//! The two ways through the link, and whose packet it is.

/// Down is server to client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Down,
    Up,
}

/// An IPv4 address.
pub type Address = [u8; 4];

const IPV4_HEADER: usize = 20;
const SOURCE: usize = 12;
const DESTINATION: usize = 16;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::Down => "down",
            Way::Up => "up",
        }
    }

    /// The host whose packets travel this way.
    pub fn sender(self) -> &'static str {
        match self {
            Way::Down => "server",
            Way::Up => "client",
        }
    }

    /// Keeps the random numbers of both ways apart.
    pub fn stream(self) -> u64 {
        match self {
            Way::Down => 0,
            Way::Up => 1,
        }
    }

    /// The client's address in a frame with `framing` bytes before the packet; None when it is no IPv4 packet.
    pub fn client_address(self, frame: &[u8], framing: usize) -> Option<Address> {
        let start = match self {
            Way::Down => DESTINATION,
            Way::Up => SOURCE,
        };
        address(frame, framing, start)
    }

    /// The server's address, likewise.
    pub fn server_address(self, frame: &[u8], framing: usize) -> Option<Address> {
        let start = match self {
            Way::Down => SOURCE,
            Way::Up => DESTINATION,
        };
        address(frame, framing, start)
    }
}

/// The address that begins `start` bytes after the framing; None when the frame holds no IPv4 packet.
fn address(frame: &[u8], framing: usize, start: usize) -> Option<Address> {
    if framing > 0 && frame.get(framing - 2..framing)? != ETHERTYPE_IPV4 {
        return None;
    }
    let header = frame.get(framing..framing + IPV4_HEADER)?;
    if header[0] >> 4 != 4 {
        return None;
    }
    header[start..start + 4].try_into().ok()
}
