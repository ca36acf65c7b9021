//! PPP packets in Ethernet frames of an EtherType for experiments, for tests: the simplest carrier. A frame of an
//! unknown station begins a link; an empty payload ends it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::service::{FrameContent, Match, Rate, Service};
use frame::InterfaceId;
use machine::Instant;
use menu::Changes;
use ppp::{Role, Settings};
use wire::{EtherType, Mac};

use super::{
    Carrier, CarrierOutput, LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup, Registration,
};
use crate::feature::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use crate::feature::{Effects, View};
use crate::kind::{AnyKind, PointToPoint};
use crate::running::Running;

/// EtherType for experiments (IEEE 802).
const LOCAL_EXPERIMENT: u16 = 0x88b7;

/// Name of the service that receives its frames.
const SERVICE: &str = "bare-ppp";

pub(super) const CARRIER: Registration = Registration {
    menus: &[],
    create: |_| Box::new(Bare::default()),
};

/// The server end: any number of stations on all interfaces.
#[derive(Debug, Default)]
struct Bare {
    links: BTreeMap<LinkId, (InterfaceId, Mac)>,
    stations: BTreeMap<(InterfaceId, Mac), LinkId>,
    last: u64,
    settings: Option<Arc<Settings>>,
}

impl Bare {
    fn forget(&mut self, link: LinkId) -> Option<(InterfaceId, Mac)> {
        let station = self.links.remove(&link)?;
        self.stations.remove(&station);
        Some(station)
    }
}

impl Carrier for Bare {
    fn service(&self) -> &'static str {
        "async"
    }

    fn menus(&self) -> &'static [&'static str] {
        CARRIER.menus
    }

    fn client_menu(&self) -> Option<&'static str> {
        None
    }

    fn binding_menu(&self) -> Option<&'static str> {
        Some("/interface/ppp-server")
    }

    fn services(&self) -> Vec<Service> {
        let its = Match::Frame(FrameContent::EtherType(LOCAL_EXPERIMENT));
        let rate = Rate {
            per_second: 100_000_000,
            burst: 1_000_000,
        };
        vec![Service::new(SERVICE, [its], rate)]
    }

    fn apply_changes(&mut self, _: &View<'_>, _: Option<&Changes>, _: &mut CarrierOutput<'_>) {}

    fn interfaces_changed(
        &mut self,
        _: &BTreeSet<InterfaceId>,
        _: &Running<'_>,
        _: &mut CarrierOutput<'_>,
    ) {
    }

    fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        _: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        if heard.service != SERVICE {
            return ReceiveOutcome::NotMine;
        }
        let station = (heard.interface, heard.source_mac());
        let link = *self.stations.entry(station).or_insert_with(|| {
            self.last += 1;
            let link = LinkId(self.last);
            self.links.insert(link, station);
            let settings = self.settings.get_or_insert_with(|| {
                Arc::new(Settings {
                    keepalive: None,
                    ..Settings::pppoe(Role::Server)
                })
            });
            let setup = LinkSetup {
                end: LinkEnd::Server {
                    profile: "default".into(),
                    service: "bare".into(),
                },
                settings: Arc::clone(settings),
                payload: 1500,
                caller_id: station.1.to_string().to_uppercase().into(),
                called_id: "bare".into(),
                port: "ether1".into(),
                circuit_id: None,
                remote_id: None,
                number: self.last as u32,
                ipv6: None,
            };
            out.events.push(LinkEvent::Up(link, Box::new(setup)));
            link
        });
        match heard.packet() {
            [] => {
                self.forget(link);
                out.events.push(LinkEvent::Down(link, LinkDown::Peer));
            }
            packet => out.events.push(LinkEvent::Packet(link, packet.to_vec())),
        }
        ReceiveOutcome::Taken
    }

    fn tick(&mut self, _: Instant, _: &mut CarrierOutput<'_>) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn send(&mut self, link: LinkId, packet: &[u8], out: &mut Effects) {
        if let Some((interface, to)) = self.links.get(&link) {
            out.send(Outgoing {
                interface: *interface,
                bytes: packet.to_vec(),
                how: How::Frame(*to, EtherType(LOCAL_EXPERIMENT)),
            });
        }
    }

    fn kind(&self, link: LinkId) -> Option<AnyKind> {
        self.links.get(&link).map(|_| PointToPoint.into())
    }

    fn opened(&mut self, _: LinkId) {}

    fn close(&mut self, link: LinkId, _: Instant, _: &mut Effects) {
        self.forget(link);
    }
}
