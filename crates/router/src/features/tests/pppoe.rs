//! PPPoE between two routers on one link, in virtual time.

use super::rig::{MAC, Rig};
use super::tunnels::Nothing;

/// Link address of the client's port.
const CLIENT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x20];
const SERVER: &str = "/system/identity/set name=bras;
    /ip/pool/add name=subscribers ranges=10.64.0.2-10.64.0.99;
    /ppp/profile/add name=home local-address=10.64.0.1 remote-address=subscribers dns-server=10.64.0.53;
    /ppp/secret/add name=anna password=geheim profile=home service=pppoe;
    /interface/pppoe-server/server/add service-name=isp interface=ether1 default-profile=home disabled=no";
const CLIENT: &str = "/interface/pppoe-client/add name=wan interface=ether1 user=anna password=geheim \
    add-default-route=yes use-peer-dns=yes disabled=no";

/// A client and a server, each a router.
struct Pair {
    client: Rig,
    server: Rig,
    second: u64,
}

impl Pair {
    fn new(server: &[&str], client: &[&str]) -> Self {
        let mut pair = Self {
            client: Rig::with_mac(Nothing, CLIENT_MAC, 2),
            server: Rig::new(Nothing),
            second: 1,
        };
        for command in server {
            pair.server.run(command);
        }
        for command in client {
            pair.client.run(command);
        }
        pair.settle();
        pair
    }

    /// Exchanges frames until both routers are silent.
    fn settle(&mut self) {
        let up = self.client.sent();
        let down = self.server.sent();
        self.exchange(up, down);
    }

    fn exchange(&mut self, mut up: Vec<Vec<u8>>, mut down: Vec<Vec<u8>>) {
        for _ in 0..1000 {
            if up.is_empty() && down.is_empty() {
                return;
            }
            let answers = self.server.pass_all(core::mem::take(&mut up));
            up = self.client.pass_all(core::mem::take(&mut down));
            down = answers;
        }
        panic!("the routers do not fall silent");
    }

    /// Lets time pass.
    fn pass_time(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.second += 1;
            let up = self.client.go_on_until(self.second);
            let down = self.server.go_on_until(self.second);
            self.exchange(up, down);
        }
    }

    /// Lets time pass until the client is connected.
    fn connect(&mut self) {
        for _ in 0..60 {
            if self.status() == "connected" {
                return;
            }
            self.pass_time(1);
        }
        panic!(
            "status {}: {}",
            self.status(),
            self.client.run("/log/print")
        );
    }

    fn status(&mut self) -> String {
        value(
            &mut self.client,
            "/interface/pppoe-client/monitor wan once as-value",
            "status",
        )
    }

    /// Checks the number of sessions at the server.
    #[track_caller]
    fn has_sessions(&mut self, expected: &str) {
        let sessions = count(&mut self.server, "/ppp/active/print count-only");
        let logs = [&mut self.client, &mut self.server].map(|rig| rig.run("/log/print"));
        let [client, server] = logs;
        assert_eq!(sessions, expected, "client:\n{client}\nserver:\n{server}");
    }
}

fn count(rig: &mut Rig, command: &str) -> String {
    rig.run(command).trim().to_owned()
}

/// Returns a cell of a command's first page.
fn value(rig: &mut Rig, command: &str, cell: &str) -> String {
    let text = rig.run(&format!(":put ([{command}]->\"{cell}\")"));
    text.trim().to_owned()
}

#[test]
fn a_client_gets_address_route_and_dns_from_the_server() {
    let mut pair = Pair::new(&[SERVER], &[CLIENT]);
    pair.connect();

    let monitor = "/interface/pppoe-client/monitor wan once as-value";
    let cells = [
        "ac-name",
        "service-name",
        "ac-mac",
        "mtu",
        "local-address",
        "remote-address",
    ];
    let cells = cells.map(|cell| value(&mut pair.client, monitor, cell));
    let expected = [
        "bras",
        "",
        "02:00:00:00:00:01",
        "1492",
        "10.64.0.99",
        "10.64.0.1",
    ];
    assert_eq!(cells, expected);
    let client = &mut pair.client;
    let running = count(
        client,
        "/interface/pppoe-client/print count-only where running",
    );
    assert_eq!(running, "1");
    let route = "/ip/route/print count-only where dynamic dst-address=0.0.0.0/0 active";
    assert_eq!(count(client, route), "1");
    let servers = client.run(":put [/ip/dns/get dynamic-servers]");
    assert_eq!(servers.trim(), "10.64.0.53");

    let server = &mut pair.server;
    let row =
        "/interface/pppoe-server/print count-only where dynamic running name=\"<pppoe-anna>\"";
    assert_eq!(count(server, row), "1");
    let active = "/ppp/active/print count-only where name=anna caller-id=\"02:00:00:00:00:20\"";
    assert_eq!(count(server, active), "1");
}

#[test]
fn a_session_that_the_server_ends_comes_back() {
    let mut pair = Pair::new(&[SERVER], &[CLIENT]);
    pair.connect();
    pair.server.run("/ppp/active/remove [find]");
    pair.pass_time(1);
    let lost = pair.client.run("/log/print");
    assert!(lost.contains("disconnected"), "{lost}");
    pair.connect();
    pair.has_sessions("1");
}

