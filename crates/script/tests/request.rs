//! Requests of programs and their answers.

use std::ops::ControlFlow;

use menu::{Argument, Call, Kind, Live, Menu, Offline, Policies, Reason, Reply, Row, Store};
use script::{Done, ExclusiveSite, Request, Rows, Session, request_at};

#[derive(Default)]
struct Taken(Vec<Vec<(String, String)>>);

impl Rows for Taken {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        let fields = fields.iter().map(|(n, v)| ((*n).to_owned(), v.clone()));
        self.0.push(fields.collect());
        ControlFlow::Continue(())
    }
}

/// `/path =name=value ?query` as a request; values have no spaces here.
fn request(text: &str) -> Request {
    let mut request = Request::default();
    for word in text.split(' ') {
        if let Some(query) = word.strip_prefix('?') {
            request.query.push(query.to_owned());
        } else if let Some((name, value)) = word.strip_prefix('=').and_then(|w| w.split_once('=')) {
            request.arguments.push((name.to_owned(), value.to_owned()));
        } else {
            request.path = word.to_owned();
        }
    }
    request
}

fn ask(store: &mut Store, text: &str) -> (Result<Done, String>, Vec<String>) {
    ask_as(store, &mut Session::new("admin"), text)
}

fn ask_as(
    store: &mut Store,
    session: &mut Session,
    text: &str,
) -> (Result<Done, String>, Vec<String>) {
    let mut taken = Taken::default();
    let mut live = Offline;
    let mut site = ExclusiveSite::new(store, &mut live);
    let done = request_at(&mut site, session, &request(text), &mut taken);
    let line = |row: &Vec<(String, String)>| {
        let fields: Vec<_> = row.iter().map(|(n, v)| format!("{n}={v}")).collect();
        fields.join(" ")
    };
    let rows = taken.0.iter().map(line).collect();
    (done.map_err(|refusal| refusal.to_string()), rows)
}

fn refused(store: &mut Store, text: &str) -> String {
    ask(store, text).0.expect_err(text)
}

#[test]
fn an_item_is_added_changed_and_removed() {
    let mut store = schema::store();

    let (done, _) = ask(&mut store, "/interface/list/add =name=a=b =comment=[x]$y");
    let Ok(Done::Ret(id)) = done else {
        panic!("{done:?}")
    };
    let find = format!("/interface/list/print ?.id={id} =.proplist=name,comment,nothing");
    assert_eq!(ask(&mut store, &find).1, ["name=a=b comment=[x]$y"]);

    let set = format!("/interface/list/set =.id={id} =comment=z =!include=");
    assert_eq!(ask(&mut store, &set).0, Ok(Done::Nothing));
    let get = "/interface/list/get =number=a=b =value-name=comment";
    assert_eq!(ask(&mut store, get).0, Ok(Done::Ret("z".into())));
    let by_name = "/interface/list/set =numbers=a=b =name=c";
    assert_eq!(ask(&mut store, by_name).0, Ok(Done::Nothing));

    let remove = format!("/interface/list/remove =.id={id}");
    assert_eq!(ask(&mut store, &remove).0, Ok(Done::Nothing));
    assert_eq!(refused(&mut store, &remove), "no such item");
    assert_eq!(ask(&mut store, &find).0, Ok(Done::Empty));
}

#[test]
fn queries_select_and_count_rows() {
    let mut store = schema::store();

    let all = ask(&mut store, "/interface/list/getall").1.len();
    let count = ask(&mut store, "/interface/list/print =count-only=").0;
    assert_eq!(count, Ok(Done::Ret(all.to_string())));
    let some = "/interface/list/print ?name=all ?name=none ?#| =.proplist=name";
    assert_eq!(ask(&mut store, some).1, ["name=all", "name=none"]);
    let not = "/interface/list/print =.proplist=name ?name=all ?#!";
    assert_eq!(ask(&mut store, not).1.len(), all - 1);
    assert_eq!(
        refused(&mut store, "/interface/list/print ?#~"),
        "invalid query"
    );
}

