//! Builds the router's own announcements.

use wire::lldp::{self, Named, Phy, Policy};
use wire::{Mac, cdp, mndp};

use super::{Config, Port, Protocol};

/// RouterOS: announces that the router does not unpack packed packets.
const UNPACK_NONE: u8 = 1;
/// LLDP-MED capabilities and device class of a network connectivity device: capabilities and network policy
/// (TIA-1057, 10.2.2).
const MED: (u16, u8) = (3, 4);
/// Application type "voice" of a network policy.
const VOICE: u8 = 1;
/// Ethernet overhead in bytes: header and frame check sequence.
const AROUND: u32 = 18;

/// Input for the announcement of one interface.
pub(super) struct AnnouncementBuilder<'a> {
    pub(super) config: &'a Config,
    pub(super) port: &'a Port,
    /// MAC address that identifies the router.
    pub(super) chassis: Mac,
    /// Number of MNDP messages that the interface sent before.
    pub(super) counter: u32,
    /// Uptime of the router in seconds.
    pub(super) uptime: u32,
    /// Lifetime in seconds; 0 withdraws the announcement.
    pub(super) hold: u16,
    /// An LLDP-MED endpoint was received on the interface.
    pub(super) endpoints: bool,
}

impl AnnouncementBuilder<'_> {
    pub(super) fn bytes(&self, protocol: Protocol) -> Vec<u8> {
        let mut out = Vec::new();
        match protocol {
            Protocol::Mndp => self.mndp(&mut out),
            Protocol::Cdp => self.cdp(&mut out),
            Protocol::Lldp => self.lldp(&mut out),
        }
        out
    }

    fn mndp(&self, out: &mut Vec<u8>) {
        let (system, port) = (&self.config.system, self.port);
        let message = mndp::Repr {
            counter: self.counter,
            mac: Some(port.mac),
            identity: system.identity.as_bytes(),
            version: system.version.as_bytes(),
            platform: system.platform.as_bytes(),
            uptime: Some(self.uptime),
            software_id: b"",
            board: system.board.as_bytes(),
            unpack: Some(UNPACK_NONE),
            ipv6: port.link_local.or(port.ipv6),
            interface: port.path.as_bytes(),
            ipv4: port.ipv4,
        };
        message.emit(out);
    }

    fn cdp(&self, out: &mut Vec<u8>) {
        let (system, port) = (&self.config.system, self.port);
        let message = cdp::Repr {
            ttl: u8::try_from(self.hold).unwrap_or(u8::MAX),
            device: system.identity.as_bytes(),
            ipv4: port.ipv4,
            ipv6: port.ipv6,
            port: port.path.as_bytes(),
            capabilities: Some(cdp::ROUTER),
            version: system.version.as_bytes(),
            platform: system.platform.as_bytes(),
        };
        message.emit(out);
    }

    fn lldp(&self, out: &mut Vec<u8>) {
        let (config, port) = (self.config, self.port);
        let system = &config.system;
        let description = format!(
            "{} RouterOS {} {}",
            system.platform, system.version, system.board
        );
        let voice = config.voice_vlan.filter(|_| config.med && self.endpoints);
        let message = lldp::Repr {
            chassis: Named {
                subtype: Named::CHASSIS_MAC,
                id: &self.chassis.0,
            },
            port: Named {
                subtype: Named::PORT_INTERFACE,
                id: port.name.as_bytes(),
            },
            ttl: self.hold,
            port_description: port.path.as_bytes(),
            system_name: system.identity.as_bytes(),
            system_description: description.trim_end().as_bytes(),
            capabilities: Some((lldp::BRIDGE | lldp::ROUTER, lldp::ROUTER)),
            ipv4: port.ipv4,
            ipv6: port.ipv6.or(port.link_local),
            interface: port.index,
            phy: port.speed_mbps.filter(|_| config.phy).map(phy),
            max_frame: config.max_frame.then(|| max_frame(port.mtu)),
            pvid: config.vlan.then_some(port.pvid),
            med: config.med.then_some(MED),
            policy: voice.map(|vlan| Policy {
                application: VOICE,
                // RFC 4594: telephony is EF; its frames have priority 5.
                vlan: (vlan > 0).then_some(vlan),
                priority: 5,
                dscp: 46,
            }),
        };
        message.emit(out);
    }
}

/// Converts a speed, full duplex, to the type of a medium attachment unit (RFC 4836, `dot3MauType`).
fn phy(speed_mbps: u32) -> Phy {
    let mau = match speed_mbps {
        10 => 11,
        100 => 16,
        1_000 => 30,
        10_000 => 54,
        // Unknown for other speeds.
        _ => 0,
    };
    Phy {
        negotiation: 0,
        offers: 0,
        mau,
    }
}

fn max_frame(mtu: u32) -> u16 {
    u16::try_from(mtu.saturating_add(AROUND)).unwrap_or(u16::MAX)
}