#[test]
fn a_session_ends_with_its_client_and_with_its_interface() {
    let mut pair = Pair::new(&[SERVER], &[CLIENT]);
    pair.connect();
    pair.client.run("/interface/pppoe-client/disable wan");
    pair.settle();
    pair.pass_time(1);
    pair.has_sessions("0");
    pair.client.run("/interface/pppoe-client/enable wan");
    pair.connect();

    pair.client
        .run("/interface/pppoe-client/set wan user=nobody");
    pair.pass_time(5);
    pair.has_sessions("0");
    pair.client.run("/interface/pppoe-client/set wan user=anna");
    pair.connect();
    pair.client.run("/interface/pppoe-client/remove wan");
    pair.settle();
    pair.pass_time(1);
    pair.has_sessions("0");

    pair.client.run(CLIENT);
    pair.connect();
    pair.client.run("/interface/ethernet/disable ether1");
    pair.settle();
    assert_eq!(pair.status(), "disconnected");
    pair.client.run("/interface/ethernet/enable ether1");
    pair.connect();
    pair.server
        .run("/interface/pppoe-server/server/disable [find]");
    pair.settle();
    pair.pass_time(1);
    pair.has_sessions("0");
    assert_ne!(pair.status(), "connected");
}

#[test]
fn a_server_that_forgot_its_sessions_ends_those_of_its_clients() {
    let mut pair = Pair::new(&[SERVER], &[CLIENT]);
    pair.connect();
    pair.server = Rig::with_mac(Nothing, MAC, 3);
    pair.server.run(SERVER);
    pair.server.go_on_until(pair.second);
    // The client sends an echo request after ten seconds without packets, and gets a PADT for it.
    pair.pass_time(13);
    pair.connect();
    pair.has_sessions("1");
    assert!(pair.second < 30, "second {}", pair.second);
}

#[test]
fn a_client_that_forgot_its_session_gets_another() {
    let mut pair = Pair::new(&[SERVER], &[CLIENT]);
    pair.connect();
    pair.client = Rig::with_mac(Nothing, CLIENT_MAC, 4);
    pair.client.go_on_until(pair.second);
    pair.client.run(CLIENT);
    pair.connect();
    // The server notices that the first session has no client.
    pair.pass_time(15);
    pair.has_sessions("1");
}

#[test]
fn a_wrong_password_is_refused_and_the_client_tries_ever_less_often() {
    let mut pair = Pair::new(
        &[SERVER],
        &["/system/logging/add topics=pppoe action=memory"],
    );
    pair.client.run(&CLIENT.replace("geheim", "falsch"));
    pair.settle();
    let attempts = |pair: &mut Pair| {
        let log = pair.client.run("/log/print");
        log.matches("connecting...").count()
    };
    pair.pass_time(20);
    let first = attempts(&mut pair);
    pair.pass_time(20);
    let second = attempts(&mut pair) - first;
    assert!(
        first > second && second > 0,
        "{first} attempts, then {second}"
    );
    pair.has_sessions("0");
}

#[test]
fn a_server_on_a_list_serves_the_interfaces_of_the_list() {
    let mut pair = Pair::new(
        &[
            SERVER,
            "/interface/vlan/add name=ten interface=ether1 vlan-id=10",
            "/interface/list/add name=access",
            "/interface/pppoe-server/server/set [find] interface=access",
        ],
        &[
            "/interface/vlan/add name=ten interface=ether1 vlan-id=10",
            &CLIENT.replace("interface=ether1", "interface=ten"),
        ],
    );
    pair.pass_time(5);
    assert_eq!(pair.status(), "dialing");
    let invalid = "/interface/pppoe-server/server/print count-only where invalid";
    assert_eq!(count(&mut pair.server, invalid), "1");
    pair.server
        .run("/interface/list/member/add list=access interface=ten");
    pair.connect();
    assert_eq!(count(&mut pair.server, invalid), "0");
    pair.server.run("/interface/list/member/remove [find]");
    pair.settle();
    pair.pass_time(1);
    pair.has_sessions("0");
}

#[test]
fn two_clients_on_one_interface_each_get_their_service() {
    let second = "/ppp/secret/add name=bert password=geheim profile=home;
        /interface/pppoe-server/server/add service-name=iptv interface=ether1 disabled=no default-profile=home";
    let client = CLIENT
        .replace("name=wan", "name=tv service-name=iptv")
        .replace("anna", "bert");
    let mut pair = Pair::new(&[SERVER, second], &[CLIENT, &client]);
    pair.connect();
    pair.pass_time(3);
    let of = |name: &str| format!("/ppp/active/print count-only where name={name}");
    assert_eq!(count(&mut pair.server, &of("anna")), "1");
    assert_eq!(count(&mut pair.server, &of("bert")), "1");
    let monitor = "/interface/pppoe-client/monitor tv once as-value";
    assert_eq!(value(&mut pair.client, monitor, "service-name"), "iptv");
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let mut rig = Rig::new(Nothing);
    let server = "/interface/pppoe-server/server/add service-name=isp interface=ether1";
    let refused = rig.refusal(&format!("{server} pppoe-over-vlan-range=10-20"));
    assert!(
        refused.contains("pppoe-over-vlan-range is not possible"),
        "{refused}"
    );
    let client = "/interface/pppoe-client/add interface=ether1 user=u";
    let refused = rig.refusal(&format!("{client} host-uniq=xyz"));
    assert!(refused.contains("hexadecimal"), "{refused}");
    rig.run(&format!("{client} host-uniq=0a1b"));
    rig.run("/interface/bridge/add name=lan; /interface/wireguard/add name=wg");
    rig.run("/interface/pppoe-client/add name=on-wg interface=wg user=u disabled=no");
    let invalid = "/interface/pppoe-client/print count-only where invalid";
    assert_eq!(count(&mut rig, invalid), "1");
}
