//! Settings of PPPoE users between two ferroutes: scripts, limits, timeouts and rates.
//!
//! ```text
//! one ── left (four clients) ── right (server) ── two
//! ```

use lab::Lab;

use crate::ipsec::SITES;
use crate::world::{PACKET, Router, Start, have, lab, run, until};

/// Configuration of the server: a user for each setting.
const SERVER: &str = r#"/system identity set name=bras
/ip address add address=10.2.0.1/24 interface=ether1
/snmp set enabled=yes
/ppp profile add name=home local-address=10.64.0.1 rate-limit=10M/20M \
    on-up=":log info (\"up \$user \" . \$\"local-address\" . \" \" . \$\"remote-address\" . \" \" . \$\"caller-id\" . \
    \" \" . \$\"called-id\" . \" \" . [/interface/get \$interface name])" \
    on-down=":log info (\"down \$user \" . \$\"remote-address\")"
/ppp profile add name=short local-address=10.64.0.1 session-timeout=3s
/ppp profile add name=idle local-address=10.64.0.1 idle-timeout=2s
/ppp secret add name=anna password=geheim profile=home remote-address=10.64.0.2
/ppp secret add name=bert password=geheim profile=short remote-address=10.64.0.3
/ppp secret add name=cora password=geheim profile=idle remote-address=10.64.0.4
/ppp secret add name=dora password=geheim local-address=10.64.9.1 remote-address=10.64.0.5 limit-bytes-in=20000
/interface pppoe-server server add service-name=isp interface=ether2 default-profile=home disabled=no
"#;

fn start(lab: &Lab, host: &str, config: &str) -> Router {
    let ports = ["ether1", "ether2"].map(|port| format!("{port}={PACKET}:{port}"));
    Router::start(
        lab,
        &Start {
            host,
            ports: ports.to_vec(),
            ..Start::with(PACKET, config)
        },
    )
}

fn dial(client: &Router, user: &str) {
    client.exec(&format!(
        "/interface/pppoe-client/add name=pppoe-{user} interface=ether2 user={user} password=geheim disabled=no"
    ));
}

fn hang_up(client: &Router, user: &str) {
    client.exec(&format!("/interface/pppoe-client/remove pppoe-{user}"));
}

/// Waits until the last session of a user has ended for this reason.
fn ended(server: &Router, user: &str, reason: &str) {
    until(&format!("{user}: {reason}"), || {
        let rows = server.rows(&format!("/ppp/secret/print where name={user}"));
        rows[0]["last-disconnect-reason"] == reason
    });
    let caller = server.value("/ppp/secret/print", user, "last-caller-id");
    assert!(caller.starts_with("02:00:00:00:"), "{caller}");
}

fn has_session(server: &Router, user: &str) -> bool {
    let active = server.rows(&format!("/ppp/active/print where name={user}"));
    !active.is_empty()
}

/// Returns the SNMP index of an interface.
fn snmp_index(lab: &Lab, name: &str) -> Option<String> {
    let walk = run(
        lab,
        "two",
        "snmpwalk -v2c -c public -On -Oq 10.2.0.1 1.3.6.1.2.1.31.1.1.1.1",
    );
    let line = walk.lines().find(|line| line.contains(name))?;
    let oid = line.split(' ').next()?;
    oid.rsplit('.').next().map(str::to_owned)
}

#[test]
fn users_have_scripts_limits_and_timeouts_and_keep_their_snmp_index() {
    let test = "users_have_scripts_limits_and_timeouts_and_keep_their_snmp_index";
    let Some(lab) = have(test, &["ping", "snmpwalk"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let server = start(&lab, "right", SERVER);
    let client = start(&lab, "left", "");
    let log = |text: &str| server.exec("/log/print without-paging").contains(text);

    dial(&client, "anna");
    until("on-up runs", || {
        log("up anna 10.64.0.1 10.64.0.2 02:00:00:00:") && log(" isp <pppoe-anna>")
    });
    let queue = server.rows("/queue/simple/print where name=<pppoe-anna>");
    assert_eq!(queue[0]["max-limit"], "10000000/20000000", "{queue:?}");
    let index = snmp_index(&lab, "<pppoe-anna>");
    assert!(index.is_some(), "{}", server.log());
    hang_up(&client, "anna");
    until("on-down runs", || log("down anna 10.64.0.2"));
    ended(&server, "anna", "peer-request");
    // Other interfaces come before the user's next session.
    dial(&client, "bert");
    until("bert is in", || has_session(&server, "bert"));
    dial(&client, "anna");
    until("anna is in again", || has_session(&server, "anna"));
    assert_eq!(snmp_index(&lab, "<pppoe-anna>"), index);

    ended(&server, "bert", "session-timeout");
    dial(&client, "cora");
    ended(&server, "cora", "idle-timeout");
    dial(&client, "dora");
    until("the limit is reached", || {
        client.exec("/ping 10.64.9.1 count=5 interval=20ms size=1000");
        let rows = server.rows("/ppp/secret/print where name=dora");
        rows[0]["last-disconnect-reason"] == "nas-request"
    });
    assert!(log("traffic limit reached"));
}

/// Returns the packets that the server received from a user.
fn received(server: &Router, user: &str) -> u64 {
    let name = format!("<pppoe-{user}>");
    server.number("/interface/pppoe-server/print stats", &name, "rx-packet")
}

#[test]
fn a_ping_leaves_by_the_named_session_among_many_with_one_gateway() {
    let test = "a_ping_leaves_by_the_named_session_among_many_with_one_gateway";
    let Some(lab) = have(test, &[]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    // Users without timeouts, and one who dials first: routes to the gateway prefer his session.
    let users = SERVER
        .replace("session-timeout=3s", "")
        .replace("idle-timeout=2s", "");
    let server = start(&lab, "right", &users);
    let client = start(&lab, "left", "");
    let users = ["anna", "bert", "cora"];
    for user in users {
        dial(&client, user);
        until("the user is in", || has_session(&server, user));
    }
    for named in users {
        let before = users.map(|user| received(&server, user));
        let ping = format!("/ping 10.64.0.1 interface=pppoe-{named} count=10 interval=500ms");
        let shown = client.exec(&ping);
        assert!(shown.contains("received=10"), "{named}: {shown}");
        for (user, before) in users.into_iter().zip(before) {
            let packets = received(&server, user) - before;
            assert_eq!(
                packets >= 10,
                user == named,
                "{user} for {named}: {packets}"
            );
        }
    }
}
