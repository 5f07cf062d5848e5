//! A capture of what the link delivers, in the nanosecond pcap format
//! (<https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/>).

use crate::clock;
use crate::error::Result;
use crate::recorder::Recorder;
use crate::{Ns, NS_PER_S};

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const VERSION_2_4: u32 = 4 << 16 | 2;
const LINKTYPE_RAW: u32 = 101;

/// An open capture.
pub struct Capture {
    snaplen: usize,
    /// Fixed at the start, so that time in the file never jumps.
    offset: i64,
    recorder: Recorder,
}

impl Capture {
    /// Creates `name`, replacing what was there. At most `snaplen` bytes of each packet are kept.
    pub fn create(name: &str, snaplen: usize) -> Result<Capture> {
        let recorder = Recorder::create("--pcap", name, file_header(snaplen))?;
        Ok(Capture { snaplen, offset: clock::realtime_offset(), recorder })
    }

    /// Records a packet delivered at `at`. Of framed packets only IPv4 and IPv6 are recorded.
    pub fn add(&mut self, at: Ns, packet: &[u8], framing: usize) {
        if !carries_ip(packet, framing) {
            return;
        }
        let time = (at as i64 + self.offset) as Ns;
        let snaplen = self.snaplen;
        self.recorder.add(|out| append_record(out, time, &packet[framing..], snaplen));
    }

    /// Writes what is left and waits until it is in the file.
    pub fn finish(&mut self) {
        self.recorder.finish();
    }

    /// Packets in the file so far.
    pub fn packets(&self) -> u64 {
        self.recorder.records()
    }

    pub fn error(&self) -> Option<String> {
        self.recorder.error()
    }
}

fn file_header(snaplen: usize) -> Vec<u8> {
    [MAGIC_NANOSECONDS, VERSION_2_4, 0, 0, snaplen as u32, LINKTYPE_RAW]
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect()
}

fn append_record(out: &mut Vec<u8>, time: Ns, packet: &[u8], snaplen: usize) {
    let kept = &packet[..packet.len().min(snaplen)];
    let fields = [time / NS_PER_S, time % NS_PER_S, kept.len() as u64, packet.len() as u64];
    for field in fields {
        out.extend_from_slice(&(field as u32).to_le_bytes());
    }
    out.extend_from_slice(kept);
}

/// Without framing all packets are IP; behind an Ethernet header its type tells.
fn carries_ip(packet: &[u8], framing: usize) -> bool {
    framing == 0 || matches!(packet.get(12..14), Some([0x08, 0x00] | [0x86, 0xdd]))
}
