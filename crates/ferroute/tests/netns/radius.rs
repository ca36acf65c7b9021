//! RADIUS for DHCP leases and logins: FreeRADIUS grants addresses and rates to udhcpc, beside a server that lies, and
//! over TLS (RadSec).

use std::fs;
use std::path::Path;

use lab::Lab;

use crate::dhcp_server::{lease_of_udhcpc, variable};
use crate::identity::SERVER;
use crate::world::{
    Folder, PACKET, Router, Server, Start, have, lab, layout, output, run, shell, text, until,
    works,
};

const CONFIG: &str = "\
/ip/address/add address=10.9.0.1/24 interface=ether2
/ip/address/add address=203.0.113.2/24 interface=ether1
/ip/pool/add name=lan ranges=10.9.0.100-10.9.0.103
/ip/dhcp-server/add name=lan interface=ether2 address-pool=lan use-radius=yes
/ip/dhcp-server/network/add address=10.9.0.0/24 gateway=10.9.0.1
/ip/dhcp-server/config/set interim-update=1s
/radius/add service=dhcp address=203.0.113.1 secret=testing123 authentication-port=1912 timeout=300ms
/radius/add service=dhcp address=203.0.113.1 secret=testing123 timeout=3s require-message-auth=no
/radius/incoming/set accept=yes
";

/// A server on port 1912 that answers each request with six packets, of which none is an authentic answer.
const LIAR: &str = r#"
import socket, struct
lies = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
lies.bind(("0.0.0.0", 1912))
other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("lies", flush=True)
def accept(number, length, attributes):
    return struct.pack("!BBH16s", 2, number, length, b"x" * 16) + attributes
address = bytes([8, 6, 10, 9, 0, 66])
while True:
    request, sender = lies.recvfrom(4096)
    number = request[1]
    lies.sendto(accept(number, 20, b"")[:10], sender)
    lies.sendto(accept(number, 26, address), sender)
    lies.sendto(accept(number, 26, bytes([8, 255, 10, 9, 0, 66])), sender)
    lies.sendto(accept((number + 7) % 256, 26, address), sender)
    lies.sendto(accept(number, 9000, address * 1400), sender)
    other.sendto(accept(number, 26, address), sender)
"#;

fn mac_of_client(lab: &Lab) -> String {
    let shown = run(lab, "client", "ip -br link show dev eth0");
    let mac = shown.split_whitespace().nth(2);
    mac.expect("a MAC address").to_uppercase()
}

/// Starts FreeRADIUS, which knows one client by its MAC address, in the host `server`; `listen` adds to its
/// configuration.
fn free_radius(lab: &Lab, folder: &Folder, mac: &str, listen: &str) -> Server {
    let place = folder.file("").display().to_string();
    let config = SERVER.replace(
        "server default {\n",
        &format!("{listen}server default {{\n"),
    );
    let config = config.replace("FOLDER", place.trim_end_matches('/'));
    fs::write(folder.file("radiusd.conf"), config).expect("a folder of our own");
    let users = format!(
        "{mac} Auth-Type := Accept\n\tFramed-IP-Address = 10.9.0.77,\n\tSession-Timeout = 600,\n\
         \tMikrotik-Rate-Limit = \"1M/2M\",\n\tMikrotik-Address-List = \"paid\",\n\tClass = \"a class\"\n\
         dave Cleartext-Password := \"battery\"\n"
    );
    fs::write(folder.file("users"), users).expect("a folder of our own");
    let line = format!("freeradius -f -l stdout -xx -d {place}");
    Server::start(lab, "server", &line, "Ready to process requests")
}

fn has_detail(folder: &Folder, texts: &[&str]) -> bool {
    let detail = fs::read_to_string(folder.file("detail")).unwrap_or_default();
    let mut reports = detail.split("\n\n");
    reports.any(|report| texts.iter().all(|text| report.contains(text)))
}

#[test]
fn a_radius_server_grants_leases_beside_one_that_lies() {
    let test = "a_radius_server_grants_leases_beside_one_that_lies";
    let programs = ["udhcpc", "freeradius", "radclient", "python3"];
    let Some(lab) = { have(test, &programs) }
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let mac = mac_of_client(&lab);
    run(&lab, "client", "ip address flush dev eth0");
    let (radius, folder) = (Folder::new(), Folder::new());
    fs::write(folder.file("liar.py"), LIAR).expect("a folder of our own");
    let liar = format!("python3 {}", folder.file("liar.py").display());
    let _liar = Server::start(&lab, "server", &liar, "lies");
    let _server = free_radius(&lab, &radius, &mac, "");
    let state = folder.file("state");
    let start = |config: &'static str, state: &Path| {
        Router::start(
            &lab,
            &Start {
                state: Some(state),
                ..Start::with(PACKET, config)
            },
        )
    };
    let router = start(CONFIG, &state);

    it_is_granted_and_accounted(&lab, &router, &folder, &radius);
    it_is_changed(&lab, &router, &mac);
    // The lease outlives the router, and is granted again before it is extended.
    router.kill();
    let router = start("", &state);
    let lease = lease_of_udhcpc(&lab, &folder, "-r 10.9.0.77");
    assert_eq!(variable(&lease, "ip"), "10.9.0.77", "{lease}");
    it_is_disconnected(&lab, &router, &radius, &mac);
    a_stranger_gets_no_address(&lab, &router);
}

