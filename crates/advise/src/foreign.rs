//! The other end in the words of other vendors, for IKEv2 with AES-256, SHA-256, ECP-256 and a pre-shared key.

use crate::data::Need;
use crate::end::{EndText, Keys};

fn counted(name: &str, text: String) -> EndText {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    EndText {
        name: format!("{name}: {lines} lines"),
        text,
    }
}

/// Commands of Azure's command line.
pub(crate) fn azure(need: &Need, keys: &Keys) -> EndText {
    let (server, network, secret) = (&need.server, &need.server_network, &keys.secret);
    counted(
        "second site (Azure CLI)",
        format!(
            "az network local-gateway create -g GROUP -n site --gateway-ip-address {server} --local-address-prefixes \
             {network}\n\
             az network vpn-connection create -g GROUP -n site --vnet-gateway1 GATEWAY --local-gateway2 site \
             --shared-key \"{secret}\"\n\
             az network vpn-connection ipsec-policy add -g GROUP --connection-name site --ike-encryption AES256 \
             --ike-integrity SHA256 --dh-group ECP256 --ipsec-encryption GCMAES256 --ipsec-integrity GCMAES256 \
             --pfs-group ECP256 --sa-lifetime 1800 --sa-max-size 0\n"
        ),
    )
}

/// Commands of the command line of AWS.
pub(crate) fn aws(need: &Need, keys: &Keys) -> EndText {
    let (server, own, far, secret) = (
        &need.server,
        &need.server_network,
        &need.client_network,
        &keys.secret,
    );
    counted(
        "second site (AWS CLI)",
        format!(
            "aws ec2 create-customer-gateway --type ipsec.1 --public-ip {server} --bgp-asn 65000\n\
             aws ec2 create-vpn-connection --type ipsec.1 --customer-gateway-id CGW --vpn-gateway-id VGW --options \
             '{{\"StaticRoutesOnly\":true,\"LocalIpv4NetworkCidr\":\"{own}\",\"RemoteIpv4NetworkCidr\":\"{far}\",\
             \"TunnelOptions\":[{{\"PreSharedKey\":\"{secret}\",\"IKEVersions\":[{{\"Value\":\"ikev2\"}}],\
             \"Phase1EncryptionAlgorithms\":[{{\"Value\":\"AES256\"}}],\"Phase1IntegrityAlgorithms\":[{{\"Value\":\
             \"SHA2-256\"}}],\"Phase1DHGroupNumbers\":[{{\"Value\":19}}],\"Phase2EncryptionAlgorithms\":[{{\"Value\":\
             \"AES256-GCM-16\"}}],\"Phase2DHGroupNumbers\":[{{\"Value\":19}}]}}]}}'\n\
             aws ec2 create-vpn-connection-route --vpn-connection-id VPN --destination-cidr-block {own}\n"
        ),
    )
}

/// Lines of Cisco IOS, with a policy by access list.
pub(crate) fn cisco(need: &Need, keys: &Keys) -> EndText {
    let server = &need.server;
    let (own, far) = (
        wildcard(&need.client_network),
        wildcard(&need.server_network),
    );
    counted(
        "second site (Cisco IOS)",
        format!(
            "crypto ikev2 proposal SITE\n encryption aes-cbc-256\n integrity sha256\n prf sha256\n group 19\n\
             crypto ikev2 policy SITE\n proposal SITE\n\
             crypto ikev2 keyring SITE\n peer SITE\n  address {server}\n  pre-shared-key {}\n\
             crypto ikev2 profile SITE\n match identity remote address {server} 255.255.255.255\n \
             authentication remote pre-share\n authentication local pre-share\n keyring local SITE\n\
             crypto ipsec transform-set SITE esp-gcm 256\n mode tunnel\n\
             ip access-list extended SITE\n permit ip {own} {far}\n\
             crypto map SITE 10 ipsec-isakmp\n set peer {server}\n set transform-set SITE\n set pfs group19\n \
             set ikev2-profile SITE\n match address SITE\n\
             interface GigabitEthernet0/0\n crypto map SITE\n",
            keys.secret
        ),
    )
}

/// Returns a prefix as address and wildcard mask.
fn wildcard(network: &str) -> String {
    let (address, len) = network.split_once('/').unwrap_or((network, "32"));
    let len: u32 = len.parse().unwrap_or(32).min(32);
    let mask = u32::MAX.checked_shr(len).unwrap_or(0);
    format!("{address} {}", std::net::Ipv4Addr::from(mask))
}
