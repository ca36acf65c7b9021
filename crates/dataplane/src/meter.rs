//! Meters: the time that a worker spends in each facility, in clock cycles; always on.
//!
//! The cycle counter is read when work of another facility begins: a few times per vector, never
//! per packet. Only stream matching is measured packet by packet, because it takes far longer than
//! reading the counter. At the end of a step its cycles are added to the worker's counters; a step
//! without work, and the time between steps, count as idle. So the sum over all facilities is the
//! elapsed time.

use kernels::tsc;

use crate::counters::Counters;
use crate::profile::{Sampler, Subject};

macro_rules! facilities {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// Facilities of a worker, named as in RouterOS's `/tool/profile`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Facility {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Facility {
            /// All facilities; the position is the index of the facility's counter.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns RouterOS's name of the facility.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

facilities! {
    /// No work.
    Idle = "idle",
    /// Ports: receiving, spreading frames over workers, transmitting.
    Ethernet = "ethernet",
    /// Bridging: frames between bridge ports, or between ports and the router.
    Bridging = "bridging",
    /// Forwarding without rules and connections: headers, routes, next hops, tunnels.
    Networking = "networking",
    /// Rules, connections and NAT, with the routing of packets under the firewall.
    Firewall = "firewall",
    /// Layer 7 patterns and TLS host names.
    Layer7 = "l7-matcher",
    /// Queues: tokens and waiting packets.
    Queuing = "queuing",
    /// IPsec: encryption, decryption, and the headers around them.
    Encrypting = "encrypting",
    /// Commands from control, and timers.
    Management = "management",
}

const COUNT: usize = Facility::ALL.len();

/// Cycles of a worker since its last step began.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Last reading of the counter, and the cycles charged since the step began.
    since: u64,
    current: Facility,
    /// The last step did work, so the next follows at once.
    busy: bool,
    charged: [u64; COUNT],
    sampler: Sampler,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self {
            since: tsc(),
            current: Facility::Idle,
            busy: false,
            charged: [0; COUNT],
            sampler: Sampler::new(),
        }
    }

    /// Returns the counter value up to which time is charged.
    #[cfg(test)]
    pub(crate) fn charged_until(&self) -> u64 {
        self.since
    }

    /// Begins a step with the facility of the ports.
    #[inline]
    pub(crate) fn begin(&mut self, counters: &Counters) {
        self.sampler.begin_step(counters.profiled());
        if self.busy {
            // The way back to the next step counts as work.
            self.current = Facility::Ethernet;
        } else {
            self.turn(Facility::Ethernet);
        }
    }

    /// Switches to another facility. Returns the previous one.
    #[inline]
    pub(crate) fn turn(&mut self, to: Facility) -> Facility {
        let now = tsc();
        // The counters of cores may differ by a few cycles.
        self.charged[self.current as usize] += now.saturating_sub(self.since);
        self.since = now;
        core::mem::replace(&mut self.current, to)
    }

    /// Begins a span of a profile, if the current step samples the subject. Returns whether it does.
    #[inline(always)]
    pub(crate) fn begin_span(&mut self, subject: Subject) -> bool {
        let samples = self.sampler.samples(subject);
        if samples {
            self.sampler.begin_span();
        }
        samples
    }

    /// Returns true if the current step samples a subject.
    #[inline(always)]
    pub(crate) fn samples(&self, subject: Subject) -> bool {
        self.sampler.samples(subject)
    }

    /// Adds packets of a key to the current span.
    #[cold]
    pub(crate) fn hit(&mut self, key: u64, packets: u32) {
        self.sampler.hit(key, packets);
    }

    /// Adds packets that belong to no key to the current span.
    #[cold]
    pub(crate) fn miss(&mut self, packets: u32) {
        self.sampler.miss(packets);
    }

    /// Stops the clock of the current span.
    #[cold]
    pub(crate) fn stop_clock(&mut self) {
        self.sampler.stop_clock();
    }

    /// Ends a span, whose packets share its clocks.
    #[cold]
    pub(crate) fn end_span(&mut self, counters: &Counters) {
        counters.with_profile(|profile| self.sampler.end_span(profile));
    }

    /// Ends a step. `layer7`: cycles of stream matching, which are moved from the firewall to their
    /// own facility.
    #[inline]
    pub(crate) fn end(&mut self, did_nothing: bool, layer7: u64, counters: &Counters) {
        self.turn(Facility::Idle);
        let mut charged = core::mem::take(&mut self.charged);
        self.busy = !did_nothing;
        if self.sampler.end_step() && !did_nothing {
            let busy = charged.iter().sum::<u64>() - charged[Facility::Idle as usize];
            counters.with_profile(|profile| {
                if let Some(profile) = profile {
                    profile.count_step(busy);
                }
            });
        }
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
