//! Carriers of PPP for tests that are alike over each: two routers with a session, and a guest with pppd.

use lab::Lab;

use crate::guest::{Guest, guest};
use crate::pppoe::start;
use crate::world::{Folder, Router, shell, works};

/// A carrier, between the router `left` (client) and the router `right` (server).
pub(crate) struct Carrier {
    /// Name of the service: `pppoe`.
    pub(crate) service: &'static str,
    /// What a server needs beside bridge, addresses and users; begins with the menu of the server.
    server: &'static str,
    /// Parameters of a client that lead to the server.
    dial: &'static str,
    /// Addresses of the routers on the link between them.
    addresses: [&'static str; 2],
    /// MTU of a session in bytes.
    pub(crate) mtu: u16,
    /// Encoding of a session whose profile requires encryption.
    pub(crate) encoding: &'static str,
    /// Setting of a client that soon notices the end of its server.
    pub(crate) keepalive: &'static str,
    /// Clients have `use-peer-dns`.
    pub(crate) learns_dns: bool,
    /// Commands by which a started server begins to serve.
    begin: &'static [&'static str],
    /// Matchers of the rules of `input` that a server behind a closed firewall needs.
    pub(crate) accepts: &'static [&'static str],
}

pub(crate) const PPPOE: Carrier = Carrier {
    service: "pppoe",
    server: "/interface pppoe-server server add service-name=isp interface=ether2 disabled=no",
    dial: "interface=ether2",
    addresses: ["", ""],
    mtu: 1492,
    encoding: MPPE,
    keepalive: "keepalive-timeout=2",
    learns_dns: true,
    begin: &[],
    accepts: &[],
};
pub(crate) const L2TP: Carrier = Carrier {
    service: "l2tp",
    server: "/interface l2tp-server server set enabled=yes",
    dial: "connect-to=192.0.2.2",
    addresses: ROUTED,
    mtu: 1450,
    encoding: MPPE,
    keepalive: "keepalive-timeout=2",
    learns_dns: true,
    begin: &[],
    accepts: &["protocol=udp dst-port=1701"],
};
pub(crate) const PPTP: Carrier = Carrier {
    service: "pptp",
    server: "/interface pptp-server server set enabled=yes",
    dial: "connect-to=192.0.2.2",
    addresses: ROUTED,
    mtu: 1450,
    encoding: MPPE,
    keepalive: "keepalive-timeout=2",
    learns_dns: true,
    begin: &[],
    accepts: &["protocol=tcp dst-port=1723", "protocol=gre"],
};
pub(crate) const SSTP: Carrier = Carrier {
    service: "sstp",
    server: "/interface sstp-server server set",
    dial: "connect-to=192.0.2.2",
    addresses: ROUTED,
    mtu: 1500,
    encoding: "AES256-GCM-SHA384",
    keepalive: "keepalive-timeout=2",
    learns_dns: false,
    begin: &[
        "/certificate/add name=vpn common-name=server subject-alt-name=IP:192.0.2.2,IP:192.0.2.1 \
         key-usage=key-cert-sign,digital-signature,tls-server key-size=prime256v1",
        "/certificate/sign vpn",
        "/interface/sstp-server/server/set enabled=yes certificate=vpn",
    ],
    accepts: &["protocol=tcp dst-port=443"],
};
pub(crate) const OVPN: Carrier = Carrier {
    service: "ovpn",
    server: "/interface ovpn-server server add name=ovpn1 protocol=udp cipher=aes256-gcm keepalive-timeout=2",
    dial: "connect-to=192.0.2.2 protocol=udp cipher=aes256-gcm",
    addresses: ROUTED,
    mtu: 1500,
    encoding: "AES-256-GCM",
    keepalive: "",
    learns_dns: true,
    begin: &[
        "/certificate/add name=vpn common-name=server key-usage=key-cert-sign,digital-signature,tls-server \
         key-size=prime256v1",
        "/certificate/sign vpn",
        "/interface/ovpn-server/server/set ovpn1 certificate=vpn disabled=no",
    ],
    accepts: &["protocol=udp dst-port=1194"],
};
/// OpenVPN by TCP, RouterOS's default.
pub(crate) const OVPN_TCP: Carrier = Carrier {
    server: "/interface ovpn-server server add name=ovpn1 protocol=tcp cipher=aes256-gcm keepalive-timeout=2",
    dial: "connect-to=192.0.2.2 protocol=tcp cipher=aes256-gcm",
    accepts: &["protocol=tcp dst-port=1194"],
    ..OVPN
};
/// Encoding of a session encrypted by MPPE.
const MPPE: &str = "MPPE128 stateless";
/// Addresses of the routers on the link, for carriers over IP.
const ROUTED: [&str; 2] = [
    "/ip address add address=192.0.2.1/24 interface=ether2\n",
    "/ip address add address=192.0.2.2/24 interface=ether2\n",
];

