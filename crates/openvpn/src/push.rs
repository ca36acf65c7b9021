//! Options that a server pushes to its client (OpenVPN `push.c`): `PUSH_REPLY,option,option …`, in one message or
//! several.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::suite::Cipher;

/// Name of the message.
pub(crate) const REPLY: &str = "PUSH_REPLY";
/// Longest message in bytes, without its NUL (OpenVPN: `PUSH_BUNDLE_SIZE`).
const MAX_MESSAGE_BYTES: usize = 1023;
/// Room for `,push-continuation 2`.
const CONTINUATION_BYTES: usize = 20;
/// Maximum number of messages of a PUSH_REPLY; one more ends the session as a protocol fault.
pub(crate) const MAX_MESSAGES: usize = 64;
/// Routes of each family, and DNS servers, that are read at most.
const MAX_ROUTES: usize = 1024;
const MAX_SERVERS: usize = 16;

/// Meaning of the second address of `ifconfig`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// Address of the other end, out of a network of four addresses; the default of servers before 2.7.
    #[default]
    Net30,
    /// Address of the other end.
    PointToPoint,
    /// Netmask.
    Subnet,
}

/// An IPv4 route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Network.
    pub network: Ipv4Addr,
    /// Netmask.
    pub mask: Ipv4Addr,
    /// Gateway; `None`: the server.
    pub gateway: Option<Ipv4Addr>,
    /// Metric.
    pub metric: Option<u32>,
}

/// An IPv6 route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route6 {
    /// Network.
    pub network: Ipv6Addr,
    /// Prefix length.
    pub len: u8,
    /// Gateway; `None`: the server.
    pub gateway: Option<Ipv6Addr>,
}

/// IPv6 address of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address6 {
    /// Address.
    pub address: Ipv6Addr,
    /// Prefix length.
    pub len: u8,
    /// Address of the other end.
    pub remote: Ipv6Addr,
}

/// Header of data packets that compression would use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// No header.
    #[default]
    None,
    /// One byte before the payload (`comp-lzo no`).
    Stub,
    /// One byte, which takes the place of the first byte; that one follows the payload (`compress stub`).
    StubSwap,
    /// A header only where the payload begins like one (`compress stub-v2`).
    StubV2,
}

/// Options of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Push {
    /// Meaning of `ifconfig`.
    pub topology: Topology,
    /// Address of the client, and netmask or address of the other end.
    pub address: Option<(Ipv4Addr, Ipv4Addr)>,
    /// IPv6 address of the client.
    pub address6: Option<Address6>,
    /// Gateway of routes.
    pub gateway: Option<Ipv4Addr>,
    /// IPv4 routes.
    pub routes: Vec<Route>,
    /// IPv6 routes.
    pub routes6: Vec<Route6>,
    /// Flags of `redirect-gateway`, such as `def1` and `ipv6`; `None` without the option.
    pub redirect: Option<Vec<Box<str>>>,
    /// DNS servers.
    pub dns: Vec<IpAddr>,
    /// DNS domain.
    pub domain: Option<Box<str>>,
    /// Seconds without a sent packet until a ping.
    pub ping: Option<u32>,
    /// Seconds without a received packet until the session ends.
    pub ping_restart: Option<u32>,
    /// Number of the client in packets of version 2.
    pub peer_id: Option<u32>,
    /// Cipher of the data channel.
    pub cipher: Option<Cipher>,
    /// Name of a pushed cipher that is not known.
    pub unknown_cipher: Option<Box<str>>,
    /// Keys come from a TLS exporter (`key-derivation tls-ekm`, or the flag).
    pub exports_keys: bool,
    /// Exit is notified by a control message (flag `cc-exit`).
    pub notifies_exit: bool,
    /// MTU of the tunnel.
    pub mtu: Option<u16>,
    /// Framing of packets.
    pub framing: Framing,
    /// A compression that is refused.
    pub refused_compression: Option<Box<str>>,
    /// Password of later negotiations.
    pub token: Option<Box<str>>,
    /// Names of at most 16 unknown options.
    pub unknown: Vec<Box<str>>,
}