#[test]
fn find_answers_the_ids_of_all_items() {
    let mut store = schema::store();
    let find = "/ip/firewall/address-list/find ?list=a";
    assert_eq!(ask(&mut store, find).0, Ok(Done::Ret(String::new())));
    for entry in ["=address=192.0.2.1 =list=a", "=address=192.0.2.2 =list=b"] {
        let add = format!("/ip/firewall/address-list/add {entry}");
        assert!(ask(&mut store, &add).0.is_ok(), "{add}");
    }
    assert_eq!(ask(&mut store, find).0, Ok(Done::Ret("*1;*2".into())));
}

#[test]
fn execute_as_string_returns_the_output_and_the_final_error() {
    let mut store = schema::store();
    let mut run = |script: &str| {
        let mut request = request("/execute =as-string=");
        request.arguments.push(("script".into(), script.to_owned()));
        let mut live = Offline;
        let mut site = ExclusiveSite::new(&mut store, &mut live);
        let mut session = Session::new("admin");
        let done = request_at(&mut site, &mut session, &request, &mut Taken::default());
        match done {
            Ok(Done::Ret(text)) => text,
            other => panic!("{script}: {other:?}"),
        }
    };

    assert_eq!(run(":put one; :put two"), "one\ntwo");
    assert_eq!(run(":put one; :error stop"), "one\nstop");
    assert_eq!(
        run("/ip/address/add address=192.0.2.1/24 interface=nowhere"),
        "input does not match any value of interface (/ip/address/add (interface); line 1)"
    );
    assert_eq!(run("/ip ]"), "expected command name (line 1 column 5)");
    assert_eq!(run(":return 7"), "7");
}

#[test]
fn settings_are_one_row_without_an_id() {
    let mut store = schema::store();

    let set = ask(&mut store, "/system/identity/set =name=R1").0;
    assert_eq!(set, Ok(Done::Nothing));
    let print = ask(&mut store, "/system/identity/print").1;
    assert_eq!(print, ["name=R1"]);
}

#[test]
fn missing_items_give_routeros_errors() {
    let mut store = schema::store();

    for (text, message) in [
        ("/no/such/print", "no such command prefix"),
        ("#", "no such command prefix"),
        ("/put", "no such command prefix"),
        ("/ip/address/fly", "no such command"),
        ("/system/identity/find", "no such command"),
        ("/ip/address/pri", "no such command"),
        ("/ip/address/add =colour=red", "unknown parameter colour"),
        ("/ip/address/print =colour=red", "unknown parameter colour"),
        ("/ip/address/remove =.id=*7", "no such item"),
        (
            "/ip/address/add =address=10.0.0.1/24 =interface=x",
            "input does not match any value of interface",
        ),
    ] {
        assert_eq!(refused(&mut store, text), message, "{text}");
    }
}

#[test]
fn menus_of_older_versions_are_hidden_from_programs() {
    let mut store = schema::store();

    for path in [
        "/routing/bgp/peer/print",
        "/interface/ethernet/poe/print",
        "/routing/bgp/network/print",
        "/routing/ospf-v3/instance/print",
        "/ip/route/rule/print",
        "/ip/accounting/print",
        "/tool/user-manager/user/print",
        "/interface/wifi/wifiwave2/print",
    ] {
        assert_eq!(
            refused(&mut store, path),
            "no such command prefix",
            "{path}"
        );
    }
    // RouterOS 7 has both names of this one.
    for path in ["/interface/wifi/print", "/interface/wifiwave2/print"] {
        assert_eq!(ask(&mut store, path).0, Ok(Done::Empty), "{path}");
    }
    // RouterOS 7.22 has the menus of LoRaWAN below both paths.
    for path in ["/iot/lora/print", "/lora/print", "/lora/channels/print"] {
        assert_eq!(ask(&mut store, path).0, Ok(Done::Empty), "{path}");
    }
    let mut live = Offline;
    let mut out = String::new();
    let old = "/routing/bgp/peer print; /ip route rule print";
    let done = script::run(
        &mut store,
        &mut live,
        &mut Session::new("admin"),
        old,
        &mut out,
    );
    assert_eq!(done, Ok(()), "the console knows them");
}

