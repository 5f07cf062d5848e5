//! A capture of what the link delivers, in the nanosecond pcap format
//! (<https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/>).
//!
//! A thread of its own writes to disk, so a slow disk never delays a packet. If the disk cannot follow
//! or is full, the capture ends, the counts say so, and the link goes on.

use std::fs::File;
use std::io::Write;
use std::mem;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use crate::clock;
use crate::error::{Error, Result};
use crate::{Ns, NS_PER_S};

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const VERSION_2_4: u32 = 4 << 16 | 2;
const LINKTYPE_RAW: u32 = 101;

/// Records collected before they go to the writer, in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Chunks the writer may lag behind: 64 MiB.
const CHUNKS: usize = 1024;

/// What the writer has done so far.
#[derive(Default)]
struct Progress {
    packets: u64,
    error: Option<String>,
}

#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    packets: u64,
}

/// An open capture.
pub struct Capture {
    snaplen: usize,
    /// Fixed at the start, so that time in the file never jumps.
    offset: i64,
    chunk: Chunk,
    writer: Option<(SyncSender<Chunk>, JoinHandle<()>)>,
    progress: Arc<Mutex<Progress>>,
}

impl Capture {
    /// Creates `name`, replacing what was there. At most `snaplen` bytes of each packet are kept.
    pub fn create(name: &str, snaplen: usize) -> Result<Capture> {
        let file = File::create(name).map_err(|error| {
            Error::Environment(format!("create capture '{name}': {error}; choose another --pcap"))
        })?;
        let (sender, receiver) = sync_channel(CHUNKS);
        let progress = Arc::new(Mutex::new(Progress::default()));
        let shared = Arc::clone(&progress);
        let thread = thread::spawn(move || write_chunks(file, &receiver, &shared));
        let mut capture = Capture {
            snaplen,
            offset: clock::realtime_offset(),
            chunk: Chunk { bytes: file_header(snaplen), packets: 0 },
            writer: Some((sender, thread)),
            progress,
        };
        // At once, so that even the capture of a link that is killed can be read.
        capture.hand_over();
        Ok(capture)
    }

    /// Records a packet delivered at `at`. Of framed packets only IPv4 and IPv6 are recorded.
    pub fn add(&mut self, at: Ns, packet: &[u8], framing: usize) {
        if self.writer.is_none() || !carries_ip(packet, framing) {
            return;
        }
        let time = (at as i64 + self.offset) as Ns;
        append_record(&mut self.chunk.bytes, time, &packet[framing..], self.snaplen);
        self.chunk.packets += 1;
        if self.chunk.bytes.len() >= CHUNK_BYTES {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let chunk = mem::take(&mut self.chunk);
        let result = match &self.writer {
            Some((sender, _)) => sender.try_send(chunk),
            None => return,
        };
        if let Err(error) = result {
            if let TrySendError::Full(_) = error {
                let text = "the disk cannot follow the link; the capture ends early";
                lock(&self.progress).error = Some(text.to_string());
            }
            // Dropping the sender lets the writer end by itself.
            self.writer = None;
        }
    }

    /// Writes what is left and waits until it is in the file.
    pub fn finish(&mut self) {
        if let Some((sender, thread)) = self.writer.take() {
            // The writer hangs up only after it has noted its error.
            let _ = sender.send(mem::take(&mut self.chunk));
            drop(sender);
            let _ = thread.join();
        }
    }

    /// Packets in the file so far.
    pub fn packets(&self) -> u64 {
        lock(&self.progress).packets
    }

    pub fn error(&self) -> Option<String> {
        lock(&self.progress).error.clone()
    }
}

fn write_chunks(mut file: File, chunks: &Receiver<Chunk>, progress: &Mutex<Progress>) {
    let mut whole = 0;
    for chunk in chunks {
        if let Err(error) = file.write_all(&chunk.bytes) {
            // Cut the torn chunk off, so that readers find whole records only.
            let _ = file.set_len(whole);
            lock(progress).error = Some(error.to_string());
            return;
        }
        whole += chunk.bytes.len() as u64;
        lock(progress).packets += chunk.packets;
    }
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().expect("nobody panics while holding it")
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
