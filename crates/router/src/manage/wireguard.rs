//! `/interface/wireguard/wg-import` and `wg-export`: reads and writes interfaces with peers and addresses as files of
//! `wg-quick`.

use std::net::IpAddr;

use menu::{Id, Item, Menu, Reason, Reply, Row, Value};

use super::{CommandContext, one};
use crate::feature::wireguard::PEERS;
use crate::feature::wireguard::conf::{self, Line, Section};
use crate::kind::wireguard::MENU;

const ADDRESS4: &str = "/ip/address";
const ADDRESS6: &str = "/ipv6/address";

/// Values for an item.
type PropertyValues = Vec<(&'static str, Option<Value>)>;

impl CommandContext<'_> {
    /// Creates an interface from a file or a text. Reports omitted settings: routes, name servers and scripts remain
    /// with the administrator.
    pub(super) fn import_wireguard(&mut self) -> Result<Reply, Reason> {
        let (text, name) = match self.text("config-string") {
            Some(text) => (text, None),
            None => {
                let file = self.needed("config-file")?;
                let text = self.read(&file, ".conf")?;
                let name = file.rsplit('/').next().unwrap_or_default();
                let name = name.strip_suffix(".conf").unwrap_or(name).to_owned();
                (menu::bytes::from_bytes(&text), Some(name))
            }
        };
        let sections = conf::read(&text).map_err(Reason::failure)?;
        let name = name.filter(|name| self.store.named("interface", name).is_none());
        let mark = self.store.begin();
        let mut left_out = Vec::new();
        let name = match self.add_network(&sections, name, &mut left_out) {
            Ok(name) => name,
            Err(reason) => {
                self.store.rollback(mark);
                return Err(reason);
            }
        };
        let by = self.by(format!("wireguard {name} imported"));
        let changes = self.store.commit_by(mark, by)?;
        self.control.follow(self.store, changes);
        for line in left_out {
            self.say(&line)?;
        }
        let mut row = Row::default();
        row.set("interface", Value::text(name));
        Ok(one(row))
    }

    /// Adds the interface, its addresses and its peers; returns its name.
    fn add_network(
        &mut self,
        sections: &[Section],
        name: Option<String>,
        left_out: &mut Vec<String>,
    ) -> Result<String, Reason> {
        // Without a port in the file any port will do, as with wg-quick: the default of the menu may belong to another
        // interface.
        let any_port = ("listen-port", Some(Value::Number(0)));
        let (mut network, mut addresses) = (vec![any_port], Vec::new());
        network.extend(name.map(|name| ("name", Some(Value::text(name)))));
        for line in sections
            .iter()
            .filter(|one| !one.is_peer)
            .flat_map(|one| &one.lines)
        {
            let property = match line.name.as_str() {
                "privatekey" => "private-key",
                "listenport" => "listen-port",
                "mtu" => "mtu",
                "address" => {
                    addresses.push(line);
                    continue;
                }
                _ => {
                    left_out.push(unused(line));
                    continue;
                }
            };
            network.push(self.value(MENU, property, line, &line.value)?);
        }
        let id = self.add(MENU, &network)?;
        let made = self.store.item(MENU, id).ok_or(Reason::NoItem)?;
        let name = made.text("name").to_owned();
        let interface = || Some(Value::Reference(name.as_str().into()));
        for line in addresses {
            for address in line.value.split(',').map(str::trim) {
                let menu = if address.contains(':') {
                    ADDRESS6
                } else {
                    ADDRESS4
                };
                let whole = with_length(address);
                let address = self.value(menu, "address", line, &whole)?;
                self.add(menu, &[address, ("interface", interface())])
                    .map_err(|reason| at(line, &reason))?;
            }
        }
        for section in sections.iter().filter(|one| one.is_peer) {
            let mut peer = self.peer(section, left_out)?;
            peer.push(("interface", interface()));
            let first = section.lines.first();
            self.add(PEERS, &peer)
                .map_err(|reason| first.map_or(reason.clone(), |line| at(line, &reason)))?;
        }
        Ok(name)
    }

    /// Reads a peer from a section.
    fn peer(
        &self,
        section: &Section,
        left_out: &mut Vec<String>,
    ) -> Result<PropertyValues, Reason> {
        let mut peer = PropertyValues::new();
        for line in &section.lines {
            let value = line.value.as_str();
            let given = match line.name.as_str() {
                "publickey" => self.value(PEERS, "public-key", line, value)?,
                "presharedkey" => self.value(PEERS, "preshared-key", line, value)?,
                "allowedips" => {
                    let nets: Vec<_> = value
                        .split(',')
                        .map(|net| with_length(net.trim()))
                        .collect();
                    self.value(PEERS, "allowed-address", line, &nets.join(","))?
                }
                "persistentkeepalive" => {
                    let seconds = if value == "off" { "0" } else { value };
                    self.value(PEERS, "persistent-keepalive", line, seconds)?
                }
                "endpoint" => {
                    let (host, port) = value.rsplit_once(':').unwrap_or((value, ""));
                    let host = host.trim_start_matches('[').trim_end_matches(']');
                    peer.push(self.value(PEERS, "endpoint-port", line, port)?);
                    self.value(PEERS, "endpoint-address", line, host)?
                }
                _ => {
                    left_out.push(unused(line));
                    continue;
                }
            };
            peer.push(given);
        }
        Ok(peer)
    }

    fn menu(&self, path: &str) -> Result<&'static Menu, Reason> {
        self.store.menu(path).ok_or(Reason::NoItem)
    }

    fn add(&mut self, path: &str, given: &[(&'static str, Option<Value>)]) -> Result<Id, Reason> {
        let menu = self.menu(path)?;
        self.store.add(menu, given, None)
    }

    /// Parses a property value from a line.
    fn value(
        &self,
        path: &str,
        name: &'static str,
        line: &Line,
        text: &str,
    ) -> Result<(&'static str, Option<Value>), Reason> {
        let property = self.menu(path)?.property(name).ok_or(Reason::NoItem)?;
        let value = property.kind.parse(name, text);
        Ok((name, Some(value.map_err(|reason| at(line, &reason))?)))
    }

    /// Prints an interface with its keys as a file of `wg-quick`, or writes the file.
    pub(super) fn export_wireguard(&mut self) -> Result<Reply, Reason> {
        let mut all = String::new();
        for id in self.call.items {
            let network = self.store.item(MENU, *id).ok_or(Reason::NoItem)?;
            self.write_network(network, &mut all);
        }
        if let Some(file) = self.text("file") {
            let file = if file.ends_with(".conf") {
                file
            } else {
                file + ".conf"
            };
            self.write(&file, all.as_bytes())?;
            return Ok(Reply::default());
        }
        let mut row = Row::default();
        row.set("conf", Value::text(format!("\n{all}")));
        Ok(one(row))
    }

    fn write_network(&self, network: &Item, all: &mut String) {
        let name = network.text("name");
        let of_it =
            |item: &&std::sync::Arc<Item>| item.text("interface") == name && !item.is("disabled");
        let addresses = [ADDRESS4, ADDRESS6].into_iter();
        let addresses = addresses.flat_map(|menu| self.store.items(menu).filter(of_it));
        let addresses: Vec<_> = addresses.map(|item| shown(item, "address")).collect();
        conf::section(
            all,
            "Interface",
            &[
                ("PrivateKey", network.text("private-key").to_owned()),
                ("ListenPort", shown(network, "listen-port")),
                ("MTU", shown(network, "mtu")),
                ("Address", addresses.join(", ")),
            ],
        );
        for peer in self.store.items(PEERS).filter(of_it) {
            let keepalive = peer.get("persistent-keepalive").and_then(Value::as_nanos);
            let keepalive = keepalive.map_or(0, |nanos| nanos / 1_000_000_000);
            let nets = peer.get("allowed-address").map(Value::as_list);
            let nets: Vec<_> = nets
                .unwrap_or_default()
                .iter()
                .map(Value::to_string)
                .collect();
            let port = peer.number("endpoint-port").unwrap_or_default();
            let public = match peer.text("public-key") {
                "" => wireguard::Private::from_base64(peer.text("private-key"))
                    .map(|key| key.public().to_string()),
                key => Some(key.to_owned()),
            };
            all.push('\n');
            conf::section(
                all,
                "Peer",
                &[
                    ("PublicKey", public.unwrap_or_default()),
                    ("PresharedKey", peer.text("preshared-key").to_owned()),
                    ("AllowedIPs", nets.join(", ")),
                    (
                        "Endpoint",
                        conf::endpoint(&shown(peer, "endpoint-address"), port),
                    ),
                    (
                        "PersistentKeepalive",
                        Some(keepalive)
                            .filter(|one| *one > 0)
                            .map(|one| one.to_string())
                            .unwrap_or_default(),
                    ),
                ],
            );
        }
    }
}

fn shown(item: &Item, property: &str) -> String {
    item.get(property)
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// An address without a prefix length is a host address.
fn with_length(address: &str) -> String {
    match address.parse() {
        Ok(IpAddr::V4(_)) => format!("{address}/32"),
        Ok(IpAddr::V6(_)) => format!("{address}/128"),
        Err(_) => address.to_owned(),
    }
}

fn at(line: &Line, reason: &Reason) -> Reason {
    Reason::failure(format!("line {}: {reason}", line.number))
}

fn unused(line: &Line) -> String {
    format!(
        "left out: line {}, {} = {}",
        line.number, line.name, line.value
    )
}

#[cfg(test)]
mod tests;
