//! Stations: interfaces that lie on another one and are told apart by the link address that frames are sent to
//! (`/interface/vrrp`, `/interface/macvlan`). [`crate::demux`] finds a station by its address; the list of an
//! interface's stations is for frames to a group, which all of them receive.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use frame::InterfaceId;
use wire::Mac;

/// The most stations on one interface: virtual routers of both families, and as many others.
pub const STATIONS: usize = 1024;

type List = Vec<(Mac, InterfaceId)>;

/// The stations on one interface. Where there are none there is no list.
#[derive(Debug, Default)]
pub(super) struct Stations {
    list: ArcSwapOption<List>,
}

impl Stations {
    /// Calls `each` for all of them.
    pub(super) fn each(&self, mut each: impl FnMut(InterfaceId)) {
        let list = self.list.load();
        let list = list.iter().flat_map(|list| list.iter());
        list.for_each(|(_, id)| each(*id));
    }

    /// Names the station that has this link address; `None` takes it away. Returns whether there was room.
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