impl Push {
    /// Returns the messages of a reply.
    pub fn encode(&self) -> Vec<String> {
        let mut messages = vec![REPLY.to_owned()];
        for option in self.options() {
            let last = messages.last_mut().expect("there is a message");
            match last.len() + 1 + option.len() + CONTINUATION_BYTES <= MAX_MESSAGE_BYTES {
                true => {
                    last.push(',');
                    last.push_str(&option);
                }
                false => messages.push(format!("{REPLY},{option}")),
            }
        }
        if let Some((last, others)) = messages.split_last_mut()
            && !others.is_empty()
        {
            last.push_str(",push-continuation 1");
            for other in others {
                other.push_str(",push-continuation 2");
            }
        }
        messages
    }

    /// Returns the options in the order in which they are pushed.
    fn options(&self) -> Vec<String> {
        let mut all = Vec::new();
        let topology = match self.topology {
            Topology::Net30 => "net30",
            Topology::PointToPoint => "p2p",
            Topology::Subnet => "subnet",
        };
        all.extend(
            self.gateway
                .map(|gateway| format!("route-gateway {gateway}")),
        );
        all.push(format!("topology {topology}"));
        all.extend(self.ping.map(|ping| format!("ping {ping}")));
        all.extend(
            self.ping_restart
                .map(|restart| format!("ping-restart {restart}")),
        );
        for route in &self.routes {
            let gateway = route.gateway.map(|gateway| format!(" {gateway}"));
            let gateway = gateway.unwrap_or_default();
            all.push(format!("route {} {}{gateway}", route.network, route.mask));
        }
        for route in &self.routes6 {
            let gateway = route.gateway.map(|gateway| format!(" {gateway}"));
            let gateway = gateway.unwrap_or_default();
            all.push(format!(
                "route-ipv6 {}/{}{gateway}",
                route.network, route.len
            ));
        }
        if let Some(flags) = &self.redirect {
            all.push(
                ["redirect-gateway"]
                    .into_iter()
                    .chain(flags.iter().map(|flag| &**flag))
                    .collect::<Vec<_>>()
                    .join(" "),
            );
        }
        all.extend(self.dns.iter().map(|server| match server {
            IpAddr::V4(server) => format!("dhcp-option DNS {server}"),
            IpAddr::V6(server) => format!("dhcp-option DNS6 {server}"),
        }));
        all.extend(
            self.domain
                .as_ref()
                .map(|domain| format!("dhcp-option DOMAIN {domain}")),
        );
        all.extend(
            self.address6
                .map(|own| format!("ifconfig-ipv6 {}/{} {}", own.address, own.len, own.remote)),
        );
        all.extend(
            self.address
                .map(|(own, other)| format!("ifconfig {own} {other}")),
        );
        self.write_protocol(&mut all);
        all
    }

    /// Appends the options of the data channel.
    fn write_protocol(&self, all: &mut Vec<String>) {
        all.extend(self.peer_id.map(|id| format!("peer-id {id}")));
        all.extend(
            self.cipher
                .map(|cipher| format!("cipher {}", cipher.name())),
        );
        match (self.notifies_exit, self.exports_keys) {
            (true, true) => all.push("protocol-flags cc-exit tls-ekm".to_owned()),
            (true, false) => all.push("protocol-flags cc-exit".to_owned()),
            (false, true) => all.push("key-derivation tls-ekm".to_owned()),
            (false, false) => {}
        }
        all.extend(self.mtu.map(|mtu| format!("tun-mtu {mtu}")));
        all.extend(match self.framing {
            Framing::None => None,
            Framing::Stub => Some("comp-lzo no".to_owned()),
            Framing::StubSwap => Some("compress stub".to_owned()),
            Framing::StubV2 => Some("compress stub-v2".to_owned()),
        });
    }

