//! Records on their way into a file, written by a thread of its own, so a slow disk never delays a packet.
//! If the disk cannot follow or is full, the recording ends, says so, and the link goes on.

use std::fs::File;
use std::io::Write;
use std::mem;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use crate::error::{Error, Result};

/// Records collected before they go to the writer, in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Chunks the writer may lag behind: 64 MiB.
const CHUNKS: usize = 1024;

/// What the writer has done so far.
#[derive(Default)]
struct Progress {
    records: u64,
    error: Option<String>,
}

#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    records: u64,
}

/// An open recording.
pub struct Recorder {
    chunk: Chunk,
    writer: Option<(SyncSender<Chunk>, JoinHandle<()>)>,
    progress: Arc<Mutex<Progress>>,
}

impl Recorder {
    /// Creates `name`, replacing what was there, with `header` in it. `option` is what asked for it.
    pub fn create(option: &str, name: &str, header: Vec<u8>) -> Result<Recorder> {
        let file = File::create(name).map_err(|error| {
            Error::Environment(format!("create '{name}': {error}; choose another {option}"))
        })?;
        let (sender, receiver) = sync_channel(CHUNKS);
        let progress = Arc::new(Mutex::new(Progress::default()));
        let shared = Arc::clone(&progress);
        let thread = thread::spawn(move || write_chunks(file, &receiver, &shared));
        let mut recorder = Recorder {
            chunk: Chunk { bytes: header, records: 0 },
            writer: Some((sender, thread)),
            progress,
        };
        // At once, so that even the file of a link that is killed can be read.
        recorder.hand_over();
        Ok(recorder)
    }

    /// Adds the record that `append` writes.
    pub fn add(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        if self.writer.is_none() {
            return;
        }
        append(&mut self.chunk.bytes);
        self.chunk.records += 1;
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
                let text = "the disk cannot follow the link; the recording ends early";
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

    /// Records in the file so far.
    pub fn records(&self) -> u64 {
        lock(&self.progress).records
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
        lock(progress).records += chunk.records;
    }
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().expect("nobody panics while holding it")
}
