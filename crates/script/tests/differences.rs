//! Details in which RouterOS is tolerant: values, names and arguments that are easily refused.

use std::ops::ControlFlow;

use menu::{Offline, Store, Value};
use script::{Done, ExclusiveSite, Request, Rows, Session, request_at};

fn configured(text: &str) -> Store {
    let mut store = schema::store();
    let report = script::check(&mut store, text);
    assert!(report.refused.is_empty(), "{text}: {:?}", report.refused);
    store
}

fn refusal(text: &str) -> String {
    let report = script::check(&mut schema::store(), text);
    let first = report.refused.first().map(|refused| refused.reason.clone());
    first.unwrap_or_default()
}

/// The values of a property in a menu.
fn values(store: &Store, menu: &str, property: &str) -> Vec<String> {
    let items = store.items(menu);
    items
        .map(|item| item.get(property).map(Value::to_string).unwrap_or_default())
        .collect()
}

#[test]
fn missing_names_are_generated() {
    let store =
        configured("/interface/lte/apn/add apn=internet\n/interface/lte/apn/add apn=other\n");
    assert_eq!(
        values(&store, "/interface/lte/apn", "name"),
        ["default", "apn1", "apn2"]
    );
    let store = configured("/system/ups/add port=usbhid1");
    assert_eq!(values(&store, "/system/ups", "name"), ["ups1"]);
}

#[test]
fn an_address_with_from_pool_needs_no_address() {
    let bridge = "/interface/bridge/add name=lan\n";
    let store = configured(&format!(
        "{bridge}/ipv6/address/add from-pool=isp interface=lan"
    ));
    assert_eq!(values(&store, "/ipv6/address", "address"), ["::/64"]);
    let without = format!("{bridge}/ipv6/address/add interface=lan");
    assert_eq!(refusal(&without), "missing value(s) of argument(s) address");
}

#[test]
fn values_of_version_7_are_accepted() {
    let text = "/routing/bgp/connection/add name=b remote.address=192.0.2.1 remote.as=12345/5 local.role=ebgp\n\
                /ipv6/nd/set [find default=yes] advertise-dns=self\n\
                /interface/veth/add name=veth-home-assistant-and-more address=172.17.0.2/24 gateway=172.17.0.1\n\
                /lora/servers/add name=ttn address=eu.example.net\n\
                /iot/lora/servers/add name=own address=own.example.net\n";
    let store = configured(text);
    assert_eq!(
        values(&store, "/routing/bgp/connection", "remote.as"),
        ["12345/5"]
    );
    assert_eq!(values(&store, "/ipv6/nd", "advertise-dns"), ["self"]);
    let servers = values(&store, "/iot/lora/servers", "name");
    assert!(
        ["ttn", "own"]
            .iter()
            .all(|name| servers.iter().any(|own| own == name)),
        "{servers:?}"
    );
}

#[test]
fn a_route_is_checked_by_position_and_once() {
    for text in [
        "/ip/route/check 192.0.2.1 once",
        "/ip/route/check dst-ip=192.0.2.1 src-ip=192.0.2.2 once as-value",
    ] {
        assert_eq!(refusal(text), "", "{text}");
    }
}

#[test]
fn a_service_requires_an_existing_certificate() {
    let mut store = schema::store();
    let mut site = Offline;
    let mut site = ExclusiveSite::new(&mut store, &mut site);
    let request = Request {
        path: String::from("/ip/service/set"),
        arguments: vec![
            (String::from(".id"), String::from("www-ssl")),
            (String::from("certificate"), String::from("none-such")),
        ],
        query: Vec::new(),
    };
    let done = request_at(
        &mut site,
        &mut Session::new("admin"),
        &request,
        &mut Count(0),
    );
    let refusal = done.expect_err("there is none of this name").to_string();
    assert_eq!(refusal, "input does not match any value of certificate");
}

struct Count(usize);

impl Rows for Count {
    fn row(&mut self, _: &[(&str, String)]) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Continue(())
    }
}

#[test]
fn unknown_states_have_no_row() {
    let mut store = schema::store();
    for menu in [
        "/system/health",
        "/system/rtrace",
        "/dude/settings",
        "/system/default-configuration",
        "/system/default-configuration/script",
        "/ip/proxy/inserts",
        "/ip/proxy/lookups",
        "/ip/proxy/refreshes",
    ] {
        let mut live = Offline;
        let mut site = ExclusiveSite::new(&mut store, &mut live);
        let request = Request {
            path: format!("{menu}/print"),
            ..Request::default()
        };
        let mut rows = Count(0);
        let done = request_at(&mut site, &mut Session::new("admin"), &request, &mut rows);
        assert_eq!((done, rows.0), (Ok(Done::Empty), 0), "{menu}");
    }
}
