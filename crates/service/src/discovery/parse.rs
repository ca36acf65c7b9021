//! Parses received MNDP, CDP and LLDP messages into neighbour entries.

use wire::lldp::Named;
use wire::{cdp, lldp, mndp};

use super::{Announcement, Lldp, Protocol};

/// Maximum length of a received text, in bytes.
const TEXT: usize = 160;

/// Reason why a message is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The message violates its protocol.
    Malformed,
    /// Wrong checksum.
    Checksum,
    /// The neighbour table is full.
    Full,
}

/// A parsed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A neighbour requests an announcement (MNDP).
    Request,
    /// Announcement of a neighbour, with its lifetime in seconds; `None` if the protocol has no lifetime.
    Announcement(Option<u16>, Box<Announcement>),
}

pub(super) fn read(protocol: Protocol, bytes: &[u8]) -> Result<Message, Fault> {
    match protocol {
        Protocol::Mndp => read_mndp(bytes),
        Protocol::Cdp => read_cdp(bytes),
        Protocol::Lldp => read_lldp(bytes),
    }
}

fn read_mndp(bytes: &[u8]) -> Result<Message, Fault> {
    let message = mndp::Repr::parse(bytes).map_err(|_| Fault::Malformed)?;
    let Some(message) = message else {
        return Ok(Message::Request);
    };
    let told = Announcement {
        identity: text(message.identity),
        platform: text(message.platform),
        version: text(message.version),
        board: text(message.board),
        software_id: text(message.software_id),
        unpack: message.unpack,
        uptime: message.uptime,
        ipv4: message.ipv4,
        ipv6: message.ipv6,
        interface: text(message.interface),
        ..Announcement::default()
    };
    Ok(Message::Announcement(None, told.into()))
}

fn read_cdp(bytes: &[u8]) -> Result<Message, Fault> {
    let message = cdp::Repr::parse(bytes).map_err(|flaw| match flaw {
        cdp::Malformed::Checksum => Fault::Checksum,
        _ => Fault::Malformed,
    })?;
    let told = Announcement {
        identity: text(message.device),
        platform: text(message.platform),
        version: text(message.version),
        ipv4: message.ipv4,
        ipv6: message.ipv6,
        interface: text(message.port),
        capabilities: message.capabilities.map(of_cdp),
        ..Announcement::default()
    };
    Ok(Message::Announcement(Some(message.ttl.into()), told.into()))
}

/// Converts the capabilities of CDP into those of LLDP (supported, enabled).
fn of_cdp(capabilities: u32) -> (u16, u16) {
    /// Capability bits of CDP and LLDP: router, bridges, station, repeater, telephone.
    const SAME: [(u32, u16); 7] = [
        (1, lldp::ROUTER),
        (1 << 1, lldp::BRIDGE),
        (1 << 2, lldp::BRIDGE),
        (1 << 3, lldp::BRIDGE),
        (1 << 4, 1 << 7),
        (1 << 6, 1 << 1),
        (1 << 7, 1 << 5),
    ];
    let its = SAME.into_iter().filter(|(own, _)| capabilities & own != 0);
    let its = its.fold(0, |all, (_, same)| all | same);
    (its, its)
}

fn read_lldp(bytes: &[u8]) -> Result<Message, Fault> {
    let message = lldp::Repr::parse(bytes).map_err(|_| Fault::Malformed)?;
    let named = |named: Named<'_>| {
        let id = named.id.get(..TEXT).unwrap_or(named.id);
        (named.subtype, id.to_vec())
    };
    let its = Lldp {
        chassis: named(message.chassis),
        port: named(message.port),
        port_description: text(message.port_description),
        ttl: message.ttl,
        // Endpoint classes are 1 to 3 (TIA-1057, 10.2.2).
        endpoint: message.med.is_some_and(|(_, class)| class < 4),
    };
    let told = Announcement {
        identity: text(message.system_name),
        description: text(message.system_description),
        ipv4: message.ipv4,
        ipv6: message.ipv6,
        interface: match message.port.subtype {
            // Port id subtypes: 1 is an interface alias, 5 an interface name, 7 locally assigned.
            1 | 5 | 7 => text(message.port.id),
            _ => its.port_description.clone(),
        },
        capabilities: message.capabilities,
        lldp: Some(its.into()),
        ..Announcement::default()
    };
    Ok(Message::Announcement(Some(message.ttl), told.into()))
}

/// Converts received bytes to text; invalid UTF-8 and control characters become question marks.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.get(..TEXT).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    // RouterOS and others send the terminating NUL of C strings.
    let text = text.trim_end_matches('\0');
    let shown = text.chars().map(|c| match c {
        char::REPLACEMENT_CHARACTER => '?',
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() => '?',
        c => c,
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed_from_received_texts() {
        assert_eq!(text(b"a\x1b[2Jb\xffc\0\0"), "a?[2Jb?c");
        assert_eq!(text(b"two\r\nlines"), "two  lines");
        assert_eq!(text(&[b'x'; 400]).len(), TEXT);
    }

    #[test]
    fn cdp_capabilities_map_to_lldp_capabilities() {
        assert_eq!(
            of_cdp(0x29),
            (lldp::ROUTER | lldp::BRIDGE, lldp::ROUTER | lldp::BRIDGE)
        );
        assert_eq!(of_cdp(0), (0, 0));
    }
}
