//! The tracer's way up from the receiving port to the IP interface: bonds, bridges, VLANs,
//! stations.

use frame::{InterfaceId, IpsecState};

use super::super::{Entrance, Exit, Stage, slaves, stations};
use super::{Follower, Step};
use crate::bond;
use crate::bridge::{self, Bridged};
use crate::drop::DropReason;
use crate::interface::Above;
use crate::walk::decide::Watcher;

/// Maximum number of stacked interfaces that a trace follows.
const INTERFACES_DEEP: usize = 8;

impl<W: Watcher> Follower<'_, W> {
    /// Follows a received frame up to its IP interface, and routes its packet.
    ///
    /// # Errors
    /// The frame's exit.
    pub(super) fn arrive(&mut self, mut id: InterfaceId) -> Result<Step, Exit> {
        if self.frame.guarded == IpsecState::Revealed {
            return self.emerge(id);
        }
        for _ in 0..INTERFACES_DEEP {
            let line = self.cx.interfaces.get(id);
            let line = line.ok_or_else(|| self.down())?;
            if !line.ethernet {
                return self.route(id, true);
            }
            match line.above {
                Above::Bond => match bond::receiver(self.cx, id, self.frame) {
                    Ok(slow) if slow == id => return self.route(id, true),
                    Ok(bond) => {
                        id = bond;
                        continue;
                    }
                    Err(reason) => return Err(self.left(Stage::Ingress, Exit::Drop(reason))),
                },
                Above::Bridge => match self.bridge(id)? {
                    Bridged::Up(bridge) => id = bridge,
                    Bridged::Sent(port, out) => {
                        self.egress.add(port);
                        return Ok(Step::Leaves(out));
                    }
                    Bridged::Answered(port) => {
                        self.egress.add(port);
                        return Ok(Step::Done);
                    }
                },
                Above::Nothing => {}
            }
            match slaves::find(self.cx, id, self.frame.bytes()) {
                Some(slave) => {
                    slaves::rise_frame(self.frame, id, slave);
                    id = slave.id;
                }
                None => return self.route_as(id),
            }
        }
        Err(self.down())
    }

    /// Routes the packet of a frame for this interface, or for a VLAN or station on it.
    fn route_as(&mut self, id: InterfaceId) -> Result<Step, Exit> {
        let entrance = Entrance::new(self.cx.interfaces, id);
        let entrance = entrance.ok_or_else(|| self.down())?;
        match stations::receiver(self.cx, &entrance, self.frame) {
            Some(station) => self.route(station, true),
            None => self.route(id, false),
        }
    }

    /// Routes a packet that came out of IPsec, with the ingress interface of its outer packet.
    fn emerge(&mut self, mut id: InterfaceId) -> Result<Step, Exit> {
        for _ in 0..INTERFACES_DEEP {
            let line = self.cx.interfaces.get(id);
            match line.ok_or_else(|| self.down())?.above {
                Above::Nothing => break,
                Above::Bond | Above::Bridge => id = self.cx.interfaces.above(id),
            }
        }
        self.route(id, true)
    }

    fn bridge(&mut self, port: InterfaceId) -> Result<Bridged, Exit> {
        let decided = bridge::explain(self.cx, port, self.frame, self.memory, self.watch);
        decided.unwrap_or(Err(Exit::Drop(DropReason::InterfaceDown)))
    }

    fn down(&mut self) -> Exit {
        self.left(Stage::Ingress, Exit::Drop(DropReason::InterfaceDown))
    }
}
