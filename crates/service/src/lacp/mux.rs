//! Mux machine (6.4.15, figure 6-21): attaches a port to its aggregator, enables collecting, then distributing.

use machine::{Duration, Instant};
use wire::lacp::State;

use super::Lacp;
use super::port::{Mux, Port, Selected};

/// `Aggregate_Wait_Time`: how long an aggregator waits for more ports.
const WAIT: Duration = Duration::from_secs(2);

impl Lacp {
    /// Runs the mux machines of all ports; returns true if any of them changed state.
    pub(super) fn multiplex(&mut self, now: Instant) -> bool {
        let mut busy = false;
        for place in 0..self.ports.len() {
            let wanted = self.next_mux(&self.ports[place]);
            let port = &mut self.ports[place];
            if wanted == port.mux {
                continue;
            }
            let was = core::mem::replace(&mut port.mux, wanted);
            if wanted == Mux::Waiting {
                // A selected standby port does not wait again.
                (port.wait_until, port.ready) = (Some(now + WAIT), false);
            } else if was == Mux::Waiting {
                (port.wait_until, port.ready) = (None, false);
            }
            port.need_to_transmit = true;
            busy = true;
        }
        busy
    }

    /// Next state of a port's mux machine; the current one if nothing changes.
    fn next_mux(&self, port: &Port) -> Mux {
        let selected = port.selected == Selected::Selected;
        let in_step = port.partner.state.has(State::SYNCHRONIZATION);
        let collects = port.partner.state.has(State::COLLECTING);
        match port.mux {
            Mux::Detached if port.selected != Selected::Unselected => Mux::Waiting,
            Mux::Detached => Mux::Detached,
            Mux::Waiting if port.selected == Selected::Unselected => Mux::Detached,
            Mux::Waiting if selected && self.is_ready(port) => Mux::Attached,
            Mux::Waiting => Mux::Waiting,
            Mux::Attached if !selected => Mux::Detached,
            Mux::Attached if in_step => Mux::Collecting,
            Mux::Attached => Mux::Attached,
            Mux::Collecting if !selected || !in_step => Mux::Attached,
            Mux::Collecting if collects => Mux::Distributing,
            Mux::Collecting => Mux::Collecting,
            Mux::Distributing if !selected || !in_step || !collects => Mux::Collecting,
            Mux::Distributing => Mux::Distributing,
        }
    }

    /// `Ready`: true if all ports that wait for this aggregator have waited long enough.
    fn is_ready(&self, port: &Port) -> bool {
        let mut ports = self.ports.iter();
        ports.all(|other| other.group != port.group || other.mux != Mux::Waiting || other.ready)
    }
}
