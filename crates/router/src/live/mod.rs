//! Menus of the running router: dynamic rows, read-only columns, actions.
//!
//! Rows are built one by one during printing. Ids of dynamic rows are above all item ids, and constant while the object
//! exists. `object` handles rows of the registry; the other files handle tables with their own ids (neighbours,
//! connections, list entries).

mod action;
mod connection;
mod doctor;
mod drop;
mod fields;
mod firewall;
mod interface;
mod ipsec;
mod machine;
mod meter;
mod neighbour;
mod object;
mod route;
mod script;
mod settings;
mod trace;

use std::ops::ControlFlow;

use menu::{
    Call, Caller, Changes, Clock, Files, Id, Live, Menu, Output, Preparation, Reason, Reply,
    Rights, Row, RowFilter, Scan, Script, Store, Value,
};

use crate::drive::Control;

pub(crate) use action::text;
pub(crate) use fields::{bit_rate, give, number};
use machine::main_vrf;

pub(crate) use crate::object::DYNAMIC;

/// Returns the family of a connection menu: true for IPv6; `None` for other menus.
fn connections_of(menu: &Menu) -> Option<bool> {
    match menu.path {
        "/ip/firewall/connection" => Some(false),
        "/ipv6/firewall/connection" => Some(true),
        _ => None,
    }
}

impl Live for Control {
    fn rows(
        &self,
        store: &Store,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for feature in self.features.of(menu.path) {
            feature.rows_at(menu, filter, self.now, each)?;
        }
        self.object_rows(store, menu, filter, each)?;
        match menu.path {
            "/ip/arp" => self.arp_rows(filter, each),
            "/ipv6/neighbor" => self.discovery_rows(filter, each),
            "/routing/route" => self.route_rows(store, filter, each),
            "/ip/firewall/connection" => self.connection_rows(false, filter, each),
            "/ipv6/firewall/connection" => self.connection_rows(true, filter, each),
            "/ip/firewall/address-list" => self.list_rows(false, filter, each),
            "/ipv6/firewall/address-list" => self.list_rows(true, filter, each),
            path if self.firewall.desk(path).is_some() => self.fasttrack_rows(menu, filter, each),
            "/tool/drop" => self.drop_rows(filter, each),
            "/tool/meter" => self.meter_rows(filter, each),
            "/system/doctor" => doctor::rows(store, filter, each),
            path if path.starts_with("/tool/sniffer/") => self.sniffed_rows(path, filter, each),
            path if path.starts_with("/tool/traffic-generator/") => {
                self.generator_rows(path, filter, each)
            }
            "/file" => self.file_rows(filter, each),
            "/system/resource/cpu" => self.core_rows(filter, each),
            "/ip/vrf" => give(main_vrf(), filter, each),
            "/system/package" => give(self.package_row(), filter, each),
            "/system/history" => self.history_rows(store, filter, each),
            "/system/configuration/history" => self.revision_rows(store, filter, each),
            _ => ControlFlow::Continue(()),
        }
    }

    fn rows_from(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        place: &mut u64,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Option<Scan> {
        let ipv6 = connections_of(menu)?;
        Some(self.connections_from(ipv6, filter, place, each))
    }

    fn count(&self, menu: &'static Menu) -> Option<u64> {
        connections_of(menu).map(|ipv6| self.connection_count(ipv6))
    }

    fn annotate(&self, store: &Store, menu: &'static Menu, id: Id, row: &mut Row) {
        for feature in self.features.of(menu.path) {
            feature.annotate_at(menu, id, self.now, row);
        }
        match menu.path {
            "/interface/ethernet" | "/interface/port" => {
                self.annotate_interface(id, row);
            }
            _ if menu.space == Some("interface") && self.has_traffic(id) => {
                self.annotate_interface(id, row);
            }
            "/certificate" => {
                let clock = self.clock.now();
                self.features.certificates.annotate(id, clock, row);
            }
            "/ip/address" => self.annotate_address4(id, row),
            "/ipv6/address" => self.annotate_address6(id, row),
            "/ip/arp" | "/ipv6/neighbor" => self.annotate_static(row),
            "/ip/route" => self.annotate_route4(id, row),
            "/ipv6/route" => self.annotate_route6(id, row),
            "/ip/firewall/connection/tracking" => self.annotate_tracking(row),
            "/ip/firewall/address-list" => self.annotate_entry(false, id, row),
            "/ipv6/firewall/address-list" => self.annotate_entry(true, id, row),
            "/ip/firewall/service-port" => self.annotate_helper(row),
            path if self.firewall.desk(path).is_some() => {
                self.annotate_rule_of(store, path, id, row)
            }
            "/routing/rule" => self.annotate_rule(store, id, row),
            "/ip/settings" => self.annotate_settings4(row),
            "/ip/ipsec/statistics" => self.annotate_ipsec_statistics(row),
            "/ipv6/settings" => self.annotate_settings6(row),
            "/interface/bridge/settings" => self.annotate_bridging(row),
            "/tool/sniffer" => {
                row.set("running", Value::Bool(self.instruments.is_sniffing()));
                if let Some(remark) = self.instruments.sniffer_remark() {
                    row.set(Row::ABOUT, Value::text(remark));
                }
            }
            "/tool/traffic-generator" => self.annotate_generator(row),
            "/system/clock" => self.annotate_clock(row),
            "/system/resource" => self.annotate_resource(row),
            "/system/license" => self.annotate_license(row),
            "/system/device-mode" => Self::annotate_device_mode(row),
            "/system/routerboard" => self.annotate_routerboard(row),
            "/system/package/update" => self.annotate_update(row),
            "/system/configuration" => self.annotate_configuration(store, row),
            "/safe-mode" => self.annotate_safe_mode(row),
            _ => {}
        }
    }

    fn action(&mut self, store: &Store, call: &Call<'_>) -> Result<Reply, Reason> {
        self.act(store, call)
    }

    fn scripts(&self, store: &Store, call: &Call<'_>) -> Result<Vec<Script>, Reason> {
        self.scripts_of(store, call)
    }

    fn preparation(&self, store: &Store, call: &Call<'_>) -> Result<Option<Preparation>, Reason> {
        match (call.menu.path, call.command) {
            ("/system/backup", "save" | "load") => self.key_of_backup(call),
            ("/certificate", _) => self.piece_of(store, call),
            ("/interface/ovpn-client", _) => self.openvpn_piece(call),
            ("/ip/ssh", _) => self.host_key_of(store, call),
            _ => Ok(None),
        }
    }

    fn manage(
        &mut self,
        store: &mut Store,
        call: &Call<'_>,
        caller: &Caller<'_>,
        out: &mut dyn Output,
    ) -> Option<Result<Reply, Reason>> {
        self.run_manage(store, call, caller, out)
    }

    fn rights_of_file(&self, store: &Store, name: &str) -> Result<Rights, Reason> {
        self.rights_by_file(store, name)
    }

    fn files(&mut self) -> Option<&mut dyn Files> {
        Some(&mut self.manage.files)
    }

    fn asked_by(&mut self, caller: &Caller<'_>) {
        self.asking.set(caller);
        self.manage.files.act_for(caller);
    }

    fn changed(&mut self, store: &Store, changes: &Changes) {
        self.apply_changes(store, changes);
    }

    fn clock(&self) -> Clock {
        self.clock.now()
    }

    fn log(&mut self, topics: &str, message: &str) {
        self.features.log.add(topics.to_owned(), message);
    }
}
