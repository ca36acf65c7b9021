//! Ethernet over L2TPv3 (`/interface/l2tp-ether`) between two ferroutes, in a bridge at each end: static sessions, and
//! sessions of a control connection.
//!
//! ```text
//! one ── left ═══ right ── two
//! ```

use lab::Lab;

use crate::ipsec::SITES;
use crate::pppoe::start;
use crate::world::{Folder, Router, have, lab, until, works};

/// Returns the configuration of a site: its session is a port of a bridge, which has an address and leads to the other
/// site.
fn site(site: u8, other: u8, session: &str, cookies: [&str; 2]) -> String {
    let [own, far] = cookies;
    format!(
        "/ip address add address=10.{site}.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.{site}/24 interface=ether2\n\
         /interface l2tp-ether add name=ether-out1 connect-to=192.0.2.{other} unmanaged-mode=yes \
         local-session-id={site} remote-session-id={other} local-tunnel-id={site} remote-tunnel-id={other} \
         peer-cookie={own} send-cookie={far} {session}\n\
         /interface bridge add name=joined\n\
         /interface bridge port add bridge=joined interface=ether-out1\n\
         /ip address add address=10.9.0.{site}/24 interface=joined\n\
         /ip route add dst-address=10.{other}.0.0/24 gateway=10.9.0.{other}\n"
    )
}

fn reaches(lab: &Lab, more: &str) -> bool {
    works(lab, "one", &format!("ping -q -c 1 -W 1 {more} 10.2.0.2"))
}

fn drops(router: &Router) -> String {
    router.exec("/tool/drop/print without-paging")
}

/// Tests a transport, with a kill of one end.
fn carries_frames(test: &str, session: &str) {
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let folder = Folder::new();
    let state = folder.file("state");
    let cookies = ["0011223344556677", "8899aabb"];
    let left = start(&lab, "left", &site(1, 2, session, cookies), None);
    let [own, far] = cookies;
    let right = site(2, 1, session, [far, own]);
    let right = start(&lab, "right", &right, Some(&state));
    until("a packet gets through", || reaches(&lab, ""));
    assert!(reaches(&lab, "-s 1472 -M do"), "{}", left.log());
    assert!(reaches(&lab, "-s 3000 -M dont"), "{}", left.log());
    let rows = left.rows("/interface/bridge/port/print");
    assert_eq!(rows[0]["interface"], "ether-out1", "{rows:?}");

    right.kill();
    let right = start(&lab, "right", "", Some(&state));
    until("a packet gets through after a kill", || reaches(&lab, ""));

    left.exec("/interface/l2tp-ether/set ether-out1 send-cookie=8899aabc");
    until("packets with another cookie are dropped", || {
        assert!(!reaches(&lab, ""));
        drops(&right).contains("l2tp-wrong-cookie")
    });
    left.exec("/interface/l2tp-ether/set ether-out1 send-cookie=8899aabb");
    until("the right cookie opens the session", || reaches(&lab, ""));
}

#[test]
fn static_sessions_in_ip_carry_frames() {
    let test = "static_sessions_in_ip_carry_frames";
    carries_frames(test, "l2tp-proto-version=l2tpv3-ip");
}

#[test]
fn static_sessions_in_udp_carry_frames_behind_a_sublayer() {
    let test = "static_sessions_in_udp_carry_frames_behind_a_sublayer";
    let session = "l2tp-proto-version=l2tpv3-udp use-l2-specific-sublayer=yes";
    carries_frames(test, session);
}

/// Returns what a site of a control connection has besides its end of it: the bridge, its address, and the secret.
fn bridged(site: u8, other: u8, port: &str) -> String {
    format!(
        "/ip address add address=10.{site}.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.{site}/24 interface=ether2\n\
         /ppp l2tp-secret add address=192.0.2.0/24 secret=tunnel\n\
         /interface bridge add name=joined\n\
         /interface bridge port add bridge=joined interface=\"{port}\"\n\
         /ip address add address=10.9.0.{site}/24 interface=joined\n\
         /ip route add dst-address=10.{other}.0.0/24 gateway=10.9.0.{other}\n"
    )
}

/// Interface of the session at the server.
const DYNAMIC: &str = "<l2tp-ether-office>";

fn server(more: &str) -> String {
    "/interface list add name=tunnels\n".to_owned()
        + &bridged(2, 1, "tunnels")
        + &format!(
            "/interface l2tp-server server set enabled=yes accept-proto-version=l2tpv3 keepalive-timeout=5 \
             l2tpv3-cookie-length=8-bytes l2tpv3-digest-hash=sha1 l2tpv3-ether-interface-list=tunnels {more}\n"
        )
}

fn client(more: &str) -> String {
    "/interface l2tp-ether add name=ether-out1 connect-to=192.0.2.2 circuit-id=office cookie-length=4-bytes "
        .to_owned()
        + more
        + "\n"
        + &bridged(1, 2, "ether-out1")
}

/// Returns the dynamic interfaces of the server.
fn sessions(server: &Router) -> Vec<String> {
    let rows = server.rows("/interface/l2tp-ether/print");
    let dynamic = rows.iter().filter(|row| row["dynamic"] == "true");
    let names = dynamic.map(|row| row["name"].as_str().unwrap_or_default());
    names.map(str::to_owned).collect()
}