    /// Reads the options of one message behind `PUSH_REPLY`. Returns true if further messages follow.
    pub fn read(&mut self, options: &str) -> bool {
        let mut continues = false;
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let words: Vec<&str> = option.split_ascii_whitespace().take(16).collect();
            match words.as_slice() {
                ["push-continuation", number] => continues = *number == "2",
                [name, arguments @ ..] => {
                    if self.read_option(name, arguments).is_none() && self.unknown.len() < 16 {
                        self.unknown
                            .push(name.chars().take(64).collect::<String>().into());
                    }
                }
                [] => {}
            }
        }
        continues
    }

    /// Reads an option. Returns `None` for unknown options and malformed values.
    fn read_option(&mut self, name: &str, arguments: &[&str]) -> Option<()> {
        match name {
            "topology" | "ifconfig" | "ifconfig-ipv6" | "route" | "route-ipv6"
            | "route-gateway" => {
                return self.read_address(name, arguments);
            }
            "cipher" | "key-derivation" | "protocol-flags" | "comp-lzo" | "compress" => {
                return self.read_protocol(name, arguments);
            }
            _ => {}
        }
        match (name, arguments) {
            ("redirect-gateway", flags) => {
                self.redirect = Some(flags.iter().map(|flag| Box::from(*flag)).collect());
            }
            ("dhcp-option", ["DNS" | "DNS6", server]) => {
                let server = server.parse().ok()?;
                (self.dns.len() < MAX_SERVERS).then(|| self.dns.push(server))?;
            }
            ("dhcp-option", ["DOMAIN", domain]) => self.domain = Some((*domain).into()),
            ("ping", [seconds]) => self.ping = Some(seconds.parse().ok()?),
            ("ping-restart", [seconds]) => self.ping_restart = Some(seconds.parse().ok()?),
            ("peer-id", [id]) => {
                let id = id.parse().ok().filter(|id| *id < 1 << 24)?;
                self.peer_id = Some(id);
            }
            ("tun-mtu", [mtu, ..]) => self.mtu = Some(mtu.parse().ok()?),
            ("auth-token", [token]) => self.token = Some((*token).into()),
            ("tun-ipv6", _) => {}
            _ => return None,
        }
        Some(())
    }

    fn read_address(&mut self, name: &str, arguments: &[&str]) -> Option<()> {
        match (name, arguments) {
            ("topology", [topology]) => {
                self.topology = match *topology {
                    "net30" => Topology::Net30,
                    "p2p" => Topology::PointToPoint,
                    "subnet" => Topology::Subnet,
                    _ => return None,
                };
            }
            ("ifconfig", [own, other]) => {
                self.address = Some((own.parse().ok()?, other.parse().ok()?));
            }
            ("ifconfig-ipv6", [own, remote]) => {
                let (address, len) = read_prefix(own)?;
                let remote = remote.parse().ok()?;
                self.address6 = Some(Address6 {
                    address,
                    len,
                    remote,
                });
            }
            ("route-gateway", [gateway]) => self.gateway = Some(gateway.parse().ok()?),
            ("route", [network, rest @ ..]) => {
                let mask = rest
                    .first()
                    .map_or(Ok(Ipv4Addr::BROADCAST), |mask| mask.parse());
                let gateway = rest
                    .get(1)
                    .filter(|gateway| **gateway != "vpn_gateway" && **gateway != "default");
                let route = Route {
                    network: network.parse().ok()?,
                    mask: mask.ok()?,
                    gateway: gateway.map(|gateway| gateway.parse()).transpose().ok()?,
                    metric: rest.get(2).map(|metric| metric.parse()).transpose().ok()?,
                };
                (self.routes.len() < MAX_ROUTES).then(|| self.routes.push(route))?;
            }
            ("route-ipv6", [network, rest @ ..]) => {
                let (network, len) = read_prefix(network)?;
                let gateway = rest.first().filter(|gateway| **gateway != "default");
                let gateway = gateway.map(|gateway| gateway.parse()).transpose().ok()?;
                let route = Route6 {
                    network,
                    len,
                    gateway,
                };
                (self.routes6.len() < MAX_ROUTES).then(|| self.routes6.push(route))?;
            }
            _ => return None,
        }
        Some(())
    }

    fn read_protocol(&mut self, name: &str, arguments: &[&str]) -> Option<()> {
        match (name, arguments) {
            ("cipher", [name]) => match Cipher::from_name(name) {
                Some(cipher) => self.cipher = Some(cipher),
                None => self.unknown_cipher = Some((*name).into()),
            },
            ("key-derivation", ["tls-ekm"]) => self.exports_keys = true,
            ("protocol-flags", flags) => {
                for flag in flags {
                    match *flag {
                        "cc-exit" => self.notifies_exit = true,
                        "tls-ekm" => self.exports_keys = true,
                        _ => return None,
                    }
                }
            }
            ("comp-lzo", ["no"]) => self.framing = Framing::Stub,
            ("compress", [] | ["stub"]) => self.framing = Framing::StubSwap,
            ("compress", ["stub-v2"]) => self.framing = Framing::StubV2,
            ("compress", ["migrate"]) => {}
            ("comp-lzo" | "compress", _) => {
                let words: Vec<&str> = [name]
                    .into_iter()
                    .chain(arguments.iter().copied())
                    .collect();
                self.refused_compression = Some(words.join(" ").into());
            }
            _ => return None,
        }
        Some(())
    }
}