fn it_is_granted_and_accounted(lab: &Lab, router: &Router, folder: &Folder, radius: &Folder) {
    let lease = lease_of_udhcpc(lab, folder, "");
    assert_eq!(variable(&lease, "ip"), "10.9.0.77", "{lease}");
    assert_eq!(variable(&lease, "lease"), "600", "{lease}");
    let shown =
        router.exec("/ip/dhcp-server/lease/print detail without-paging where radius dynamic");
    for part in ["address=10.9.0.77", "status=bound", "rate-limit=\"1M/2M\""] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let queue = router.exec("/queue/simple/print detail without-paging where dynamic");
    assert!(queue.contains("max-limit=1M/2M"), "{queue}");
    let list = router.rows("/ip/firewall/address-list/print where list=paid");
    assert_eq!(list[0]["address"], "10.9.0.77", "{list:?}");
    for status in ["Start", "Interim-Update"] {
        let status = format!("Acct-Status-Type = {status}");
        let texts = [
            &status,
            "Framed-IP-Address = 10.9.0.77",
            "Class = 0x6120636c617373",
        ];
        until(&status, || has_detail(radius, &texts));
    }
    let counted = router.exec("/radius/monitor 0 once");
    for line in ["accepts: 0", "timeouts: 1"] {
        assert!(counted.contains(line), "{line}: {counted}");
    }
    assert!(!counted.contains("bad-replies: 0"), "{counted}");
}

/// A CoA request changes queue and address list of the lease; a request about a stranger is refused.
fn it_is_changed(lab: &Lab, router: &Router, mac: &str) {
    let change = |user: &str| {
        let attributes =
            format!("User-Name={user},Mikrotik-Rate-Limit=3M/4M,Mikrotik-Address-List=late");
        format!("echo {attributes} | radclient -x 203.0.113.2:3799 coa testing123")
    };
    let said = shell(lab, "server", &change(mac));
    assert!(said.contains("CoA-ACK"), "{said}");
    until("the queue has the new limit", || {
        let queue = router.exec("/queue/simple/print detail without-paging where dynamic");
        queue.contains("max-limit=3M/4M")
    });
    let lists = router.rows("/ip/firewall/address-list/print where dynamic");
    assert_eq!(lists.len(), 1, "{lists:?}");
    assert_eq!(lists[0]["list"], "late", "{lists:?}");
    let stranger = format!("{} || true", change("02:00:00:00:00:98"));
    let said = shell(lab, "server", &stranger);
    assert!(said.contains("CoA-NAK"), "{said}");
    let counted = router.exec("/radius/incoming/monitor once");
    for line in ["acks: 1", "naks: 1"] {
        assert!(counted.contains(line), "{line}: {counted}");
    }
}

fn it_is_disconnected(lab: &Lab, router: &Router, radius: &Folder, mac: &str) {
    let disconnect =
        format!("echo User-Name={mac} | radclient 203.0.113.2:3799 disconnect testing123");
    shell(lab, "server", &disconnect);
    until("the lease is gone", || {
        router.rows("/ip/dhcp-server/lease/print").is_empty()
    });
    assert!(router.rows("/queue/simple/print where dynamic").is_empty());
    until("the end is reported", || {
        has_detail(
            radius,
            &["Acct-Status-Type = Stop", "Framed-IP-Address = 10.9.0.77"],
        )
    });
}

fn a_stranger_gets_no_address(lab: &Lab, router: &Router) {
    run(
        lab,
        "client",
        "ip link set dev eth0 address 02:00:00:00:00:99",
    );
    assert!(!works(lab, "client", "udhcpc -i eth0 -f -q -n -t 2 -T 1"));
    let log = router.exec("/log/print without-paging");
    let refusal = "lan radius authentication failed for 02:00:00:00:00:99";
    assert!(log.contains(refusal), "{log}");
}

