//! PPPoE between two routers on one link, in virtual time.

use wire::pppoe::{Builder, Packet, code};

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
    /// An access node adds the subscriber's line to requests.
    adds_line: bool,
}

impl Pair {
    fn new(server: &[&str], client: &[&str]) -> Self {
        let mut pair = Self {
            client: Rig::with_mac(Nothing, CLIENT_MAC, 2),
            server: Rig::new(Nothing),
            second: 1,
            adds_line: false,
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
            if self.adds_line {
                up = up.into_iter().map(with_line).collect();
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

/// Adds the tag with the subscriber's line to a request (TR-101).
fn with_line(frame: Vec<u8>) -> Vec<u8> {
    let is_request = frame.get(12..14) == Some(&[0x88, 0x63]) && frame.get(15) == Some(&code::PADR);
    if !is_request {
        return frame;
    }
    let packet = Packet::new_checked(&frame[14..]).expect("the client sends packets");
    let tags = packet.tags().map(|tag| tag.expect("well formed"));
    let copy = tags.fold(Builder::new(code::PADR, 0), |built, tag| {
        built.tag(tag.kind, tag.value)
    });
    let request = copy.line(Some(b"olt1 eth 1/2/3"), Some(b"anna's flat"));
    [&frame[..14], &request.finish()].concat()
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
fn clients_of_a_vlan_range_need_no_vlan_interface_at_the_server() {
    let ranges = "/interface/pppoe-server/server/set [find] pppoe-over-vlan-range=10-20,30 accept-untagged=no";
    let on_vlan = |vlan: &str| {
        let vlan = format!("/interface/vlan/add name=tagged interface=ether1 vlan-id={vlan}");
        [vlan, CLIENT.replace("interface=ether1", "interface=tagged")].join(";")
    };
    for vlan in ["10", "17", "30"] {
        let mut pair = Pair::new(&[SERVER, ranges], &[&on_vlan(vlan)]);
        pair.connect();
        let interfaces = format!("/interface/vlan/print count-only where name=\"<ether1.{vlan}>\"");
        assert_eq!(count(&mut pair.server, &interfaces), "1");
        pair.pass_time(200);
        pair.has_sessions("1");
        pair.server.run("/ppp/active/remove [find]");
        pair.pass_time(1);
        pair.connect();
        pair.client.run("/interface/pppoe-client/disable wan");
        pair.settle();
        pair.pass_time(130);
        assert_eq!(count(&mut pair.server, &interfaces), "0", "nobody uses it");
    }
    for client in [&on_vlan("21"), CLIENT] {
        let mut pair = Pair::new(&[SERVER, ranges], &[client]);
        pair.pass_time(10);
        assert_eq!(pair.status(), "dialing");
        assert_eq!(
            count(&mut pair.server, "/interface/vlan/print count-only"),
            "0"
        );
    }
}

#[test]
fn sessions_end_with_the_vlan_range_of_their_server() {
    let set = "/interface/pppoe-server/server/set [find] pppoe-over-vlan-range";
    let vlan = "/interface/vlan/add name=tagged interface=ether1 vlan-id=12";
    let client = CLIENT.replace("interface=ether1", "interface=tagged");
    let mut pair = Pair::new(&[SERVER, &format!("{set}=10-20")], &[vlan, &client]);
    pair.connect();
    pair.server.run(&format!("{set}=13-20"));
    pair.settle();
    pair.pass_time(1);
    pair.has_sessions("0");
}

#[test]
fn a_client_on_demand_waits_for_a_packet_and_hangs_up_when_idle() {
    let profile = "/ppp/profile/add name=idle idle-timeout=5s";
    let client = format!("{CLIENT} dial-on-demand=yes profile=idle");
    let mut pair = Pair::new(&[SERVER], &[profile, &client]);
    let placeholder = "/ip/address/print count-only where interface=wan address~\"^10.112.112\"";
    let route = "/ip/route/print count-only where gateway=wan active dst-address=0.0.0.0/0";
    let running = "/interface/pppoe-client/print count-only where running";
    for _ in 0..2 {
        pair.pass_time(10);
        assert_eq!(pair.status(), "waiting for packets...");
        pair.has_sessions("0");
        assert_eq!(count(&mut pair.client, placeholder), "1");
        assert_eq!(count(&mut pair.client, route), "1");
        assert_eq!(count(&mut pair.client, running), "0");

        // The router itself sends a packet into the world.
        pair.client
            .run("/tool/netwatch/add host=10.64.0.1 interval=1s type=icmp");
        pair.settle();
        pair.connect();
        pair.has_sessions("1");
        assert_eq!(count(&mut pair.client, placeholder), "0");
        assert_eq!(count(&mut pair.client, route), "1");
        pair.pass_time(20);
        pair.has_sessions("1");

        pair.client.run("/tool/netwatch/remove [find]");
        pair.pass_time(10);
    }
    // The same settings without demand dial at once.
    pair.client
        .run("/interface/pppoe-client/set wan dial-on-demand=no profile=default");
    pair.connect();
    pair.client
        .run("/interface/pppoe-client/set wan dial-on-demand=yes");
    pair.settle();
    pair.pass_time(10);
    assert_eq!(pair.status(), "waiting for packets...");
    pair.client.run("/interface/pppoe-client/disable wan");
    assert_eq!(count(&mut pair.client, placeholder), "0");
}

#[test]
fn the_line_of_a_subscriber_is_shown() {
    let mut pair = Pair::new(&[SERVER], &[]);
    pair.adds_line = true;
    pair.client.run(CLIENT);
    pair.settle();
    pair.connect();
    let active = "/ppp/active/get [find name=anna]";
    let cells = ["agent-circuit-id", "agent-remote-id"];
    let cells = cells.map(|cell| count(&mut pair.server, &format!(":put [{active} {cell}]")));
    assert_eq!(cells, ["olt1 eth 1/2/3", "anna's flat"]);
}

#[test]
fn a_binding_is_the_interface_of_its_user() {
    let binding = "/interface/pppoe-server/add name=in-anna user=anna";
    let mut pair = Pair::new(&[SERVER, binding], &[CLIENT]);
    pair.connect();
    let running = "/interface/pppoe-server/print count-only where name=in-anna running";
    assert_eq!(count(&mut pair.server, running), "1");
    let dynamic = "/interface/pppoe-server/print count-only where dynamic";
    assert_eq!(count(&mut pair.server, dynamic), "0");
    pair.client.run("/interface/pppoe-client/disable wan");
    pair.settle();
    pair.pass_time(1);
    assert_eq!(count(&mut pair.server, running), "0");
    assert_eq!(
        count(&mut pair.server, "/interface/pppoe-server/print count-only"),
        "1",
        "the binding stays"
    );
}

#[test]
fn the_dynamic_interface_of_a_session_is_shown_and_reset_as_a_configured_one() {
    let mut pair = Pair::new(&[SERVER], &[CLIENT]);
    pair.connect();
    let menu = "/interface/pppoe-server";
    let monitor = format!("{menu}/monitor <pppoe-anna> once");
    let page = pair.server.run(&monitor);
    for line in ["name: <pppoe-anna>", "status: connected", "mtu: 1492"] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let row = "where name=<pppoe-anna>";
    let shown = pair
        .server
        .run(&format!("{menu}/print detail without-paging {row}"));
    for part in ["name=\"<pppoe-anna>\"", "user=\"anna\"", "mtu=1492"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let stats = pair
        .server
        .run(&format!("{menu}/print stats without-paging {row}"));
    assert!(stats.contains("<pppoe-anna>"), "{stats}");
}

#[test]
fn forged_and_malformed_packets_are_counted_and_end_no_session() {
    let mut pair = Pair::new(&[SERVER], &[CLIENT]);
    pair.connect();
    let active = "/ppp/active/print count-only";
    let number = pair.server.run("/log/print");
    let number = number.len() as u16;
    let stranger = [2, 0, 0, 0, 0, 0x66];
    let mut frame = |kind: u16, payload: &[u8]| {
        let frame = [&MAC[..], &stranger, &kind.to_be_bytes(), payload].concat();
        pair.server.pass(frame)
    };
    // Sessions of this sender do not exist, whatever their numbers.
    for session in [0, 1, number, 0xfffe, 0xffff] {
        let padt = Builder::new(code::PADT, session).finish();
        assert!(frame(0x8863, &padt).is_empty());
    }
    // A tag that exceeds the packet, one that exceeds the frame, and one that is too long to be repeated.
    let padi = |tags: &[u8]| {
        let header = Packet::header(code::PADI, 0, tags.len() as u16);
        [&header[..], tags].concat()
    };
    assert!(frame(0x8863, &padi(&[1, 1, 0, 9, b'x'])).is_empty());
    assert!(frame(0x8863, &[0x11, code::PADI, 0, 0, 0xff, 0xff]).is_empty());
    let long = [&[1, 3, 1, 0x90][..], &[0; 0x190]].concat();
    assert!(frame(0x8863, &padi(&long)).is_empty());
    // An LCP Terminate-Request in no session gets a PADT.
    let terminate = [&Packet::header(0, 0xffff, 6)[..], &[0xc0, 0x21, 5, 1, 0, 4]].concat();
    let answers = frame(0x8864, &terminate);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].get(15), Some(&code::PADT));

    assert_eq!(count(&mut pair.server, active), "1");
    let drops = pair.server.run("/tool/drop/print");
    for reason in ["pppoe-session", "pppoe-tag", "pppoe-length"] {
        assert!(drops.contains(reason), "{reason}: {drops}");
    }
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
fn a_user_gets_the_previous_prefix_again() {
    let server = "/ipv6/settings/set disable-ipv6=no;
        /ppp/secret/add name=bert password=geheim profile=home;
        /ipv6/pool/add name=links prefix=2001:db8::/48 prefix-length=64;
        /ppp/profile/set home remote-ipv6-prefix-pool=links remote-ipv6-prefix-reuse=yes";
    let second = CLIENT
        .replace("name=wan", "name=other")
        .replace("anna", "bert");
    let no_ipv6 = "/ipv6/settings/set disable-ipv6=no";
    let mut pair = Pair::new(&[SERVER, server], &[no_ipv6, CLIENT]);
    pair.connect();
    pair.client.run(&second);
    pair.settle();
    pair.pass_time(5);
    let prefix = |pair: &mut Pair, user: &str| {
        let shown = pair.server.run("/ipv6/pool/used/print without-paging");
        let line = shown.lines().find(|line| line.contains(user));
        let line = line.unwrap_or_else(|| panic!("{user}: {shown}"));
        let mut words = line.split_whitespace();
        words.find(|word| word.contains("::/")).map(str::to_owned)
    };
    let [anna, bert] = ["anna", "bert"].map(|user| prefix(&mut pair, user));
    assert!(anna.is_some() && anna != bert, "{anna:?} {bert:?}");
    pair.client.run("/interface/pppoe-client/disable wan,other");
    pair.settle();
    pair.pass_time(3);
    pair.has_sessions("0");
    pair.client.run("/interface/pppoe-client/enable other");
    pair.settle();
    pair.pass_time(10);
    assert_eq!(prefix(&mut pair, "bert"), bert);
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let mut rig = Rig::new(Nothing);
    let server = "/interface/pppoe-server/server/add service-name=isp interface=ether1";
    let refused = rig.refusal(&format!("{server} pppoe-over-vlan-range=10,30-20"));
    assert!(refused.contains("pppoe-over-vlan-range"), "{refused}");
    rig.run(&format!("{server} pppoe-over-vlan-range=10,20-30"));
    let client = "/interface/pppoe-client/add interface=ether1 user=u";
    let refused = rig.refusal(&format!("{client} host-uniq=xyz"));
    assert!(refused.contains("hexadecimal"), "{refused}");
    rig.run(&format!("{client} host-uniq=0a1b"));
    rig.run("/interface/bridge/add name=lan; /interface/wireguard/add name=wg");
    rig.run("/interface/pppoe-client/add name=on-wg interface=wg user=u disabled=no");
    let invalid = "/interface/pppoe-client/print count-only where invalid";
    assert_eq!(count(&mut rig, invalid), "1");
}