fn read_prefix(text: &str) -> Option<(Ipv6Addr, u8)> {
    let (address, len) = text.split_once('/')?;
    let len = len.parse().ok().filter(|len| *len <= 128)?;
    Some((address.parse().ok()?, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Bits;

    fn read(messages: &[String]) -> Push {
        let mut push = Push::default();
        for (at, message) in messages.iter().enumerate() {
            assert!(message.len() <= MAX_MESSAGE_BYTES);
            let options = message.strip_prefix(REPLY).expect("a reply");
            assert_eq!(push.read(options), at + 1 < messages.len());
        }
        push
    }

    fn whole() -> Push {
        Push {
            topology: Topology::Subnet,
            address: Some(([10, 8, 0, 2].into(), [255, 255, 255, 0].into())),
            address6: Some(Address6 {
                address: "fd00::2".parse().expect("an address"),
                len: 64,
                remote: "fd00::1".parse().expect("an address"),
            }),
            gateway: Some([10, 8, 0, 1].into()),
            redirect: Some(vec!["def1".into(), "ipv6".into()]),
            dns: vec![[9, 9, 9, 9].into()],
            domain: Some("example.org".into()),
            ping: Some(10),
            ping_restart: Some(60),
            peer_id: Some(5),
            cipher: Some(Cipher::AesGcm(Bits::B256)),
            exports_keys: true,
            notifies_exit: true,
            mtu: Some(1400),
            ..Push::default()
        }
    }

    #[test]
    fn a_reply_is_read_as_it_was_written_in_one_message_or_several() {
        assert_eq!(whole().encode().len(), 1);
        assert_eq!(read(&whole().encode()), whole());
        let mut long = whole();
        long.routes.extend((0..100).map(|n| Route {
            network: [10, n, 0, 0].into(),
            mask: [255, 255, 0, 0].into(),
            gateway: None,
            metric: None,
        }));
        let messages = long.encode();
        assert!(messages.len() > 3);
        assert_eq!(read(&messages), long);
    }

    #[test]
    fn compression_is_refused_by_name_and_stubs_are_accepted() {
        for (options, framing, refused) in [
            (",comp-lzo no", Framing::Stub, None),
            (",compress stub-v2", Framing::StubV2, None),
            (",compress", Framing::StubSwap, None),
            (",compress lz4", Framing::None, Some("compress lz4")),
            (",comp-lzo", Framing::None, Some("comp-lzo")),
        ] {
            let mut push = Push::default();
            push.read(options);
            assert_eq!(push.framing, framing);
            assert_eq!(push.refused_compression.as_deref(), refused);
        }
    }

    #[test]
    fn unknown_options_and_malformed_values_are_named() {
        let mut push = Push::default();
        push.read(",sndbuf 1,route 10.0.0.0 x,peer-id 99999999,ping-timer-rem,cipher BF-CBC");
        assert_eq!(
            push.unknown,
            ["sndbuf", "route", "peer-id", "ping-timer-rem"].map(Box::from)
        );
        assert_eq!(push.unknown_cipher.as_deref(), Some("BF-CBC"));
    }
}
