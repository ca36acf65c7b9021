//! Files of clients: WireGuard, OpenVPN, strongSwan, Windows, and profiles of Apple's systems.

use crate::data::Need;
use crate::end::{EndText, Keys};

fn file(name: &str, text: String) -> EndText {
    EndText {
        name: name.to_owned(),
        text,
    }
}

/// File for `wg-quick` and the programs of WireGuard.
pub(crate) fn wireguard(need: &Need, keys: &Keys) -> EndText {
    file(
        "user1.conf (WireGuard)",
        format!(
            "[Interface]\nPrivateKey = {}\nAddress = 10.99.0.2/32\n\n[Peer]\nPublicKey = {}\nPresharedKey = {}\n\
             Endpoint = {}:51820\nAllowedIPs = 10.99.0.1/32, {}\nPersistentKeepalive = 25\n",
            keys.client[0], keys.server[1], keys.preshared, need.server, need.server_network
        ),
    )
}

/// File for OpenVPN; the certificates are exported on the server.
pub(crate) fn openvpn(need: &Need, protocol: &str, port: u16) -> EndText {
    let (network, len) = need
        .server_network
        .split_once('/')
        .unwrap_or((&need.server_network, "32"));
    let len: u32 = len.parse().unwrap_or(32).min(32);
    let mask = std::net::Ipv4Addr::from(u32::MAX.checked_shl(32 - len).unwrap_or(0));
    file(
        "user1.ovpn (OpenVPN; certificates by /certificate/export-certificate vpn-ca and user1)",
        format!(
            "client\ndev tun\nproto {protocol}\nremote {} {port}\nnobind\npersist-key\npersist-tun\n\
             remote-cert-tls server\nverify-x509-name {} name\ncipher AES-256-GCM\ndata-ciphers AES-256-GCM\n\
             auth SHA256\ntls-version-min 1.2\nauth-user-pass\nroute {network} {mask}\nca vpn-ca.crt\n\
             cert user1.crt\nkey user1.key\n",
            need.server, need.server
        ),
    )
}

/// Files of IKEv2 with a certificate: strongSwan, PowerShell of Windows, and a profile of Apple's systems.
pub(crate) fn ike2(need: &Need) -> Vec<EndText> {
    let (server, network) = (&need.server, &need.server_network);
    vec![
        file(
            "swanctl.conf (strongSwan)",
            format!(
                "connections {{\n  office {{\n    version = 2\n    remote_addrs = {server}\n    vips = 0.0.0.0\n    \
                 proposals = aes256-sha256-ecp256\n    local {{\n      auth = pubkey\n      certs = user1.crt\n      \
                 id = user1@vpn\n    }}\n    remote {{\n      auth = pubkey\n      id = {server}\n    }}\n    children \
                 {{\n      office {{\n        remote_ts = {network}\n        esp_proposals = aes256gcm16\n        \
                 start_action = start\n      }}\n    }}\n  }}\n}}\n"
            ),
        ),
        file(
            "office.ps1 (Windows PowerShell, as administrator)",
            format!(
                "Import-PfxCertificate -FilePath user1.p12 -CertStoreLocation Cert:\\LocalMachine\\My -Password \
                 (Read-Host -AsSecureString)\nImport-Certificate -FilePath vpn-ca.crt -CertStoreLocation \
                 Cert:\\LocalMachine\\Root\nAdd-VpnConnection -Name office -ServerAddress {server} -TunnelType Ikev2 \
                 -AuthenticationMethod MachineCertificate -EncryptionLevel Maximum -SplitTunneling\n\
                 Set-VpnConnectionIPsecConfiguration -ConnectionName office -EncryptionMethod AES256 \
                 -IntegrityCheckMethod SHA256 -DHGroup ECP256 -CipherTransformConstants GCMAES256 \
                 -AuthenticationTransformConstants GCMAES256 -PfsGroup None -Force\n\
                 Add-VpnConnectionRoute -ConnectionName office -DestinationPrefix {network}\n"
            ),
        ),
        file("office.mobileconfig (macOS and iOS)", mobileconfig(server)),
    ]
}

/// Returns a profile with the certificate of the authority, and with that of the user, whose password it asks for.
fn mobileconfig(server: &str) -> String {
    let identifier = "vpn.office";
    let algorithms = "<dict><key>EncryptionAlgorithm</key><string>AES-256-GCM</string>\
                      <key>IntegrityAlgorithm</key><string>SHA2-256</string><key>DiffieHellmanGroup</key>\
                      <integer>19</integer></dict>";
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n\
         <key>PayloadType</key><string>Configuration</string>\n<key>PayloadVersion</key><integer>1</integer>\n\
         <key>PayloadIdentifier</key><string>{identifier}</string>\n<key>PayloadUUID</key>\
         <string>6E1B9C1E-0B7D-4E63-9B6C-5C3A5A1F0001</string>\n<key>PayloadDisplayName</key><string>office</string>\n\
         <key>PayloadContent</key>\n<array>\n<dict>\n<key>PayloadType</key><string>com.apple.vpn.managed</string>\n\
         <key>PayloadVersion</key><integer>1</integer>\n<key>PayloadIdentifier</key><string>{identifier}.ike</string>\n\
         <key>PayloadUUID</key><string>6E1B9C1E-0B7D-4E63-9B6C-5C3A5A1F0002</string>\n\
         <key>UserDefinedName</key><string>office</string>\n<key>VPNType</key><string>IKEv2</string>\n\
         <key>IKEv2</key>\n<dict>\n<key>RemoteAddress</key><string>{server}</string>\n\
         <key>RemoteIdentifier</key><string>{server}</string>\n<key>LocalIdentifier</key><string>user1@vpn</string>\n\
         <key>AuthenticationMethod</key><string>Certificate</string>\n\
         <key>CertificateType</key><string>ECDSA256</string>\n\
         <key>PayloadCertificateUUID</key><string>6E1B9C1E-0B7D-4E63-9B6C-5C3A5A1F0003</string>\n\
         <key>IKESecurityAssociationParameters</key>{algorithms}\n\
         <key>ChildSecurityAssociationParameters</key>{algorithms}\n</dict>\n</dict>\n<dict>\n\
         <key>PayloadType</key><string>com.apple.security.pkcs12</string>\n<key>PayloadVersion</key>\
         <integer>1</integer>\n<key>PayloadIdentifier</key><string>{identifier}.user</string>\n\
         <key>PayloadUUID</key><string>6E1B9C1E-0B7D-4E63-9B6C-5C3A5A1F0003</string>\n\
         <key>PayloadContent</key><data>BASE64 OF user1.p12</data>\n</dict>\n<dict>\n\
         <key>PayloadType</key><string>com.apple.security.root</string>\n<key>PayloadVersion</key>\
         <integer>1</integer>\n<key>PayloadIdentifier</key><string>{identifier}.ca</string>\n\
         <key>PayloadUUID</key><string>6E1B9C1E-0B7D-4E63-9B6C-5C3A5A1F0004</string>\n\
         <key>PayloadContent</key><data>BASE64 OF vpn-ca.crt (DER)</data>\n</dict>\n</array>\n</dict>\n</plist>\n"
    )
}
