//! Rows and monitors of bonds.

use menu::{Row, Value};
use service::lacp::PortView;
use wire::lacp::{Information, State};

use super::read::Mode;
use super::{BondState, Slave};

/// Letters of a port's LACP state, as RouterOS shows them.
const LETTERS: [(State, char); 8] = [
    (State::ACTIVITY, 'A'),
    (State::SHORT_TIMEOUT, 'T'),
    (State::AGGREGATION, 'G'),
    (State::SYNCHRONIZATION, 'S'),
    (State::COLLECTING, 'C'),
    (State::DISTRIBUTING, 'D'),
    (State::DEFAULTED, 'F'),
    (State::EXPIRED, 'E'),
];

impl BondState {
    pub(super) fn annotate(&self, row: &mut Row) {
        let is_used = |slave: &Slave| slave.link.is_some();
        let idle = !self.slaves.iter().any(is_used);
        row.flag("invalid", idle && !self.settings.interface.disabled);
        if self.mac != wire::Mac::ZERO {
            row.set("mac-address", Value::Mac(self.mac.0));
        }
    }

    /// Returns a page of `monitor`.
    pub(super) fn monitor(&self) -> Row {
        let mut row = Row::default();
        row.set("name", Value::text(&*self.settings.interface.name));
        row.set("mode", Value::text(self.settings.mode.word()));
        let is_active = |slave: &&Slave| match self.settings.mode {
            Mode::ActiveBackup => self.links.active() == Some(slave.number),
            _ => self.carries(slave),
        };
        let names = |active: bool| {
            let slaves = self
                .slaves
                .iter()
                .filter(|slave| is_active(slave) == active);
            let names: Vec<_> = slaves.map(|slave| &*slave.name).collect();
            Value::text(names.join(","))
        };
        row.set("active-ports", names(true));
        row.set("inactive-ports", names(false));
        if let Some(lacp) = &self.lacp {
            let config = self.lacp_config();
            row.set("lacp-system-id", Value::Mac(config.system.0));
            let priority = i64::from(config.system_priority);
            row.set("lacp-system-priority", Value::Number(priority));
            let partner = lacp.aggregate().and_then(|all| all.partner);
            if let Some(partner) = partner {
                row.set("lacp-partner-system-id", Value::Mac(partner.0));
            }
        }
        row
    }

    /// Returns a row of `monitor-slaves` for each slave.
    pub(super) fn monitor_slaves(&self) -> Vec<Row> {
        let all = self.slaves.iter().map(|slave| {
            let mut row = Row::default();
            row.set("bond", Value::text(&*self.settings.interface.name));
            row.set("port", Value::text(&*slave.name));
            let active = match self.settings.mode {
                Mode::ActiveBackup => self.links.active() == Some(slave.number),
                _ => self.carries(slave),
            };
            row.set("active", Value::Word(if active { "yes" } else { "no" }));
            let view = self.lacp.as_ref().and_then(|lacp| lacp.port(slave.number));
            if let Some(view) = view {
                tell_lacp(&view, &mut row);
            }
            row
        });
        all.collect()
    }
}

fn tell_lacp(view: &PortView, row: &mut Row) {
    let number = |number: u16| Value::Number(number.into());
    row.set("key", number(view.actor.key));
    row.set("flags", flags(&view.actor));
    let partner = &view.partner;
    if partner.system != wire::Mac::ZERO {
        row.set("partner-sys-id", Value::Mac(partner.system.0));
        row.set("partner-sys-priority", number(partner.system_priority));
        row.set("partner-key", number(partner.key));
        row.set("partner-flags", flags(partner));
    }
}

/// Formats the LACP state of a port: a letter or a dash for each bit.
fn flags(of: &Information) -> Value {
    let letter = |(bit, letter): (State, char)| if of.state.has(bit) { letter } else { '-' };
    Value::text(LETTERS.map(letter).iter().collect::<String>())
}
