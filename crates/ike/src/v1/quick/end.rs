//! The end of quick mode exchanges: retransmission, failure, and refusal by the peer.

use super::{Quick, Sa};
use crate::engine::core::{Context, Order};
use crate::event::{Level, Side, Why};

impl Sa {
    /// Retransmits requests and drops finished exchanges.
    pub(in crate::v1) fn tick_quicks(&mut self, cx: &mut Context<'_>) {
        let due: Vec<_> = self
            .quicks
            .iter()
            .filter(|(_, quick)| quick.due() <= cx.now)
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            let Some(mut quick) = self.quicks.remove(&id) else {
                continue;
            };
            if let Some(resend) = &mut quick.resend
                && quick.over_at > cx.now
                && resend.again(&mut self.common, cx)
            {
                self.quicks.insert(id, quick);
                continue;
            }
            if quick.resend.is_none() && quick.over_at > cx.now {
                self.quicks.insert(id, quick);
                continue;
            }
            if quick.resend.is_some() {
                self.fail_quick(quick, Why::Unreachable, cx);
            }
            self.remember(id);
        }
    }

    /// Reports a failed exchange.
    fn fail_quick(&self, quick: Quick, why: Why, cx: &mut Context<'_>) {
        if let Some(child) = quick.child {
            cx.remove(child, why);
        }
        if quick.side == Side::Initiator {
            cx.core
                .orders
                .push_back(Order::Failed(quick.policy_id, why));
        }
        self.say(Level::Error, &format!("phase 2 failed: {}", why.name()), cx);
    }

    /// The peer refused the proposal with this SPI. An unknown SPI refers to the only open exchange, if there
    /// is one.
    pub(in crate::v1) fn refused(&mut self, spi: &[u8], why: Why, cx: &mut Context<'_>) {
        let asking = self.quicks.iter().filter(|(_, quick)| quick.is_asking());
        let asking: Vec<_> = asking.map(|(id, quick)| (*id, quick.spis.0)).collect();
        let named = asking.iter().find(|(_, own)| own.to_be_bytes() == spi);
        let only = asking.first().filter(|_| asking.len() == 1);
        let Some((id, _)) = named.or(only).copied() else {
            return;
        };
        self.remember(id);
        if let Some(quick) = self.quicks.remove(&id) {
            self.fail_quick(quick, why, cx);
        }
    }
}
