//! Stations: interfaces on another interface that are distinguished by the destination MAC address
//! (`/interface/vrrp`, `/interface/macvlan`). [`crate::demux`] finds a station by its address; the
//! list here is for multicast frames, which all stations of an interface receive.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use frame::InterfaceId;
use wire::Mac;

/// Maximum number of stations on one interface: 255 virtual routers of both families, and as many other
/// stations.
pub const STATIONS: usize = 1024;

type List = Vec<(Mac, InterfaceId)>;

/// The stations on one interface. The list is allocated with the first station.
#[derive(Debug, Default)]
pub(super) struct Stations {
    list: ArcSwapOption<List>,
}

impl Stations {
    /// Calls `each` for all stations.
    pub(super) fn each(&self, mut each: impl FnMut(InterfaceId)) {
        let list = self.list.load();
        let list = list.iter().flat_map(|list| list.iter());
        list.for_each(|(_, id)| each(*id));
    }

    /// Sets the station with this MAC address; `None` removes it. Returns false if there is no
    /// room.
    pub(super) fn set(&self, mac: Mac, station: Option<InterfaceId>) -> bool {
        let mut list = self.list.load().as_deref().cloned().unwrap_or_default();
        let place = list.binary_search_by_key(&mac, |(mac, _)| *mac);
        match (place, station) {
            (Ok(at), Some(id)) => list[at].1 = id,
            (Ok(at), None) => _ = list.remove(at),
            (Err(_), Some(_)) if list.len() >= STATIONS => return false,
            (Err(at), Some(id)) => list.insert(at, (mac, id)),
            (Err(_), None) => return true,
        }
        self.list.store((!list.is_empty()).then(|| Arc::new(list)));
        true
    }
}
