//! Tests the shared mirror of all tunnels in the host plane: services at the addresses of tunnels.
//!
//! The sites are those of `ipsec.rs`.

use std::path::Path;
use std::process::{Command, Stdio};

use lab::Lab;

use crate::ipsec::SITES;
use crate::world::{
    Folder, PACKET, Router, Server, Start, binary, have, lab, run, shell, text, until,
};

/// Returns a command that runs in the host plane of a router.
fn inside(router: &Router) -> Command {
    let mut command = Command::new(binary());
    command
        .args(["host", "exec", "--control"])
        .arg(router.control())
        .arg("--")
        .stdin(Stdio::null());
    command
}

/// Returns the devices of the host plane.
fn devices(router: &Router) -> Vec<String> {
    let mut command = inside(router);
    let shown = command.args(["ip", "-o", "link", "show"]).output();
    let said = text(&shown.expect("the binary is there").stdout);
    let name = |line: &str| Some(line.split(": ").nth(1)?.to_owned());
    said.lines().filter_map(name).collect()
}

fn start(lab: &Lab, host: &'static str, config: &str, state: Option<&Path>) -> Router {
    let start = Start {
        host,
        state,
        ..Start::with(PACKET, config)
    };
    Router::start(lab, &start)
}

/// Kinds of tunnels, with the additional properties of their ends.
const KINDS: [(&str, &str); 6] = [
    ("ipip", ""),
    ("gre", ""),
    ("gre6", "6"),
    ("ipipv6", "6"),
    ("ipip", "ipsec-secret=secret allow-fast-path=no"),
    ("gre", ""),
];

/// Configures a tunnel of each kind to the other site; the last tunnel is between further addresses.
fn tunnels(site: u8, other: u8) -> String {
    let mut config = format!(
        "/ip address add address=10.{site}.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.{site}/24 interface=ether2\n\
         /ip address add address=192.0.2.1{site}/24 interface=ether2\n\
         /ipv6 address add address=2001:db8:2::{site}/64 interface=ether2 no-dad=yes advertise=no\n\
         /ip route add dst-address=10.{other}.0.0/24 gateway=192.0.2.{other}\n\
         /ip dns set allow-remote-requests=yes\n\
         /ip dns static add name=router.test address=198.51.100.7\n"
    );
    for (number, (kind, more)) in KINDS.iter().enumerate() {
        let (near, far, more) = match (*more, number) {
            ("6", _) => (
                format!("2001:db8:2::{site}"),
                format!("2001:db8:2::{other}"),
                "",
            ),
            (more, 4..) => (
                format!("192.0.2.1{site}"),
                format!("192.0.2.1{other}"),
                more,
            ),
            (more, _) => (format!("192.0.2.{site}"), format!("192.0.2.{other}"), more),
        };
        config += &format!(
            "/interface {kind} add name=t{number} local-address={near} remote-address={far} {more}\n\
             /ip address add address=172.16.{number}.{site}/30 interface=t{number}\n\
             /ipv6 address add address=2001:db8:16:1{number}::{site}/64 interface=t{number} no-dad=yes \
             advertise=no\n"
        );
    }
    config
}

/// Prints the answers of SSH, the API, and DNS by TCP and UDP at each address.
const ASK: &str = "import socket,struct,sys\n\
    q=b'\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x06router\\x04test\\0\\0\\x01\\0\\x01'\n\
    def tcp(a,port):\n\
    \x20s=socket.create_connection((a,port),10);return s\n\
    def exactly(s,n):\n\
    \x20b=b''\n\
    \x20while len(b)<n:\n\
    \x20\x20got=s.recv(n-len(b))\n\
    \x20\x20if not got: break\n\
    \x20\x20b+=got\n\
    \x20return b\n\
    for a in sys.argv[1:]:\n\
    \x20said=[]\n\
    \x20try:\n\
    \x20\x20said.append(exactly(tcp(a,22),7).decode())\n\
    \x20\x20s=tcp(a,8728);s.sendall(b'\\x04/foo\\0');said.append(str(len(s.recv(1))))\n\
    \x20\x20s=tcp(a,53);s.sendall(struct.pack('>H',len(q))+q)\n\
    \x20\x20r=exactly(s,struct.unpack('>H',exactly(s,2))[0]);said.append('.'.join(map(str,r[-4:])))\n\
    \x20\x20s=socket.socket(socket.AF_INET6 if ':' in a else socket.AF_INET,socket.SOCK_DGRAM)\n\
    \x20\x20s.settimeout(10);s.sendto(q,(a,53));said.append('.'.join(map(str,s.recv(512)[-4:])))\n\
    \x20except OSError as e: said.append(str(e))\n\
    \x20print(a,*said)\n";

