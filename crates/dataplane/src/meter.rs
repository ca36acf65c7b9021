//! Meters: what a worker spends its time on, in clocks by facility, always.
//!
//! The cycle counter is read when work of another facility begins: a few times for each vector, never for each packet.
//! Matching of streams alone is measured packet by packet, as it takes far longer than a look at the counter. What a
//! step was charged is added to the worker's counters at its end; a step that did nothing, and the time between
//! steps, are idle. So the sum over all facilities is the time that has passed.

use kernels::tsc;

use crate::counters::Counters;

macro_rules! facilities {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// What a worker is busy with, under the names of RouterOS's `/tool/profile`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Facility {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Facility {
            /// All of them; a facility's place here is the index of its counter.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// RouterOS's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

facilities! {
    /// Nothing.
    Idle = "idle",
    /// Ports: receiving, spreading frames over workers, transmitting.
    Ethernet = "ethernet",
    /// Frames between the ports of bridges, and between these and the router.
    Bridging = "bridging",
    /// Packets that rules and connections do not look at: headers, routes, next hops, tunnels.
    Networking = "networking",
    /// Rules, connections and translation, with the routing of what they look at.
    Firewall = "firewall",
    /// Layer 7 patterns and host names of TLS.
    Layer7 = "l7-matcher",
    /// Queues: tokens, and packets that wait.
    Queuing = "queuing",
    /// IPsec: encryption, decryption, and the headers around them.
    Encrypting = "encrypting",
    /// What control asks, and timers.
    Management = "management",
}

const COUNT: usize = Facility::ALL.len();

/// A worker's clocks since its last step began.
#[derive(Debug)]
pub(crate) struct Meter {
    /// When the counter was last read, and what is charged since.
    since: u64,
    current: Facility,
    /// The last step did something, so that the next follows at once.
    busy: bool,
    charged: [u64; COUNT],
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self {
            since: tsc(),
            current: Facility::Idle,
            busy: false,
            charged: [0; COUNT],
        }
    }

    /// Up to when everything is charged.
    #[cfg(test)]
    pub(crate) fn charged_until(&self) -> u64 {
        self.since
    }

    /// A step begins, with the ports.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if self.busy {
            // The way back to the next step is part of the work.
            self.current = Facility::Ethernet;
        } else {
            self.turn(Facility::Ethernet);
        }
    }

    /// From here on another facility is charged; gives the one that was before.
    #[inline]
    pub(crate) fn turn(&mut self, to: Facility) -> Facility {
        let now = tsc();
        // Cores may differ by a few clocks.
        self.charged[self.current as usize] += now.saturating_sub(self.since);
        self.since = now;
        core::mem::replace(&mut self.current, to)
    }

    /// A step ends, in which streams were matched for so long by the firewall.
    #[inline]
    pub(crate) fn end(&mut self, did_nothing: bool, layer7: u64, counters: &Counters) {
        self.turn(Facility::Idle);
        let mut charged = core::mem::take(&mut self.charged);
        self.busy = !did_nothing;
        if did_nothing {
            let all = charged.iter().sum();
            return counters.charge(Facility::Idle, all);
        }
        let [firewall, streams] = [Facility::Firewall, Facility::Layer7].map(|one| one as usize);
        let of_firewall = layer7.min(charged[firewall]);
        charged[firewall] -= of_firewall;
        charged[streams] += of_firewall;
        for (facility, clocks) in Facility::ALL.iter().zip(charged) {
            if clocks > 0 {
                counters.charge(*facility, clocks);
            }
        }
    }
}