#[test]
fn api_users_have_the_same_rights_as_at_the_console() {
    let mut store = schema::store();
    let mut session = Session::new("reader");
    session.policies = Policies::READ;

    let read = ask_as(&mut store, &mut session, "/system/identity/print");
    assert_eq!(read.1.len(), 1);
    let (write, _) = ask_as(&mut store, &mut session, "/system/identity/set =name=x");
    assert_eq!(write, Err("not enough permissions (9)".into()));
    session.policies = Policies::WRITE;
    let (read, _) = ask_as(&mut store, &mut session, "/system/identity/print");
    assert_eq!(read, Err("not enough permissions (9)".into()));
}

#[test]
fn export_returns_its_text() {
    let mut store = schema::store();

    let _ = ask(&mut store, "/system/identity/set =name=R1");
    let (done, _) = ask(&mut store, "/export =terse=");
    let Ok(Done::Ret(text)) = done else {
        panic!("{done:?}")
    };
    assert!(text.ends_with("/system identity set name=R1"), "{text}");
}

#[test]
fn inspect_describes_menus_and_typed_text_to_editors() {
    let mut store = schema::store();

    let (_, rows) = ask(
        &mut store,
        "/console/inspect =request=child =path=ip,address",
    );
    assert!(
        rows.contains(&"type=child name=add node-type=cmd".to_owned()),
        "{rows:?}"
    );
    let (_, rows) = ask(
        &mut store,
        "/console/inspect =request=child =path=ip,address,add",
    );
    assert!(
        rows.contains(&"type=child name=interface node-type=arg".to_owned()),
        "{rows:?}"
    );
    for (path, text) in [
        ("ip,address,add,comment", "text=string value"),
        ("ip,dhcp-server,lease,add,mac-address", "(MAC address)"),
        (
            "routing,bgp,template,add,cluster-id",
            "text=A.B.C.D    (IP address)",
        ),
        ("interface,wifi,print,interval", ""),
    ] {
        let (_, rows) = ask(
            &mut store,
            &format!("/console/inspect =request=syntax =path={path}"),
        );
        assert!(
            rows.iter().all(|row| row.contains(text)),
            "{path}: {rows:?}"
        );
        assert_eq!(rows.len(), usize::from(!text.is_empty()), "{path}");
        let (_, rows) = ask(
            &mut store,
            &format!("/console/inspect =request=self =path={path}"),
        );
        assert!(rows[0].contains("node-type=arg"), "{path}: {rows:?}");
        let (_, rows) = ask(
            &mut store,
            &format!("/console/inspect =request=child =path={path}"),
        );
        assert!(rows.is_empty(), "{path}: {rows:?}");
    }
    let (_, rows) = ask(&mut store, "/console/inspect =request=child =path=no,such");
    assert!(rows.is_empty());
    let (_, rows) = ask(
        &mut store,
        "/console/inspect =request=completion =input=/ip/addr",
    );
    let address = |row: &String| row.contains("completion=address offset=4 ");
    assert!(rows.iter().any(address), "{rows:?}");
    let (_, rows) = ask(
        &mut store,
        "/console/inspect =request=highlight =input=/ip/address/print",
    );
    let (_, classes) = rows[0].split_once("highlight=").expect("a cell");
    assert_eq!(classes.split(',').count(), "/ip/address/print".len());
}

/// A router that completes every command at once.
struct Willing;

impl tool::Router for Willing {
    fn rates(&self, _: Option<&str>) -> Option<Row> {
        Some(Row::default())
    }
}