#[test]
fn leases_of_a_pool_are_accounted_without_authentication() {
    let test = "leases_of_a_pool_are_accounted_without_authentication";
    let Some(lab) = have(test, &["udhcpc", "freeradius"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let mac = mac_of_client(&lab);
    run(&lab, "client", "ip address flush dev eth0");
    let (radius, folder) = (Folder::new(), Folder::new());
    let _server = free_radius(&lab, &radius, &mac, "");
    let config = CONFIG
        .replace("use-radius=yes", "use-radius=accounting")
        .replace("authentication-port=1912 ", "");
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    let on = ["Acct-Status-Type = Accounting-On"];
    until("the start is reported", || has_detail(&radius, &on));

    let lease = lease_of_udhcpc(&lab, &folder, "");
    let address = variable(&lease, "ip");
    assert!(
        address.starts_with("10.9.0.10"),
        "the pool's, not RADIUS's: {lease}"
    );
    let address = format!("Framed-IP-Address = {address}");
    for status in ["Start", "Interim-Update"] {
        let status = format!("Acct-Status-Type = {status}");
        let texts = [&status, &address, "Acct-Authentic = Local"];
        until(&status, || has_detail(&radius, &texts));
    }
    router.exec("/ip/dhcp-server/lease/remove [find]");
    let stop = ["Acct-Status-Type = Stop", &address];
    until("the end is reported", || has_detail(&radius, &stop));
    for server in ["0", "1"] {
        let counted = router.exec(&format!("/radius/monitor {server} once"));
        assert!(counted.contains("accepts: 0"), "{counted}");
    }
}

/// Listener for RADIUS over TLS, which wants a certificate of its authority.
const SECURE: &str = "thread pool {
 start_servers = 2
 max_servers = 4
}
clients secure {
 client router {
  ipaddr = 0.0.0.0/0
  proto = tls
  secret = radsec
 }
}
listen {
 type = auth+acct
 virtual_server = default
 proto = tcp
 ipaddr = 0.0.0.0
 port = 2083
 clients = secure
 limit {
  max_connections = 16
 }
 tls {
  private_key_file = FOLDER/server.pem
  certificate_file = FOLDER/server.pem
  ca_file = FOLDER/authority.pem
  require_client_cert = yes
  tls_min_version = \"1.2\"
  tls_max_version = \"1.3\"
 }
}
";
const AUTHORITY: &str = include_str!("../../../lab/certificates/authority.pem");
const SERVER_PEM: &str = include_str!("../../../lab/certificates/far.pem");

const SECURE_CONFIG: &str = "\
/ip/address/add address=10.9.0.1/24 interface=ether2
/ip/address/add address=203.0.113.2/24 interface=ether1
/ip/pool/add name=lan ranges=10.9.0.100-10.9.0.103
/ip/dhcp-server/add name=lan interface=ether2 address-pool=lan use-radius=yes
/ip/dhcp-server/network/add address=10.9.0.0/24 gateway=10.9.0.1
/user/aaa/set use-radius=yes default-group=read
";

#[test]
fn radius_runs_over_tls_with_certificates_of_both_ends() {
    let test = "radius_runs_over_tls_with_certificates_of_both_ends";
    let Some(lab) = have(test, &["udhcpc", "freeradius", "curl"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let mac = mac_of_client(&lab);
    run(&lab, "client", "ip address flush dev eth0");
    let (radius, folder) = (Folder::new(), Folder::new());
    fs::write(radius.file("authority.pem"), AUTHORITY).expect("a folder of our own");
    fs::write(radius.file("server.pem"), SERVER_PEM).expect("a folder of our own");
    let server = free_radius(&lab, &radius, &mac, SECURE);
    let router = Router::start(&lab, &Start::with(PACKET, SECURE_CONFIG));
    // The last command is that of an IPsec identity.
    let mut commands = lab::setup(layout("everyday"), "router");
    commands.pop();
    commands.iter().for_each(|command| _ = router.exec(command));
    router.exec(
        "/radius/add service=dhcp,login address=203.0.113.1 protocol=radsec certificate=home secret=unused",
    );

    let lease = lease_of_udhcpc(&lab, &folder, "");
    assert_eq!(variable(&lease, "ip"), "10.9.0.77", "{lease}");
    let status = || router.value("/radius/print", "", "status");
    assert_eq!(status(), "connected");
    until("the lease is accounted", || {
        let texts = ["Acct-Status-Type = Start", "Framed-IP-Address = 10.9.0.77"];
        has_detail(&radius, &texts)
    });
    run(&lab, "client", "ip address add 10.9.0.77/24 dev eth0");
    let login = || {
        let line = "curl -sS -m 30 -u dave:battery http://10.9.0.1/rest/system/identity";
        text(&output(&lab, "client", line).stdout)
    };
    assert!(login().contains("ferroute"), "{}", router.log());

    // The router connects to a server that started again.
    drop(server);
    until("the connection is lost", || {
        status().contains("connection lost")
    });
    let server = free_radius(&lab, &radius, &mac, SECURE);
    let lease = lease_of_udhcpc(&lab, &folder, "");
    assert_eq!(variable(&lease, "ip"), "10.9.0.77", "{lease}");
    assert_eq!(status(), "connected");

    // Without the authority, the server is a stranger.
    drop(server);
    until("the connection is lost", || {
        status().contains("connection lost")
    });
    let _server = free_radius(&lab, &radius, &mac, SECURE);
    router.exec("/certificate/remove [find name=authority]");
    assert!(login().contains("401"));
    run(
        &lab,
        "client",
        "ip link set dev eth0 address 02:00:00:00:00:99",
    );
    assert!(!works(&lab, "client", "udhcpc -i eth0 -f -q -n -t 2 -T 2"));
    assert!(status().contains("UnknownIssuer"), "{}", status());
}
