//! Writes client configuration files.

use core::fmt::Write as _;

use super::ClientFile;
use crate::options::Device;
use crate::path::Transport;
use crate::suite::Digest;

impl ClientFile {
    /// Returns the text of the file, which OpenVPN 2.4 and later read. A control key is not written.
    pub fn encode(&self) -> String {
        let mut text = String::from("client\n");
        let mut line = |words: &[&str]| _ = writeln!(text, "{}", words.join(" "));
        let device = match self.device {
            Device::Tun => "tun",
            Device::Tap => "tap",
        };
        line(&["dev", device]);
        let proto = match self.transport {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp-client",
        };
        line(&["proto", proto]);
        line(&["remote", &self.host, &self.port.to_string()]);
        for word in ["nobind", "persist-key", "persist-tun"] {
            line(&[word]);
        }
        if self.verifies_use {
            line(&["remote-cert-tls", "server"]);
        }
        if let Some(first) = self.ciphers.first() {
            let names: Vec<&str> = self.ciphers.iter().map(|cipher| cipher.name()).collect();
            line(&["cipher", first.name()]);
            line(&["data-ciphers", &names.join(":")]);
        }
        if let Some(digest) = self.digest {
            let name = match digest {
                Digest::None => "none".to_owned(),
                digest => digest.name().to_ascii_uppercase(),
            };
            line(&["auth", &name]);
        }
        if let Some(mtu) = self.mtu {
            line(&["tun-mtu", &mtu.to_string()]);
        }
        if self.only_tls12 {
            line(&["tls-version-max", "1.2"]);
        }
        if self.needs_user {
            line(&["auth-user-pass"]);
        }
        if self.redirects {
            line(&["redirect-gateway", "def1"]);
        }
        line(&["verb", "3"]);
        let key = self.key.as_ref().map(|key| key.as_str());
        let blocks = [
            ("ca", self.authorities.as_deref()),
            ("cert", self.certificate.as_deref()),
            ("key", key),
        ];
        for (name, contents) in blocks {
            if let Some(contents) = contents {
                line(&[&format!("<{name}>\n{}\n</{name}>", contents.trim())]);
            }
        }
        text
    }
}