impl Live for Willing {
    fn clock(&self) -> menu::Clock {
        menu::Clock::utc(0)
    }

    fn action(&mut self, _: &Store, _: &Call<'_>) -> Result<Reply, Reason> {
        Ok(Reply::default())
    }
}

/// An argument with a valid value, if there is one that needs no item.
fn example(argument: &Argument) -> (String, String) {
    let value = match argument.kind {
        Kind::Presence => "",
        Kind::Words(words) => words[0],
        Kind::Text | Kind::Name | Kind::Filled if argument.name.starts_with("number") => "*1",
        Kind::Text | Kind::Name | Kind::Filled => "x",
        Kind::Number { .. } => "1",
        Kind::List(_) if argument.name == "interface" => "aggregate",
        _ => "192.0.2.1",
    };
    (argument.name.to_owned(), value.to_owned())
}

fn act(menu: &Menu, command: &menu::Command) -> Result<Done, String> {
    let needed = command.arguments.iter().filter(|taken| taken.required);
    let request = Request {
        path: format!("{}/{}", menu.path.trim_end_matches('/'), command.name),
        arguments: needed.map(example).collect(),
        ..Request::default()
    };
    let (mut store, mut live) = (schema::store(), Willing);
    let mark = store.begin();
    let made = store.ensure_port("ether1", Some([2, 0, 0, 0, 0, 1]));
    made.expect("is a port's name");
    store.commit(mark).expect("nothing is journaled");
    let mut site = ExclusiveSite::new(&mut store, &mut live);
    let mut session = Session::new("admin");
    let done = request_at(&mut site, &mut session, &request, &mut Taken::default());
    done.map_err(|refusal| refusal.to_string())
}

#[test]
fn a_command_repeats_ends_or_is_refused_as_declared() {
    let own = schema::ALL.iter().flat_map(|menu| {
        let commands = menu.commands.iter();
        commands.map(move |command| (*menu, command))
    });
    let (mut lacking, mut repeating) = (0, 0);
    for (menu, command) in own {
        let path = format!("{}/{}", menu.path, command.name);
        if command.name.starts_with("monitor") {
            assert!(command.repeats, "{path} ends");
        }
        let bare = command.arguments.iter().all(|taken| !taken.required);
        match act(menu, command) {
            // Only commands that repeat give this message.
            Err(said) if said.contains("can not wait here") => {
                assert!(command.repeats, "{path} repeats");
                repeating += 1;
            }
            Err(said) if said.ends_with(" has no effect here yet") => {
                assert!(menu.is_idle(command.name), "{path}: {said}");
                lacking += 1;
            }
            done => assert!(!bare || !menu.is_idle(command.name), "{path}: {done:?}"),
        }
    }
    assert!(lacking > 100 && repeating > 1, "{lacking}, {repeating}");
}

#[test]
fn a_terminating_command_accepts_once_and_ends() {
    let mut store = schema::store();
    for (asked, name) in [
        ("/tool/snmp-walk =address=192.0.2.1", "/tool/snmp-walk"),
        (
            "/system/package/update/install",
            "/system/package/update/install",
        ),
    ] {
        assert_eq!(
            refused(&mut store, asked),
            format!("failure: {name} has no effect here yet")
        );
    }
}