fn all_services_answer(lab: &Lab, left: &Router) {
    let numbers = 0..KINDS.len();
    let ipv4 = numbers.map(|number| format!("172.16.{number}.1"));
    let addresses: Vec<_> = ipv4.collect();
    let mut argv = ["python3", "-c", ASK].map(str::to_owned).to_vec();
    argv.extend(addresses.iter().cloned());
    let command = lab.command_line("two", &argv);
    let output = command.expect("a host of the layout").output();
    let said = text(&output.expect("nsenter is there: it made the lab").stdout);
    let answers = "SSH-2.0 1 198.51.100.7 198.51.100.7";
    let expected = addresses
        .iter()
        .map(|address| format!("{address} {answers}"));
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        expected.collect::<Vec<_>>(),
        "{}",
        left.log()
    );
}

/// Connects to SSH at the IPv6 address of each tunnel, from the host plane of the other router. Returns the greetings.
fn other_end_reaches(right: &Router) -> Vec<String> {
    let mut command = inside(right);
    command.args(["python3", "-c"]).arg(
        "import socket,sys\n\
         for a in sys.argv[1:]:\n\
         \x20try:\n\
         \x20\x20s=socket.create_connection((a,22),10);print(s.getsockname()[0],s.recv(7).decode())\n\
         \x20except OSError as e: print(a,e)\n",
    );
    for number in 0..KINDS.len() {
        command.arg(format!("172.16.{number}.1"));
        command.arg(format!("2001:db8:16:1{number}::1"));
    }
    let output = command.output().expect("the binary is there");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn services_are_reachable_over_all_tunnels_which_share_one_device() {
    let test = "services_are_reachable_over_all_tunnels_which_share_one_device";
    let Some(lab) = have(test, &["python3", "ip"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let state = folder.file("state");
    let right = start(&lab, "right", &tunnels(2, 1), None);
    let mut left = start(&lab, "left", &tunnels(1, 2), Some(&state));
    for round in 0..2 {
        assert_eq!(
            devices(&left).len(),
            4,
            "lo, a mirror for each port and one for all tunnels: {:?}",
            devices(&left)
        );
        until("the last tunnel works", || {
            let last = KINDS.len() - 1;
            crate::world::works(&lab, "two", &format!("ping -q -c 1 -W 1 172.16.{last}.1"))
                && crate::world::works(&lab, "two", "ping -q -c 1 -W 1 172.16.4.1")
        });
        all_services_answer(&lab, &left);
        // A socket without a source address gets the address of the tunnel to its peer.
        let expected = (0..KINDS.len()).flat_map(|number| {
            [
                format!("172.16.{number}.2 SSH-2.0"),
                format!("2001:db8:16:1{number}::2 SSH-2.0"),
            ]
        });
        assert_eq!(other_end_reaches(&right), expected.collect::<Vec<_>>());
        if round == 0 {
            left.kill();
            left = start(&lab, "left", "", Some(&state));
        }
    }
    left.exec("/interface ipip remove [find]; /interface gre remove [find]");
    until("addresses go with their tunnels", || {
        let mut command = inside(&left);
        command.args([
            "ip", "-4", "route", "show", "table", "all", "dev", "mirror0",
        ]);
        let output = command.output().expect("the binary is there");
        let shown = text(&output.stdout);
        shown.matches("local 172.16.").count() == 2
    });
}

/// Starts a WireGuard peer of the router on a host, with address `fe80::2`.
fn peer(lab: &Lab, folder: &Folder, host: &'static str, router: &str, key: &str) -> Server {
    let file = folder.file(host);
    std::fs::write(&file, run(lab, host, "wg genkey")).expect("a folder of our own");
    let script = format!(
        "mkdir -p /run/wireguard && mount -t tmpfs tmpfs /run/wireguard
         wireguard-go wg0 >/dev/null 2>&1 || exit 1
         wg set wg0 listen-port 13231 private-key {}
         wg set wg0 peer {key} allowed-ips fe80::/64 endpoint {router} persistent-keepalive 1
         ip link set wg0 addrgenmode none; ip address add fe80::2/64 dev wg0 nodad; ip link set wg0 mtu 1420 up
         echo up; exec sleep infinity",
        file.display()
    );
    let argv = ["unshare", "-m", "sh", "-c", &script].map(str::to_owned);
    let command = lab.command_line(host, &argv);
    Server::begin(command.expect("a host of the layout"), "up")
}

/// A server that answers each datagram from a new socket, to port 9999 of the sender, with the sender's address.
const SERVE: &str = "import socket\n\
    u=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM);u.bind(('::',7777))\n\
    print('listening',flush=True)\n\
    while True:\n\
    \x20_,a=u.recvfrom(9)\n\
    \x20socket.socket(socket.AF_INET6,socket.SOCK_DGRAM).sendto(a[0].encode(),(a[0],9999,0,a[3]))\n";

/// A client that queries that server, and connects to SSH from a port that is equal on both hosts.
const MEET: &str = "import socket,sys\n\
    at=socket.if_nametoindex('wg0')\n\
    u=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM);u.bind(('::',9999));u.settimeout(1)\n\
    for _ in range(20):\n\
    \x20u.sendto(b'?',('fe80::1',7777,0,at))\n\
    \x20try: seen,a=u.recvfrom(99);break\n\
    \x20except OSError: pass\n\
    s=socket.socket(socket.AF_INET6);s.settimeout(20);s.bind(('::',4000));s.connect(('fe80::1',22,0,at))\n\
    print(a[0].split('%')[0],s.recv(7).decode(),seen.decode(),flush=True);sys.stdin.read()\n";

#[test]
fn link_local_peers_of_tunnels_have_distinct_addresses_in_the_host_plane() {
    let test = "link_local_peers_of_tunnels_have_distinct_addresses_in_the_host_plane";
    let programs = ["python3", "ip", "wg", "wireguard-go"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    shell(&lab, "right", "ip address add 192.0.2.2/24 dev ether2");
    let left = start(
        &lab,
        "left",
        "/ip address add address=10.1.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.1/24 interface=ether2\n\
         /interface wireguard add name=w1 listen-port=13231\n\
         /interface wireguard add name=w2 listen-port=13232\n\
         /ipv6 address add address=fe80::1/64 interface=w1 no-dad=yes advertise=no\n\
         /ipv6 address add address=fe80::1/64 interface=w2 no-dad=yes advertise=no\n",
        None,
    );
    let folder = Folder::new();
    let mut peers = Vec::new();
    for (host, interface, endpoint) in [
        ("one", "w1", "10.1.0.1:13231"),
        ("right", "w2", "192.0.2.1:13232"),
    ] {
        let key = left.value("/interface/wireguard/print", interface, "public-key");
        peers.push(peer(&lab, &folder, host, endpoint, &key));
        let file = folder.file(host);
        let theirs = shell(&lab, host, &format!("wg pubkey < {}", file.display()));
        left.exec(&format!(
            "/interface/wireguard/peers add interface={interface} allowed-address=fe80::2/128 public-key=\"{}\"",
            theirs.trim()
        ));
    }
    let mut server = inside(&left);
    server.args(["python3", "-c", SERVE]).stderr(Stdio::null());
    let _server = Server::begin(server, "listening");

    let argv = ["python3", "-c", MEET].map(str::to_owned);
    let meet = |host| {
        let mut command = lab.command_line(host, &argv).expect("a host of the layout");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("nsenter is there: it made the lab")
    };
    // Both connections are open at the same time, between equal addresses and ports.
    let both = ["one", "right"].map(meet);
    let said = both.map(|mut client| {
        let mut line = String::new();
        let out = client.stdout.take().expect("it is piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line)
            .expect("a line of ours");
        (client, line)
    });
    let lines: Vec<_> = said.iter().map(|(_, line)| line.trim()).collect();
    let seen: Vec<_> = lines
        .iter()
        .map(|line| line.strip_prefix("fe80::1 SSH-2.0 ").unwrap_or_default())
        .collect();
    for address in &seen {
        assert!(address.starts_with("fe80:0:"), "{lines:?}\n{}", left.log());
        assert!(address.contains("::2"), "{lines:?}");
    }
    assert_ne!(seen[0], seen[1], "{lines:?}");
    for (mut client, _) in said {
        drop(client.stdin.take());
        client.wait().expect("our child");
    }
}