impl Carrier {
    /// Returns the name of the client's interface.
    pub(crate) fn client(&self) -> String {
        format!("{}-out1", self.service)
    }

    /// Returns the configuration of a server with the profile `home` and the user `anna`.
    pub(crate) fn server_config(&self, settings: &str) -> String {
        let Self {
            service, server, ..
        } = self;
        let [_, address] = self.addresses;
        format!(
            "/system identity set name=server\n{address}/ppp profile add name=home\n\
             /ppp secret add name=anna password=geheim profile=home service={service}\n\
             {server} default-profile=home {settings}\n"
        )
    }

    /// Returns the configuration of a client of the user `anna`.
    pub(crate) fn client_config(&self, settings: &str) -> String {
        let Self { service, dial, .. } = self;
        let [address, _] = self.addresses;
        format!(
            "{address}/interface {service}-client add name={service}-out1 {dial} user=anna password=geheim disabled=no \
             {settings}\n"
        )
    }

    /// Returns the configuration of a server that routes to the host `two`.
    pub(crate) fn routed_server_config(&self) -> String {
        let routed = "/ip address add address=10.2.0.1/24 interface=ether1\n\
            /ip pool add name=users ranges=10.64.0.2-10.64.0.99\n\
            /ppp profile set home local-address=10.64.0.1 remote-address=users dns-server=10.64.0.53\n";
        [&self.server_config(""), routed].concat()
    }

    /// Starts a server that routes to the host `two`.
    pub(crate) fn serve(&self, lab: &Lab, more: &str) -> Router {
        let config = [&self.routed_server_config(), more].concat();
        let server = start(lab, "right", &config, None);
        self.begin(&server);
        server
    }

