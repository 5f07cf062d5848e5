//! What a direction asks of the model that carries its packets: one link for all, also with servers beyond it, or one
//! per client.

use crate::crowd::Crowd;
use crate::distances::Distant;
use crate::json::Object;
use crate::link::{Counters, Due, Link};
use crate::Ns;

/// A packet as its device gave it, framing included.
pub type Frame = Box<[u8]>;

/// The model of one direction.
pub trait Model {
    /// A frame with an IP packet of `bytes` arrives at `at`. Fails when there are too many clients.
    fn offer(&mut self, at: Ns, bytes: usize, frame: &[u8], framing: usize) -> Result<(), String>;

    /// Does all that happens at `now` or before.
    fn advance(&mut self, now: Ns);

    /// Time zero of traces and step lists is `at`, which is now.
    fn restart(&mut self, at: Ns);

    /// The next packet, if it is due at `limit` or before. Call `advance` first.
    fn take_due(&mut self, limit: Ns) -> Option<Due<Frame>>;

    /// When to call both next, if packets may leave `early` ns before they are due.
    fn next_wake(&self, early: Ns) -> Option<Ns>;

    fn counters(&self) -> Counters;

    /// Packets inside the model now.
    fn held(&self) -> usize;

    /// Adds what only this kind of model tells.
    fn describe(&self, object: Object) -> Object;
}

impl Model for Link<Frame> {
    fn offer(&mut self, at: Ns, bytes: usize, frame: &[u8], _: usize) -> Result<(), String> {
        Link::offer(self, at, bytes, frame.into());
        Ok(())
    }

    fn advance(&mut self, now: Ns) {
        Link::advance(self, now);
    }

    fn restart(&mut self, at: Ns) {
        Link::restart(self, at);
    }

    fn take_due(&mut self, limit: Ns) -> Option<Due<Frame>> {
        Link::take_due(self, limit)
    }

    fn next_wake(&self, early: Ns) -> Option<Ns> {
        Link::next_wake(self, early)
    }

    fn counters(&self) -> Counters {
        Link::counters(self)
    }

    fn held(&self) -> usize {
        Link::held(self)
    }

    fn describe(&self, object: Object) -> Object {
        object
    }
}

impl Model for Crowd<Frame> {
    fn offer(&mut self, at: Ns, bytes: usize, frame: &[u8], framing: usize) -> Result<(), String> {
        match self.way().client_address(frame, framing) {
            Some(client) => Crowd::offer(self, client, at, bytes, frame.into()),
            None => {
                self.refuse_foreign();
                Ok(())
            }
        }
    }

    fn advance(&mut self, now: Ns) {
        Crowd::advance(self, now);
    }

    fn restart(&mut self, at: Ns) {
        Crowd::restart(self, at);
    }

    fn take_due(&mut self, limit: Ns) -> Option<Due<Frame>> {
        Crowd::take_due(self, limit)
    }

    fn next_wake(&self, early: Ns) -> Option<Ns> {
        Crowd::next_wake(self, early)
    }

    fn counters(&self) -> Counters {
        Crowd::counters(self)
    }

    fn held(&self) -> usize {
        Crowd::held(self)
    }

    fn describe(&self, object: Object) -> Object {
        Crowd::describe(self, object)
    }
}

impl Model for Distant<Frame> {
    fn offer(&mut self, at: Ns, bytes: usize, frame: &[u8], framing: usize) -> Result<(), String> {
        let server = self.way().server_address(frame, framing);
        Distant::offer(self, server, at, bytes, frame.into());
        Ok(())
    }

    fn advance(&mut self, now: Ns) {
        Distant::advance(self, now);
    }

    fn restart(&mut self, at: Ns) {
        Distant::restart(self, at);
    }

    fn take_due(&mut self, limit: Ns) -> Option<Due<Frame>> {
        Distant::take_due(self, limit)
    }

    fn next_wake(&self, early: Ns) -> Option<Ns> {
        Distant::next_wake(self, early)
    }

    fn counters(&self) -> Counters {
        Distant::counters(self)
    }

    fn held(&self) -> usize {
        Distant::held(self)
    }

    fn describe(&self, object: Object) -> Object {
        object
    }
}
