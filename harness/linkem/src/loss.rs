//! Random loss, decided per packet on arrival, before the queue.

use crate::random::Random;

/// How a direction loses packets.
#[derive(Clone, Debug, PartialEq)]
pub enum LossSpec {
    None,
    /// Each packet is lost with this probability, independently of the others.
    Independent(f64),
    /// Loss in bursts.
    Bursty(GilbertElliott),
}

/// The Gilbert-Elliott channel in the notation of Hasslinger and Hohlfeld, "The Gilbert-Elliott Model
/// for Packet Loss in Real Time Services on the Internet" (MMB 2008). netem's `loss gemodel` takes the
/// same p and r, but 1-h and 1-k.
///
/// One step of the chain per packet. Stationary loss is (r(1-k) + p(1-h)) / (p+r), and the bad state
/// lasts 1/r packets on average. With h=0 and k=1 it is Gilbert's simple model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability of good -> bad, per packet.
    pub p: f64,
    /// Probability of bad -> good, per packet; above 0.
    pub r: f64,
    /// Probability that a packet gets THROUGH in the bad state.
    pub h: f64,
    /// Probability that a packet gets THROUGH in the good state.
    pub k: f64,
}

/// The state of one direction's loss process.
pub struct Loss {
    spec: LossSpec,
    random: Random,
    bad: bool,
}

impl Loss {
    pub fn new(spec: LossSpec, mut random: Random) -> Loss {
        // A stationary start: short trials would see too little loss if each began in the good state.
        let bad = match &spec {
            LossSpec::Bursty(chain) => random.happens(chain.p / (chain.p + chain.r)),
            _ => false,
        };
        Loss { spec, random, bad }
    }

    /// Decides the fate of the next packet.
    pub fn takes(&mut self) -> bool {
        match self.spec {
            LossSpec::None => false,
            LossSpec::Independent(chance) => self.random.happens(chance),
            LossSpec::Bursty(chain) => {
                let leave = if self.bad { chain.r } else { chain.p };
                self.bad ^= self.random.happens(leave);
                !self.random.happens(if self.bad { chain.h } else { chain.k })
            }
        }
    }
}
