//! Received messages of the DHCPv6 client (RFC 8415, 18.2.9 and 18.2.10).

use core::net::Ipv6Addr;

use machine::{Duration, Instant};

use super::super::message::{Association, Kind, Message, Options, Status, code};
use super::binding::Binding;
use super::{Action, Client, Fault, Offer, State, Why};

/// Default and minimum information refresh time (RFC 8415, 21.23).
const REFRESH: Duration = Duration::from_secs(86_400);
const REFRESH_LEAST: Duration = Duration::from_secs(600);
/// Pause after a server refused what it had offered.
const AFTER_REFUSAL: Duration = Duration::from_secs(5);
/// Length of a DUID in bytes (RFC 8415, 11.1).
const NAME: core::ops::RangeInclusive<usize> = 3..=130;

impl Client {
    /// Handles a received message.
    ///
    /// # Errors
    /// Returns why the client ignores the message; the state is unchanged.
    pub fn receive(
        &mut self,
        message: &Message,
        from: Ipv6Addr,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let (State::Soliciting(exchange, _)
        | State::Requesting(exchange, _)
        | State::Renewing(exchange, _)
        | State::Rebinding(exchange, _)
        | State::Resuming(exchange, _)
        | State::Informing(exchange)) = &self.state
        else {
            return Err(Fault::Unexpected);
        };
        let exchange = *exchange;
        let options = &message.options;
        let is_ours = message.xid == exchange.xid && { options.get(code::CLIENT_ID) }
            .is_none_or(|duid| duid == self.config.duid);
        let is_named =
            options.contains(code::CLIENT_ID) || matches!(self.state, State::Informing(_));
        let server = options.get(code::SERVER_ID);
        let server = server.filter(|server| NAME.contains(&server.len()));
        let (true, true, Some(server)) = (is_ours, is_named, server) else {
            return Err(Fault::Other);
        };
        let asked = match &self.state {
            State::Requesting(_, offer) => Some(&offer.server),
            State::Renewing(_, binding) => Some(&binding.server),
            _ => None,
        };
        if asked.is_some_and(|asked| asked != server) {
            return Err(Fault::Other);
        }
        let server = server.to_vec();
        match (&self.state, message.kind) {
            (State::Soliciting(..), Kind::Advertise) => self.take_offer(server, options, now, out),
            (State::Soliciting(..), Kind::Reply)
                if !(self.config.rapid_commit && options.contains(code::RAPID_COMMIT)) =>
            {
                Err(Fault::Unexpected)
            }
            (State::Informing(_), Kind::Reply) => {
                let told = options
                    .get(code::REFRESH)
                    .and_then(|value| value.first_chunk());
                let told = told.map(|seconds| u32::from_be_bytes(*seconds));
                let refresh = told.map_or(REFRESH, |seconds| Duration::from_secs(seconds.into()));
                let binding = Binding::of_information(server, from, options);
                out.push(Action::Got(Box::new(binding.clone())));
                let until = now + refresh.max(REFRESH_LEAST);
                self.state = State::Informed(Box::new(binding), until);
                Ok(())
            }
            (_, Kind::Reply) => self.take_reply(server, from, options, now, out),
            _ => Err(Fault::Unexpected),
        }
    }

    /// Returns the identity associations with the client's IAIDs.
    fn own<'a>(&'a self, options: &'a Options) -> impl Iterator<Item = Association> + 'a {
        let addresses = options.associations(code::IA_NA);
        let addresses = addresses.filter(|own| Some(own.id) == self.config.addresses);
        let prefixes = options.associations(code::IA_PD);
        let prefixes = prefixes.filter(|own| Some(own.id) == self.config.prefixes);
        addresses.chain(prefixes)
    }

    /// True if the offered kinds cover the requested ones. `has(true)` tells whether prefixes are offered,
    /// `has(false)` whether addresses are.
    fn will_do(&self, has: impl Fn(bool) -> bool) -> bool {
        let needs = (
            self.config.addresses.is_some(),
            self.config.prefixes.is_some(),
        );
        match needs {
            (true, true) => has(true) && (self.config.prefix_will_do || has(false)),
            (_, prefixes) => has(prefixes),
        }
    }

    fn take_offer(
        &mut self,
        server: Vec<u8>,
        options: &Options,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let associations: Vec<_> = self
            .own(options)
            .filter(|own| !own.leased.is_empty())
            .collect();
        let has = |is_prefixes| {
            associations
                .iter()
                .any(|own| own.is_prefixes == is_prefixes)
        };
        if options.status() != Status::Success || !self.will_do(has) {
            return Err(Fault::Unusable);
        }
        let preference = options
            .get(code::PREFERENCE)
            .and_then(|value| value.first());
        let offer = Offer {
            server,
            preference: preference.copied().unwrap_or(0),
            associations,
        };
        let State::Soliciting(exchange, best) = &mut self.state else {
            return Err(Fault::Unexpected);
        };
        let is_better = { best.as_ref() }.is_none_or(|best| best.preference < offer.preference);
        if is_better {
            *best = Some(offer);
        }
        // RFC 8415, 18.2.9: takes an offer with preference 255, or the first offer after the first timeout, at once.
        let takes = |best: &Offer| best.preference == 255 || exchange.count > 1;
        if best.as_ref().is_some_and(takes)
            && let Some(offer) = best.take()
        {
            let exchange = *exchange;
            self.ask(exchange, offer, now, out);
        }
        Ok(())
    }

    fn take_reply(
        &mut self,
        server: Vec<u8>,
        from: Ipv6Addr,
        options: &Options,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let own: Vec<_> = self.own(options).collect();
        let before = self.binding().map(|binding| binding.got.clone());
        let refused = own.iter().map(|own| own.status).chain([options.status()]);
        let refused = { refused }.find(|status| *status != Status::Success);
        let mut binding = Binding::read(server, from, options, &own, now);
        // Addresses that a renewal does not mention stay unchanged (RFC 8415, 18.2.10.1).
        binding.keep(before.as_deref().unwrap_or_default(), &own, now);
        let has = |is_prefix| binding.got.iter().any(|got| got.is_prefix == is_prefix);
        if self.will_do(has) {
            self.wanted.clear();
            out.push(Action::Got(Box::new(binding.clone())));
            self.state = State::Bound(Box::new(binding));
            return Ok(());
        }
        match (before, refused) {
            (None, None) => Err(Fault::Unusable),
            (None, Some(status)) => {
                out.push(Action::Refused(status));
                self.state = State::Waiting(now + AFTER_REFUSAL);
                Ok(())
            }
            (Some(_), _) => {
                out.push(Action::Lost(Why::TakenBack));
                self.state = State::Waiting(now + AFTER_REFUSAL);
                Ok(())
            }
        }
    }
}
