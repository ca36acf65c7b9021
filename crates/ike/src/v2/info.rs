//! INFORMATIONAL (RFC 7296, 1.4): deletions, and liveness checks (requests without payloads).

use super::{Arrival, Reply, Request, Sa, Stage, Task, bodies, exchange, kind};
use crate::config::Protocol;
use crate::engine::core::Context;
use crate::event::{Child, ChildId, Why};
use crate::message::{Chain, Delete, Payload, Version};

const fn number(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Ah => 2,
        Protocol::Esp => 3,
    }
}

fn deletion(protocol: u8, spis: Vec<u32>) -> Vec<u8> {
    let delete = Delete {
        protocol,
        spis,
        cookies: Vec::new(),
    };
    delete.write(Version::Two)
}

impl Sa {
    /// Processes a request; the response deletes the local SPIs of deleted pairs.
    pub(super) fn informational(
        &mut self,
        arrival: &Arrival,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Reply {
        let mut chain = self.receive_move(found, arrival.path, cx);
        for body in bodies(found, kind::DELETE) {
            let Ok(delete) = Delete::read(Version::Two, body) else {
                continue;
            };
            if delete.protocol == 1 {
                // Simultaneous rekey: the peer's SA replaces this one and the one that this side requested.
                if let Some((rival, _)) = self.rival.take() {
                    self.hand_over(rival, cx);
                    return Reply::Over(chain, Why::Replaced);
                }
                return Reply::Over(chain, Why::Deleted);
            }
            let pairs = delete
                .spis
                .iter()
                .filter_map(|spi| cx.core.pair_out(self.common.id, *spi));
            let pairs: Vec<_> = pairs.collect();
            let removed = pairs
                .into_iter()
                .filter_map(|pair| cx.remove(pair, Why::Deleted));
            let own: Vec<_> = removed.map(|child| child.inbound.spi).collect();
            if !own.is_empty() {
                chain.push(kind::DELETE, &deletion(delete.protocol, own));
            }
        }
        Reply::Now(chain)
    }

    /// Sends a delete for a pair.
    pub(super) fn ask_delete(
        &mut self,
        protocol: Protocol,
        spi: u32,
        child: Option<ChildId>,
        cx: &mut Context<'_>,
    ) {
        let body = deletion(number(protocol), vec![spi]);
        let chain = Chain::default().with(kind::DELETE, &body);
        self.ask(exchange::INFORMATIONAL, &chain, Request::Delete(child), cx);
    }

    /// Sends a delete for the IKE SA.
    pub(super) fn ask_leave(&mut self, why: Why, cx: &mut Context<'_>) {
        let chain = Chain::default().with(kind::DELETE, &deletion(1, Vec::new()));
        self.ask(exchange::INFORMATIONAL, &chain, Request::Leave(why), cx);
    }

    /// Queues a delete for a pair.
    pub(crate) fn delete_child(&mut self, child: &Child, cx: &mut Context<'_>) {
        self.push_task(Task::Delete(child.protocol, child.inbound.spi, None));
        self.go_on(cx);
    }

    /// Queues a delete for an unknown SPI that the peer uses.
    pub(crate) fn forget(&mut self, spi: u32, cx: &mut Context<'_>) {
        let known = self
            .tasks
            .iter()
            .any(|task| matches!(task, Task::Delete(..)));
        if !known && self.asked.is_none() {
            self.push_task(Task::Delete(Protocol::Esp, spi, None));
            self.go_on(cx);
        }
    }

    /// Sends a delete for the IKE SA once, without retransmission.
    pub(crate) fn say_goodbye(&mut self, cx: &mut Context<'_>) {
        if self.gone || self.stage != Stage::Done {
            return;
        }
        self.gone = true;
        self.ask_leave(Why::Killed, cx);
    }
}
