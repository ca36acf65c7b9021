//! Commands of a server for single users, and their files.

use crate::branch::accept;
use crate::client;
use crate::data::Need;
use crate::end::{EndText, Keys};

/// Port of WireGuard.
const PORT: u16 = 51820;

fn server(text: String) -> EndText {
    EndText {
        name: "server (RouterOS)".to_owned(),
        text,
    }
}

/// Puts an interface into the list of the inside, if the configuration has one.
fn inside(interface: &str) -> String {
    format!(
        ":if ([:len [/interface/list/find name=LAN]] > 0) do={{ /interface/list/member/add list=LAN \
         interface={interface} }}\n"
    )
}

pub(crate) fn wireguard(need: &Need, keys: &Keys) -> Vec<EndText> {
    let commands = format!(
        "/interface/wireguard/add name=wg-users listen-port={PORT} private-key=\"{}\"\n\
         /ip/address/add address=10.99.0.1/24 interface=wg-users\n\
         /interface/wireguard/peers/add interface=wg-users name=user1 public-key=\"{}\" preshared-key=\"{}\" \
         allowed-address=10.99.0.2/32\n{}{}",
        keys.server[0],
        keys.client[1],
        keys.preshared,
        inside("wg-users"),
        accept(&format!("protocol=udp dst-port={PORT}"), "WireGuard"),
    );
    vec![server(commands), client::wireguard(need, keys)]
}

/// Commands that create an authority, a certificate of the server, and one of a user.
fn certificates(need: &Need) -> String {
    let name = &need.server;
    let kind = match name.parse::<std::net::IpAddr>() {
        Ok(_) => "IP",
        Err(_) => "DNS",
    };
    format!(
        "/certificate/add name=vpn-ca common-name=vpn-ca key-usage=key-cert-sign,crl-sign key-size=prime256v1 \
         days-valid=3650\n/certificate/sign vpn-ca\n/certificate/set vpn-ca trusted=yes\n\
         /certificate/add name=vpn-server common-name={name} subject-alt-name={kind}:{name} \
         key-usage=digital-signature,key-encipherment,tls-server key-size=prime256v1 days-valid=800\n\
         /certificate/sign vpn-server ca=vpn-ca\n\
         /certificate/add name=user1 common-name=user1 subject-alt-name=email:user1@vpn \
         key-usage=digital-signature,tls-client key-size=prime256v1 days-valid=800\n\
         /certificate/sign user1 ca=vpn-ca\n\
         :if ([/system/ntp/client/get enabled] = false) do={{ /system/ntp/client/set enabled=yes \
         servers=pool.ntp.org }}\n"
    )
}

pub(crate) fn openvpn(need: &Need, keys: &Keys) -> Vec<EndText> {
    let (protocol, port) = match need.only_https {
        true => ("tcp", 443),
        false => ("udp", 1194),
    };
    let commands = format!(
        "{}/ip/pool/add name=vpn-users ranges=10.99.1.10-10.99.1.99\n\
         /ppp/profile/add name=vpn-users local-address=10.99.1.1 remote-address=vpn-users\n\
         /ppp/secret/add name=user1 password=\"{}\" profile=vpn-users service=ovpn\n\
         /interface/ovpn-server/server/add name=ovpn-users port={port} protocol={protocol} certificate=vpn-server \
         require-client-certificate=yes auth=sha256 cipher=aes256-gcm default-profile=vpn-users \
         user-auth-method=mschap2 tls-version=only-1.2 disabled=no\n{}",
        certificates(need),
        keys.secret,
        accept(&format!("protocol={protocol} dst-port={port}"), "OpenVPN"),
    );
    vec![server(commands), client::openvpn(need, protocol, port)]
}

pub(crate) fn ike2(need: &Need) -> Vec<EndText> {
    let network = &need.server_network;
    let commands = format!(
        "{}/ip/pool/add name=vpn-users ranges=10.99.2.10-10.99.2.99\n\
         /ip/ipsec/mode-config/add name=users address-pool=vpn-users address-prefix-length=32 \
         split-include={network}\n\
         /ip/ipsec/policy/group/add name=users\n\
         /ip/ipsec/profile/add name=users hash-algorithm=sha256 enc-algorithm=aes-256 dh-group=ecp256,modp2048\n\
         /ip/ipsec/proposal/add name=users enc-algorithms=aes-256-gcm,aes-256-cbc auth-algorithms=sha256 \
         pfs-group=none\n\
         /ip/ipsec/policy/add template=yes group=users src-address=0.0.0.0/0 dst-address=10.99.2.0/24 proposal=users\n\
         /ip/ipsec/peer/add name=users passive=yes exchange-mode=ike2 profile=users\n\
         /ip/ipsec/identity/add peer=users auth-method=digital-signature certificate=vpn-server my-id=auto \
         generate-policy=port-strict policy-template-group=users mode-config=users\n{}{}",
        certificates(need),
        accept("protocol=udp dst-port=500,4500", "IKE"),
        accept("protocol=ipsec-esp", "ESP"),
    );
    let mut texts = vec![server(commands)];
    texts.extend(client::ike2(need));
    texts
}
