//! Handling of requests by message type (RFC 2131, 4.3).

use core::net::Ipv4Addr;
use core::time::Duration;

use machine::Instant;

use super::{Action, Assigned, Authoritative, Bootp, Client, Request, Servers, State, Why};
use super::{MessageType, OFFER, PROBE, code, is_same_net};

impl Servers {
    pub(super) fn handle_request(
        &mut self,
        asked: Request,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Why> {
        let config = self.servers.get(&asked.server).ok_or(Why::OtherServer)?;
        let message = &asked.message;
        if message.is_reply {
            return Err(Why::Type);
        }
        // Renewals are exempt, because such a client started long ago.
        let is_new = message.ciaddr.is_unspecified();
        if is_new && Duration::from_secs(message.secs.into()) < config.delay_threshold {
            return Err(Why::Early);
        }
        match message.kind() {
            None => self.boot(&asked, now, out),
            Some(MessageType::Discover) => self.discover(asked, now, out),
            Some(MessageType::Request) => self.request(&asked, now, out),
            Some(MessageType::Decline) => self.decline(&asked, now, out),
            Some(MessageType::Release) => self.released(&asked, now, out),
            Some(MessageType::Inform) => self.inform(&asked, out),
            Some(_) => Err(Why::Type),
        }
    }

    /// Handles DHCPDISCOVER (RFC 2131, 4.3.1).
    pub(super) fn discover(
        &mut self,
        asked: Request,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Why> {
        let wanted = asked.message.options.address(code::REQUESTED);
        let known = self.known(&asked)?;
        let known = known.filter(|id| self.leases.get(*id).is_some_and(|l| l.address.is_some()));
        if let Some(id) = known {
            let lease = self.leases.get(id).ok_or(Why::Unknown)?;
            match (lease.state, self.is_lost(lease, &asked)) {
                (State::Testing, _) => return Err(Why::Testing),
                (_, true) => self.end(id, now, out),
                (_, false) => {
                    self.enter_grant(id, &asked);
                    self.offer(id, &asked, now, out);
                    return Ok(());
                }
            }
        }
        let id = self.assign(&asked, wanted, now)?;
        let config = self.servers.get(&asked.server).ok_or(Why::OtherServer)?;
        let lease = self.leases.get(id).ok_or(Why::NoAddress)?;
        let (true, Some(address)) = (
            config.conflict_detection && lease.is_dynamic(),
            lease.address,
        ) else {
            self.offer(id, &asked, now, out);
            return Ok(());
        };
        out.push(Action::Probe(asked.server, address));
        self.leases.change(id, |lease| {
            lease.state = State::Testing;
            lease.until = Some(now + PROBE);
            lease.asked = Some(Box::new(asked));
        });
        Ok(())
    }

    /// Offers a lease.
    pub(super) fn offer(&mut self, id: u64, asked: &Request, now: Instant, out: &mut Vec<Action>) {
        let client = Client::of(&asked.message, asked.src_mac);
        let offered = self.leases.change(id, |lease| {
            lease.seen = Some(now);
            lease.offers = lease.offers.saturating_add(1);
            if lease.state != State::Bound {
                lease.state = State::Offered;
                lease.until = Some(now + OFFER);
                lease.server = Some(asked.server);
            }
            if !lease.is_dynamic() && lease.state != State::Bound {
                lease.client = client;
            }
            lease.clone()
        });
        if let Some(lease) = offered {
            out.extend(self.reply(&lease, asked, MessageType::Offer));
        }
    }

    /// Handles DHCPREQUEST (RFC 2131, 4.3.2).
    pub(super) fn request(
        &mut self,
        asked: &Request,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Why> {
        let options = &asked.message.options;
        let chosen = options.address(code::SERVER_ID);
        let known = self.known(asked)?;
        if chosen.is_some_and(|chosen| !self.is_own(asked, chosen)) {
            // The client selected another server's offer.
            if let Some(id) = known.filter(|id| self.is_offered(*id)) {
                self.end(id, now, out);
            }
            return Err(Why::OtherServer);
        }
        let ciaddr = Some(asked.message.ciaddr).filter(|addr| !addr.is_unspecified());
        let wanted = options
            .address(code::REQUESTED)
            .or(ciaddr)
            .ok_or(Why::Type)?;
        let known = known.filter(|id| self.leases.get(*id).is_some_and(|l| l.address.is_some()));
        if let Some(id) = known {
            let lease = self.leases.get(id).ok_or(Why::Unknown)?;
            if lease.state == State::Testing {
                return Err(Why::Testing);
            }
            let is_lost = self.is_lost(lease, asked);
            if lease.address == Some(wanted) && !is_lost {
                self.enter_grant(id, asked);
                self.bind(id, asked, now, out);
                return Ok(());
            }
            if is_lost {
                self.end(id, now, out);
            }
            out.extend(self.refuse(asked));
            return Ok(());
        }
        // A client that lost its lease, or has one from a former server, keeps its address if it is free.
        let assigned = self.assign_just(asked, wanted, now);
        match assigned {
            Ok(id) => self.bind(id, asked, now, out),
            Err(why @ (Why::Blocked | Why::MacLimit)) => return Err(why),
            Err(why) => match (chosen, self.refuses(asked)) {
                (Some(_), _) | (None, true) => out.extend(self.refuse(asked)),
                (None, false) => return Err(why),
            },
        }
        Ok(())
    }

    /// Handles DHCPDECLINE (RFC 2131, 4.3.3).
    pub(super) fn decline(
        &mut self,
        asked: &Request,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Why> {
        let wanted = asked.message.options.address(code::REQUESTED);
        let id = self.known(asked)?.ok_or(Why::Unknown)?;
        let lease = self.leases.get(id).ok_or(Why::Unknown)?;
        if lease.address.is_none() || lease.address != wanted {
            return Err(Why::Unknown);
        }
        let name = self.name(asked.server);
        let (mac, address) = (
            lease.client.mac,
            lease.address.unwrap_or(Ipv4Addr::UNSPECIFIED),
        );
        let message = format!("{name} client {mac} declines IP address {address}");
        out.push(Action::Log(true, message));
        self.set_aside(id, State::Declined, now, out);
        Ok(())
    }

    /// Handles DHCPRELEASE (RFC 2131, 4.3.4).
    pub(super) fn released(
        &mut self,
        asked: &Request,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Why> {
        let id = self.known(asked)?.ok_or(Why::Unknown)?;
        let lease = self.leases.get(id).ok_or(Why::Unknown)?;
        if lease.state != State::Bound || lease.address != Some(asked.message.ciaddr) {
            return Err(Why::Unknown);
        }
        self.end(id, now, out);
        Ok(())
    }

    /// Handles DHCPINFORM (RFC 2131, 4.3.5).
    pub(super) fn inform(&mut self, asked: &Request, out: &mut Vec<Action>) -> Result<(), Why> {
        if asked.message.ciaddr.is_unspecified() {
            return Err(Why::Type);
        }
        out.extend(self.inform_reply(asked));
        Ok(())
    }

    /// Handles a BOOTP request: the client gets its address at once (RFC 1534).
    pub(super) fn boot(
        &mut self,
        asked: &Request,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Why> {
        let bootp = self.servers.get(&asked.server).map(|config| config.bootp);
        if bootp.is_none_or(|bootp| bootp == Bootp::None) {
            return Err(Why::Type);
        }
        let known = self.known(asked)?;
        let known = known.filter(|id| self.leases.get(*id).is_some_and(|l| l.address.is_some()));
        let id = match known {
            Some(id) => {
                self.enter_grant(id, asked);
                id
            }
            None if bootp == Some(Bootp::Dynamic) || self.fixed(asked).is_some() => {
                self.assign(asked, None, now)?
            }
            None => return Err(Why::Unknown),
        };
        self.bind(id, asked, now, out);
        Ok(())
    }

    /// Static lease of the client, if it is valid on this server.
    pub(super) fn fixed(&self, asked: &Request) -> Option<u64> {
        let client = Client::of(&asked.message, asked.src_mac);
        let mut may_be = self.leases.fixed_for(&client, asked.server);
        may_be.find(|id| {
            let fixed = self.leases.get(*id).and_then(|lease| lease.fixed.as_ref());
            fixed.is_some_and(|fixed| match (&fixed.address, fixed.server) {
                // A lease for any server is valid only on the link that its address belongs to.
                (Assigned::Address(address), None) => self.is_near(asked, *address),
                _ => true,
            })
        })
    }

    /// True if the address belongs to the network of the request.
    pub(super) fn is_near(&self, asked: &Request, address: Ipv4Addr) -> bool {
        let giaddr = asked.message.giaddr;
        if !giaddr.is_unspecified() {
            let of = |address| self.network(address).map(|network| network.prefix);
            return of(giaddr) == of(address);
        }
        let is_in = |(own, len): &(Ipv4Addr, u8)| is_same_net(*own, address, *len);
        asked.own.iter().any(is_in)
    }

    /// Lease of the client, static or dynamic; fails if the client is blocked.
    pub(super) fn known(&self, asked: &Request) -> Result<Option<u64>, Why> {
        if let Some(id) = self.fixed(asked) {
            let lease = self.leases.get(id);
            let fixed = lease.and_then(|lease| lease.fixed.as_ref());
            if fixed.is_some_and(|fixed| fixed.is_blocked) {
                return Err(Why::Blocked);
            }
            return Ok(Some(id));
        }
        let config = self.servers.get(&asked.server).ok_or(Why::OtherServer)?;
        let client = Client::of(&asked.message, asked.src_mac);
        Ok(self
            .leases
            .of_client(&client, asked.server, config.identifiers))
    }

    pub(super) fn is_offered(&self, id: u64) -> bool {
        let lease = self.leases.get(id);
        lease.is_some_and(|lease| matches!(lease.state, State::Offered | State::Testing))
    }

    /// True if the server must refuse a request for an address that it cannot assign.
    pub(super) fn refuses(&self, asked: &Request) -> bool {
        let config = self.servers.get(&asked.server);
        match config.map(|config| config.authoritative) {
            Some(Authoritative::Yes) => true,
            Some(Authoritative::After(delay)) => {
                Duration::from_secs(asked.message.secs.into()) >= delay
            }
            Some(Authoritative::No) | None => false,
        }
    }
}