/// The property names in the first row that matches a query.
fn row_of(store: &mut Store, path: &str, query: &str) -> Vec<String> {
    let (done, rows) = ask(store, &format!("{path}/print ?{query}"));
    assert!(done.is_ok(), "{path}: {done:?}");
    let row = rows
        .first()
        .unwrap_or_else(|| panic!("{path} has a row with {query}"));
    let cells = row.split(' ').filter_map(|cell| cell.split_once('='));
    cells.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn default_flags_are_not_shown_to_programs() {
    let mut store = schema::store();
    let before = "/interface bridge add name=b\n/ip pool add name=p ranges=10.0.0.2-10.0.0.9\n\
                  /interface l2tp-client add name=l connect-to=192.0.2.1 user=u\n\
                  /ip dhcp-server add name=d interface=b address-pool=p\n\
                  /ip dhcp-server lease add address=10.0.0.2 mac-address=02:00:00:00:00:01\n\
                  /ip hotspot add name=h interface=b\n\
                  /ip hotspot ip-binding add address=10.0.0.3\n\
                  /ip hotspot user add name=u\n/ip hotspot user profile add name=up\n\
                  /ip ipsec mode-config add name=m\n/ip ipsec profile add name=ip\n\
                  /ipv6 pool add name=p6 prefix=fd00::/48 prefix-length=64\n\
                  /ipv6 dhcp-server add name=d6 interface=b address-pool=p6\n\
                  /queue type add name=q kind=fq-codel\n\
                  /tool netwatch add host=192.0.2.1";
    let report = script::check(&mut store, before);
    assert!(
        report.refused.is_empty(),
        "{:?}",
        report.refused.first().map(|r| &r.reason)
    );

    for (path, query, quiet, shown) in [
        (
            "/interface/l2tp-client",
            "name=l",
            "default-route-distance",
            "add-default-route",
        ),
        (
            "/ip/dhcp-server",
            "name=d",
            "bootp-lease-time",
            "address-pool",
        ),
        (
            "/ip/dhcp-server/lease",
            "address=10.0.0.2",
            "lease-time",
            "mac-address",
        ),
        (
            "/ip/dhcp-server/lease",
            "address=10.0.0.2",
            "server",
            "mac-address",
        ),
        ("/ip/hotspot", "name=h", "address-pool", "interface"),
        (
            "/ip/hotspot/ip-binding",
            "address=10.0.0.3",
            "type",
            "address",
        ),
        (
            "/ip/hotspot/ip-binding",
            "address=10.0.0.3",
            "server",
            "address",
        ),
        ("/ip/hotspot/user", "name=u", "limit-uptime", "profile"),
        (
            "/ip/hotspot/user/profile",
            "name=up",
            "address-pool",
            "name",
        ),
        ("/ip/ipsec/mode-config", "name=m", "address-pool", "name"),
        (
            "/ip/ipsec/profile",
            "name=ip",
            "prf-algorithm",
            "hash-algorithm",
        ),
        (
            "/ipv6/dhcp-server",
            "name=d6",
            "allow-dual-stack-queue",
            "interface",
        ),
        ("/ipv6/dhcp-server", "name=d6", "parent-queue", "interface"),
        ("/queue/type", "name=q", "pcq-rate", "fq-codel-limit"),
        ("/queue/type", "name=q", "codel-limit", "fq-codel-limit"),
        (
            "/system/logging/action",
            "name=remote",
            "remember",
            "target",
        ),
        ("/tool/netwatch", "host=192.0.2.1", "ttl", "interval"),
    ] {
        let cells = row_of(&mut store, path, query);
        assert!(
            !cells.iter().any(|cell| cell == quiet),
            "{path} {quiet}: {cells:?}"
        );
        assert!(
            cells.iter().any(|cell| cell == shown),
            "{path} {shown}: {cells:?}"
        );
    }
    for (path, set, query, shown) in [
        (
            "/interface/l2tp-client",
            "=.id=l =add-default-route=yes",
            "name=l",
            "default-route-distance",
        ),
        (
            "/ip/dhcp-server",
            "=.id=d =bootp-lease-time=lease-time",
            "name=d",
            "bootp-lease-time",
        ),
        ("/queue/type", "=.id=q =kind=pcq", "name=q", "pcq-rate"),
    ] {
        assert_eq!(
            ask(&mut store, &format!("{path}/set {set}")).0,
            Ok(Done::Nothing)
        );
        let cells = row_of(&mut store, path, query);
        assert!(
            cells.iter().any(|cell| cell == shown),
            "{path} {shown}: {cells:?}"
        );
    }
}
