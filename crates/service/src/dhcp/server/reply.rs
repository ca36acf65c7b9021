//! Contents and destination of answers (RFC 2131, 4.1 and 4.3.1).

use core::net::Ipv4Addr;
use core::time::Duration;
use std::collections::BTreeSet;

use super::{Action, Config, Lease, Network, OptionValue, Part, Reply, Request, Servers, To};
use super::{is_same_net, mask};
use crate::dhcp::{Message, MessageType, code};

impl Servers {
    /// True if the address belongs to the server.
    pub(super) fn is_own(&self, asked: &Request, address: Ipv4Addr) -> bool {
        let config = self.servers.get(&asked.server);
        let configured = config.and_then(|config| config.server_address);
        configured == Some(address) || asked.own.iter().any(|(own, _)| *own == address)
    }

    /// Source address of answers to a client: the configured one, else the interface's address in the client's
    /// network.
    fn own_address(&self, asked: &Request, client: Ipv4Addr) -> Ipv4Addr {
        let config = self.servers.get(&asked.server);
        let configured = config.and_then(|config| config.server_address);
        let mut own = asked.own.iter();
        let near = own.find(|(own, len)| is_same_net(*own, client, *len));
        let own = near.or(asked.own.first()).map(|(own, _)| *own);
        configured.or(own).unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    /// Builds an offer or acknowledgement for a lease.
    pub(super) fn reply(
        &self,
        lease: &Lease,
        asked: &Request,
        kind: MessageType,
    ) -> Option<Action> {
        let config = self.servers.get(&asked.server)?;
        let address = lease.address?;
        let from = self.own_address(asked, address);
        let mut reply = answer(&asked.message);
        reply.yiaddr = address;
        if kind == MessageType::Ack {
            reply.ciaddr = asked.message.ciaddr;
        }
        let time = self.time(lease, asked);
        if asked.message.kind().is_some() {
            let seconds = |time: Option<Duration>| {
                let seconds = time.map(|time| time.as_secs());
                let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
                seconds.unwrap_or(u32::MAX).to_be_bytes()
            };
            let options = &mut reply.options;
            options.set(code::MESSAGE_TYPE, [kind.into()]);
            options.set(code::SERVER_ID, from.octets());
            options.set(code::LEASE_TIME, seconds(time));
            if let Some(time) = time {
                options.set(code::T1, seconds(Some(time / 2)));
                options.set(code::T2, seconds(Some(time / 8 * 7)));
            }
        }
        self.add_options(&mut reply, config, Some(lease), asked, address);
        let broadcast = lease
            .fixed
            .as_ref()
            .and_then(|fixed| fixed.always_broadcast);
        let broadcast = broadcast.unwrap_or(config.always_broadcast)
            // RouterOS: broadcasts the third and fourth unanswered offer, in case the client does not receive
            // unicast.
            || kind == MessageType::Offer && matches!(lease.offers, 3 | 4);
        let to = to(asked, address, broadcast);
        Some(self.send(asked, reply, from, to, kind == MessageType::Ack))
    }

    /// Builds a refusal, DHCPNAK (RFC 2131, 4.3.2).
    pub(super) fn refuse(&self, asked: &Request) -> Option<Action> {
        let message = &asked.message;
        let from = self.own_address(asked, message.giaddr);
        let mut reply = answer(message);
        reply.siaddr = Ipv4Addr::UNSPECIFIED;
        // The relay agent must broadcast the refusal, because the client may not use its current address.
        reply.broadcast = true;
        let options = &mut reply.options;
        options.set(code::MESSAGE_TYPE, [MessageType::Nak.into()]);
        options.set(code::SERVER_ID, from.octets());
        options.set(code::MESSAGE, *b"no such lease");
        let to = match message.giaddr {
            Ipv4Addr::UNSPECIFIED => To::All,
            agent => To::Relay(agent),
        };
        Some(self.send(asked, reply, from, to, false))
    }

    /// Builds the answer to DHCPINFORM (RFC 2131, 4.3.5).
    pub(super) fn inform_reply(&self, asked: &Request) -> Option<Action> {
        let config = self.servers.get(&asked.server)?;
        let address = asked.message.ciaddr;
        let from = self.own_address(asked, address);
        let mut reply = answer(&asked.message);
        reply.ciaddr = address;
        let options = &mut reply.options;
        options.set(code::MESSAGE_TYPE, [MessageType::Ack.into()]);
        options.set(code::SERVER_ID, from.octets());
        self.add_options(&mut reply, config, None, asked, address);
        let to = to(asked, address, false);
        Some(self.send(asked, reply, from, to, false))
    }

    fn send(&self, asked: &Request, reply: Message, from: Ipv4Addr, to: To, waits: bool) -> Action {
        let most = asked.message.options.u16(code::LARGEST);
        // Option 57 includes the IP and UDP headers.
        let most = usize::from(most.unwrap_or(0)).saturating_sub(28);
        Action::Send(Box::new(Reply {
            server: asked.server,
            from,
            to,
            message: reply.encode(most.min(1_472)),
            waits,
        }))
    }

    /// Adds the options that the client requested or that are forced. Precedence: lease, matcher, server, network.
    fn add_options(
        &self,
        reply: &mut Message,
        config: &Config,
        lease: Option<&Lease>,
        asked: &Request,
        address: Ipv4Addr,
    ) {
        let message = &asked.message;
        let wanted = message.options.get(code::PARAMETERS);
        let wants = |code: u8| wanted.is_none_or(|wanted| wanted.contains(&code));
        let nothing = Network::default();
        let network = self.network(address).unwrap_or(&nothing);
        let len = mask_len(network, asked, address);
        reply
            .options
            .set(code::SUBNET_MASK, mask(len).to_be_bytes());
        for (code, addresses) in [
            (code::ROUTER, &network.gateways),
            (code::DNS, &network.dns),
            (code::NTP, &network.ntp),
            (code::WINS, &network.wins),
            (code::CAPWAP, &network.caps),
        ] {
            if wants(code) {
                reply.options.set_addresses(code, addresses);
            }
        }
        if !network.domain.is_empty() && wants(code::DOMAIN) {
            reply.options.set(code::DOMAIN, network.domain.as_bytes());
        }
        reply.siaddr = network.next_server.unwrap_or(Ipv4Addr::UNSPECIFIED);
        reply.file = network.boot_file.as_bytes().to_vec();
        let is_asked = wanted.is_some_and(|wanted| wanted.contains(&code::BOOT_FILE));
        if !network.boot_file.is_empty() && is_asked {
            reply
                .options
                .set(code::BOOT_FILE, network.boot_file.as_bytes());
        }
        let fixed = lease.and_then(|lease| lease.fixed.as_ref());
        let of_lease = fixed.into_iter().flat_map(|fixed| &fixed.options);
        let of_matcher = self.matchers_of(asked).flat_map(|matcher| &matcher.options);
        let all = of_lease.chain(of_matcher).chain(config.options.iter());
        let mut set = BTreeSet::new();
        for option in all.chain(&network.options) {
            if (option.force || wants(option.code)) && set.insert(option.code) {
                reply
                    .options
                    .set(option.code, value(option, asked, network));
            }
        }
    }
}

/// Expands the value of a configured option.
fn value(option: &OptionValue, asked: &Request, network: &Network) -> Vec<u8> {
    let mut value = Vec::new();
    for part in &option.value {
        match part {
            Part::Bytes(bytes) => value.extend(bytes),
            Part::HostName => {
                let name = asked.message.options.get(code::HOST_NAME);
                value.extend(name.unwrap_or_default());
            }
            Part::RemoteId => {
                let client = super::Client::of(&asked.message, asked.src_mac);
                value.extend(client.agent_part(2).unwrap_or_default());
            }
            Part::Gateway => {
                let gateway = network.gateways.first().map(Ipv4Addr::octets);
                value.extend(gateway.into_iter().flatten());
            }
        }
    }
    value
}

/// Prefix length for the client: the network's configured mask, else its prefix, else that of the interface.
fn mask_len(network: &Network, asked: &Request, address: Ipv4Addr) -> u8 {
    if let Some(mask) = network.mask.filter(|mask| *mask != 0) {
        return mask;
    }
    if network.prefix.1 != 0 {
        return network.prefix.1;
    }
    let mut own = asked.own.iter();
    let near = own.find(|(own, len)| is_same_net(*own, address, *len));
    near.map_or(32, |(_, len)| *len)
}

/// Creates an empty answer to a request.
fn answer(request: &Message) -> Message {
    let mut answer = Message {
        is_reply: true,
        htype: request.htype,
        hlen: request.hlen,
        xid: request.xid,
        broadcast: request.broadcast,
        giaddr: request.giaddr,
        chaddr: request.chaddr,
        ..Message::default()
    };
    for code in [code::AGENT, code::CLIENT_ID] {
        // RFC 3046, 2.2, and RFC 6842, 3: echoes the relay agent and client id options.
        if let Some(value) = request.options.get(code) {
            answer.options.set(code, value);
        }
    }
    answer
}

/// Selects the destination of an answer.
fn to(asked: &Request, address: Ipv4Addr, broadcast: bool) -> To {
    let message = &asked.message;
    if !message.giaddr.is_unspecified() {
        return To::Relay(message.giaddr);
    }
    let ciaddr = message.ciaddr;
    if !ciaddr.is_unspecified() {
        let is_near = |(own, len): &(Ipv4Addr, u8)| is_same_net(*own, ciaddr, *len);
        return match asked.own.iter().any(is_near) {
            true => To::Client(asked.src_mac, ciaddr),
            false => To::Routed(ciaddr),
        };
    }
    // Clients without a hardware address of Ethernet can only be reached by broadcast.
    match message.mac() {
        Some(mac) if !(broadcast || message.broadcast) => To::Client(mac, address),
        _ => To::All,
    }
}