/// Tests a control connection over a transport, with a kill of each end.
fn opens_sessions(test: &str, transport: &str) {
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let folders = [Folder::new(), Folder::new()];
    let states = folders.each_ref().map(|folder| folder.file("state"));
    let right = start(&lab, "right", &server(""), Some(&states[1]));
    let left = start(&lab, "left", &client(transport), Some(&states[0]));
    until("a packet gets through", || reaches(&lab, ""));
    assert!(reaches(&lab, "-s 1472 -M do"), "{}", left.log());
    assert!(reaches(&lab, "-s 3000 -M dont"), "{}", left.log());
    assert_eq!(sessions(&right), [DYNAMIC]);
    let members = right.rows("/interface/list/member/print");
    assert_eq!(members[0]["interface"], DYNAMIC, "{members:?}");
    let page = left.exec("/interface/l2tp-ether/monitor ether-out1 once");
    assert!(page.contains("connected"), "{page}");

    left.kill();
    let left = start(&lab, "left", "", Some(&states[0]));
    until("the session is back after the client was killed", || {
        reaches(&lab, "")
    });
    assert_eq!(sessions(&right), [DYNAMIC]);
    right.kill();
    let right = start(&lab, "right", "", Some(&states[1]));
    until("the session is back after the server was killed", || {
        reaches(&lab, "")
    });

    left.exec("/interface/l2tp-ether/disable ether-out1");
    until("the session ends at the server", || {
        sessions(&right).is_empty()
    });
    let members = right.rows("/interface/list/member/print");
    assert!(members.is_empty(), "{members:?}");
    left.exec("/ppp/l2tp-secret/set [find] secret=other");
    left.exec("/interface/l2tp-ether/enable ether-out1");
    until("messages with another secret are dropped", || {
        drops(&right).contains("l2tp-authentication")
    });
    assert!(sessions(&right).is_empty());
    left.exec("/ppp/l2tp-secret/set [find] secret=tunnel");
    until("the right secret opens the session", || reaches(&lab, ""));
    right.exec("/interface/l2tp-server/server/set l2tpv3-circuit-id=branch enabled=no");
    until("the session ends at the client", || !reaches(&lab, ""));
    right.exec("/interface/l2tp-server/server/set enabled=yes");
    until("another circuit is refused", || {
        left.log().contains("closed by peer, result 5")
    });
    left.exec("/interface/l2tp-ether/set ether-out1 circuit-id=branch");
    until("the right circuit opens a session", || {
        sessions(&right) == ["<l2tp-ether-branch>"]
    });
}

#[test]
fn control_connections_in_udp_open_sessions() {
    let test = "control_connections_in_udp_open_sessions";
    opens_sessions(
        test,
        "l2tp-proto-version=l2tpv3-udp use-l2-specific-sublayer=yes",
    );
}

#[test]
fn control_connections_in_ip_open_sessions() {
    let test = "control_connections_in_ip_open_sessions";
    opens_sessions(test, "l2tp-proto-version=l2tpv3-ip digest-hash=sha1");
}

/// Tests sessions within IPsec. Without its policy a session carries nothing in clear.
fn are_protected(test: &str, transport: &str) {
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let required = "use-ipsec=required ipsec-secret=shared";
    let right = start(&lab, "right", &server(required), None);
    let session = format!("{transport} use-ipsec=yes ipsec-secret=shared");
    let left = start(&lab, "left", &client(&session), None);
    until("a packet gets through", || reaches(&lab, ""));
    assert!(reaches(&lab, "-s 1472 -M do"), "{}", left.log());
    let pairs = left.rows("/ip/ipsec/installed-sa/print");
    assert!(pairs.len() >= 2, "{pairs:?}");
    left.exec("/interface/l2tp-ether/set ether-out1 use-ipsec=no");
    until("the server refuses unprotected requests", || {
        drops(&right).contains("l2tp-unprotected")
    });
    assert!(!reaches(&lab, ""));
    left.exec("/interface/l2tp-ether/set ether-out1 use-ipsec=yes");
    until("the session is back", || reaches(&lab, ""));
}

#[test]
fn sessions_in_udp_are_protected_by_ipsec() {
    let test = "sessions_in_udp_are_protected_by_ipsec";
    are_protected(test, "l2tp-proto-version=l2tpv3-udp");
}

#[test]
fn sessions_in_ip_are_protected_by_ipsec() {
    let test = "sessions_in_ip_are_protected_by_ipsec";
    are_protected(test, "l2tp-proto-version=l2tpv3-ip");
}

#[test]
fn static_sessions_are_protected_by_ipsec() {
    let test = "static_sessions_are_protected_by_ipsec";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let session = "l2tp-proto-version=l2tpv3-ip use-ipsec=yes ipsec-secret=shared";
    let left = start(&lab, "left", &site(1, 2, session, ["", ""]), None);
    let right = start(&lab, "right", &site(2, 1, session, ["", ""]), None);
    until("a packet gets through", || reaches(&lab, ""));
    let pairs = left.rows("/ip/ipsec/installed-sa/print");
    assert!(pairs.len() >= 2, "{pairs:?}");
    right.exec("/interface/l2tp-ether/set ether-out1 use-ipsec=no");
    until("packets in clear are dropped", || {
        assert!(!reaches(&lab, ""));
        drops(&left).contains("l2tp-unprotected")
    });
}