    /// Returns the command that configures the server, without a profile.
    pub(crate) const fn server_command(&self) -> &'static str {
        self.server
    }

    /// Returns the parameters of a client, without the address of its server.
    pub(crate) fn dial_options(&self) -> &'static str {
        let (_, options) = self.dial.split_once(' ').unwrap_or_default();
        options
    }

    /// Lets a started server begin to serve.
    pub(crate) fn begin(&self, server: &Router) {
        for command in self.begin {
            server.exec(command);
        }
    }

    /// Returns the configuration of a client behind which the network of the host `one` is masqueraded.
    pub(crate) fn routed_client_config(&self, settings: &str) -> String {
        let dns = if self.learns_dns {
            "use-peer-dns=yes"
        } else {
            ""
        };
        let settings = format!("add-default-route=yes {dns} {settings}");
        let routed = format!(
            "/ip address add address=10.1.0.1/24 interface=ether1\n\
             /ip firewall nat add chain=srcnat action=masquerade out-interface={}\n",
            self.client()
        );
        [self.client_config(&settings), routed].concat()
    }

    /// Starts a client behind which the network of the host `one` is masqueraded.
    pub(crate) fn dial(&self, lab: &Lab, settings: &str) -> Router {
        start(lab, "left", &self.routed_client_config(settings), None)
    }

    /// Changes a setting of the server.
    pub(crate) fn set_server(&self, server: &Router, setting: &str) {
        let which = if self.service == "pppoe" {
            "[find] "
        } else {
            ""
        };
        let menu = format!("/interface/{}-server/server/set", self.service);
        server.exec(&format!("{menu} {which}{setting}"));
    }

    /// Changes a setting of the client.
    pub(crate) fn set_client(&self, client: &Router, setting: &str) {
        let menu = format!("/interface/{}-client/set", self.service);
        client.exec(&format!("{menu} {} {setting}", self.client()));
    }

    /// Returns a value of the client's page `monitor`.
    pub(crate) fn monitor(&self, client: &Router, cell: &str) -> String {
        let command = format!("/interface/{}-client/monitor", self.service);
        let name = self.client();
        let said = client.exec(&format!(
            ":put ([{command} {name} once as-value]->\"{cell}\")"
        ));
        said.trim().to_owned()
    }

    /// Boots a guest in place of the router `left` or `right`, with its address on the link, device nodes, modules, and
    /// a writable folder for pppd's secrets.
    pub(crate) fn guest(&self, test: &str, lab: &Lab, host: &str, modules: &str) -> Option<Guest> {
        // The link is the guest's alone.
        shell(
            lab,
            host,
            "echo 1 > /proc/sys/net/ipv6/conf/ether2/disable_ipv6; ip link set ether2 promisc on",
        );
        let mut guest = guest(test, lab, (host, "ether2"), Folder::new())?;
        guest.load(&format!("ppp_generic ppp_async {modules}"));
        guest.run(DEVICES);
        let address = match (self.service, host) {
            ("pppoe", _) => String::new(),
            (_, "left") => "ip address add 192.0.2.1/24 dev vec0".to_owned(),
            _ => "ip address add 192.0.2.2/24 dev vec0".to_owned(),
        };
        guest.run(&format!(
            "ip link set vec0 up; {address}
mount -t tmpfs ppp /etc/ppp; touch /etc/ppp/options
echo 'anna * geheim *' > /etc/ppp/chap-secrets; cp /etc/ppp/chap-secrets /etc/ppp/pap-secrets"
        ));
        Some(guest)
    }
}

/// Device nodes that pppd needs; the guest sees those of this machine, which may lack them.
const DEVICES: &str = "mount -t tmpfs dev /dev; mkdir /dev/pts; mount -t devpts devpts /dev/pts
mknod /dev/ppp c 108 0; mknod /dev/ptmx c 5 2; mknod /dev/null c 1 3; mknod /dev/tty c 5 0
mknod /dev/urandom c 1 9; mknod /dev/random c 1 8";

/// Returns pppd's options that refuse all methods but one.
pub(crate) fn only(method: &str) -> String {
    let all = ["pap", "chap", "mschap", "mschap-v2", "eap"];
    let others = all.into_iter().filter(|other| *other != method);
    let refused: Vec<_> = others.map(|other| format!("refuse-{other}")).collect();
    refused.join(" ")
}

/// Whether the host `one` reaches an address, with more options of ping.
pub(crate) fn reaches(lab: &Lab, more: &str, address: &str) -> bool {
    works(lab, "one", &format!("ping -q -c 1 -W 1 {more} {address}"))
}

/// Returns the encoding of the only session of a server.
pub(crate) fn encoding(server: &Router) -> String {
    let rows = server.rows("/ppp/active/print");
    let encoding = rows.first().map(|row| row["encoding"].to_string());
    encoding.unwrap_or_default().trim_matches('"').to_owned()
}

/// Asserts that a router has not dropped packets under a name that contains one of these words.
pub(crate) fn no_drops(router: &Router, words: &[&str]) {
    let drops = router.exec("/tool/drop/print without-paging");
    for word in words {
        assert!(!drops.contains(word), "{drops}");
    }
}
