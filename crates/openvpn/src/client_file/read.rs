//! Reads client configuration files.

use zeroize::Zeroizing;

use super::{ClientFile, FileFault, LeftOut, MAX_FILE_BYTES};
use crate::options::Device;
use crate::path::Transport;
use crate::static_key::StaticKey;
use crate::suite::{Cipher, Digest, digest_from_name};

/// Port of servers.
const PORT: u16 = 1194;
/// Options that concern the program alone, or that the server decides.
const WITHOUT_EFFECT: &[&str] = &[
    "allow-compression",
    "auth-nocache",
    "auth-retry",
    "client",
    "connect-retry",
    "connect-retry-max",
    "connect-timeout",
    "data-ciphers-fallback",
    "daemon",
    "disable-dco",
    "float",
    "group",
    "hand-window",
    "ignore-unknown-option",
    "key-method",
    "keysize",
    "log",
    "log-append",
    "mssfix",
    "mute",
    "mute-replay-warnings",
    "nice",
    "nobind",
    "persist-key",
    "persist-tun",
    "pull",
    "rcvbuf",
    "remote-random",
    "reneg-sec",
    "resolv-retry",
    "script-security",
    "server-poll-timeout",
    "setenv",
    "setenv-safe",
    "sndbuf",
    "status",
    "tls-client",
    "topology",
    "tran-window",
    "user",
    "verb",
];
/// Options that are refused, and what would be right.
const REFUSED: &[(&str, &str)] = &[
    (
        "secret",
        "static keys without TLS are broken: use certificates",
    ),
    (
        "tls-crypt-v2",
        "keys of one client are not implemented: use tls-crypt or tls-auth",
    ),
    (
        "fragment",
        "fragments are not implemented: remove the option on both ends",
    ),
    (
        "pkcs12",
        "put certificates and key into blocks <ca>, <cert> and <key>",
    ),
    (
        "http-proxy",
        "proxies are not implemented: name the server itself",
    ),
    (
        "socks-proxy",
        "proxies are not implemented: name the server itself",
    ),
    (
        "cryptoapicert",
        "put certificate and key into blocks <cert> and <key>",
    ),
    (
        "pkcs11-id",
        "put certificate and key into blocks <cert> and <key>",
    ),
    ("server", "the file is that of a server, not of a client"),
    (
        "tls-server",
        "the file is that of a server, not of a client",
    ),
    (
        "mode",
        "the file is not that of a client: remove the option",
    ),
    (
        "crl-verify",
        "lists of revoked certificates belong to /certificate",
    ),
    (
        "ifconfig",
        "addresses come from the server: remove the option",
    ),
];
/// Blocks whose text is read.
const BLOCKS: &[&str] = &[
    "ca",
    "cert",
    "key",
    "tls-auth",
    "tls-crypt",
    "auth-user-pass",
    "connection",
];

impl ClientFile {
    /// Reads a file.
    ///
    /// # Errors
    /// An option is malformed, or cannot be taken: the line, and what would be right.
    pub fn parse(text: &str) -> Result<Self, FileFault> {
        if text.len() > MAX_FILE_BYTES {
            let text = format!("the file has more than {MAX_FILE_BYTES} bytes");
            return Err(FileFault { line: 0, text });
        }
        let mut reader = Reader {
            file: Self::new("", PORT),
            has_remote: false,
            has_device: false,
            port: PORT,
            direction: None,
            tls_auth: None,
            tls_crypt: None,
        };
        reader.read(text)?;
        reader.finish()
    }
}

/// A file that is being read.
struct Reader {
    file: ClientFile,
    has_remote: bool,
    has_device: bool,
    /// `port` or `rport`, for a remote without one.
    port: u16,
    /// `key-direction`.
    direction: Option<u8>,
    tls_auth: Option<Zeroizing<String>>,
    tls_crypt: Option<Zeroizing<String>>,
}

fn fault<T>(line: usize, text: impl Into<String>) -> Result<T, FileFault> {
    let text = text.into();
    Err(FileFault { line, text })
}

impl Reader {
    fn read(&mut self, text: &str) -> Result<(), FileFault> {
        let text = text.trim_start_matches('\u{feff}');
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let (number, line) = (number + 1, line.trim());
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('<') {
                let Some(name) = name.strip_suffix('>') else {
                    return fault(number, format!("{line}: expected <NAME>"));
                };
                let end = format!("</{name}>");
                let mut block = Zeroizing::new(String::new());
                loop {
                    match lines.next() {
                        Some((_, line)) if line.trim() == end => break,
                        Some((_, line)) => {
                            block.push_str(line.trim_end());
                            block.push('\n');
                        }
                        None => return fault(number, format!("<{name}> has no end: add {end}")),
                    }
                }
                self.block(name, block, number)?;
                continue;
            }
            let words = words(line).ok_or_else(|| FileFault {
                line: number,
                text: "a quotation mark is missing".to_owned(),
            })?;
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if let [name, parameters @ ..] = words.as_slice() {
                let name = name.strip_prefix("--").unwrap_or(name);
                self.option(name, parameters, number)?;
            }
        }
        Ok(())
    }

    /// Reads a block: the text between `<name>` and `</name>`.
    fn block(&mut self, name: &str, text: Zeroizing<String>, line: usize) -> Result<(), FileFault> {
        if let Some((_, right)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return fault(line, format!("<{name}> is refused: {right}"));
        }
        match name {
            "ca" => self.file.authorities = Some(String::clone(&text)),
            "cert" => self.file.certificate = Some(String::clone(&text)),
            "key" => self.file.key = Some(text),
            "tls-auth" | "tls-crypt" => {
                if StaticKey::parse(&text).is_none() {
                    let text = format!(
                        "<{name}> is no key: expected a block \"OpenVPN Static key V1\" of 512 hexadecimal digits"
                    );
                    return fault(line, text);
                }
                match name {
                    "tls-auth" => self.tls_auth = Some(text),
                    _ => self.tls_crypt = Some(text),
                }
            }
            "auth-user-pass" => {
                let mut lines = text.lines();
                let user = lines.next().unwrap_or_default().to_owned();
                let password = lines.next().unwrap_or_default().to_owned();
                self.file.needs_user = true;
                self.file.user = Some((user, Zeroizing::new(password)));
            }
            // The first remote counts, in a block or outside.
            "connection" if !self.has_remote => self.read(&text)?,
            "connection" => self.leave_out(line, "<connection>".to_owned()),
            _ => {
                let known = BLOCKS.join(">, <");
                return fault(line, format!("<{name}> is unknown: expected <{known}>"));
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, line: usize, option: String) {
        self.file.left_out.push(LeftOut { line, option });
    }

    /// Reads an option that concerns the connection.
    fn option(&mut self, name: &str, parameters: &[&str], line: usize) -> Result<(), FileFault> {
        if let Some((_, right)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return fault(line, format!("{name} is refused: {right}"));
        }
        match (name, parameters) {
            ("remote", [host, rest @ ..]) => self.remote(host, rest, line)?,
            ("port" | "rport", [port]) => self.port = self::port(port, line)?,
            ("proto", [proto]) => self.file.transport = transport(proto, line)?,
            ("dev" | "dev-type", [device]) => {
                self.file.device = device_of(device, line)?;
                self.has_device = true;
            }
            ("tun-mtu", [mtu, ..]) => {
                let mtu = mtu.parse().ok().filter(|mtu| *mtu >= 64);
                let text = "tun-mtu: expected a number of bytes from 64 to 65535";
                self.file.mtu = Some(mtu.ok_or_else(|| FileFault {
                    line,
                    text: text.to_owned(),
                })?);
            }
            ("redirect-gateway", _) => self.file.redirects = true,
            ("route-nopull", []) => self.file.ignores_routes = true,
            ("explicit-exit-notify", _) => self.file.notifies_exit = true,
            (name, _) if WITHOUT_EFFECT.contains(&name) => {}
            _ => self.security(name, parameters, line)?,
        }
        Ok(())
    }

    /// Reads an option that concerns keys, certificates and algorithms.
    fn security(&mut self, name: &str, parameters: &[&str], line: usize) -> Result<(), FileFault> {
        match (name, parameters) {
            ("cipher" | "data-ciphers" | "ncp-ciphers", [list]) => {
                self.ciphers(name, list, line)?;
            }
            ("auth", [name]) => self.file.digest = Some(digest(name, line)?),
            ("remote-cert-tls", ["server"]) | ("ns-cert-type", ["server"]) => {
                self.file.verifies_use = true;
            }
            ("tls-version-min", [version, ..]) => {
                if !matches!(*version, "1.0" | "1.1" | "1.2" | "1.3") {
                    return fault(line, "tls-version-min: expected 1.2 or 1.3");
                }
            }
            ("tls-version-max", ["1.2"]) => self.file.only_tls12 = true,
            ("tls-version-max", ["1.3"]) => {}
            ("tls-version-max", _) => {
                return fault(
                    line,
                    "tls-version-max: expected 1.2 or 1.3, others are broken",
                );
            }
            ("auth-user-pass", []) => self.file.needs_user = true,
            ("key-direction", ["0"]) => self.direction = Some(0),
            ("key-direction", ["1"]) => self.direction = Some(1),
            ("comp-lzo" | "compress", _) if !matches!(parameters, ["migrate"]) => {
                let text = format!(
                    "{name} is refused: compression reveals contents, remove it on both ends"
                );
                return fault(line, text);
            }
            ("ca" | "cert" | "key" | "tls-auth" | "tls-crypt" | "auth-user-pass", [_, ..]) => {
                let text =
                    format!("{name} names a file: put its contents between <{name}> and </{name}>");
                return fault(line, text);
            }
            _ => {
                let mut option = name.to_owned();
                for parameter in parameters {
                    option.push(' ');
                    option.push_str(parameter);
                }
                self.leave_out(line, option);
            }
        }
        Ok(())
    }

    fn remote(&mut self, host: &str, rest: &[&str], line: usize) -> Result<(), FileFault> {
        if self.has_remote {
            self.leave_out(line, format!("remote {host}"));
            return Ok(());
        }
        self.has_remote = true;
        self.file.host = host.to_owned();
        self.file.port = 0;
        if let [port, ..] = rest {
            self.file.port = self::port(port, line)?;
        }
        if let [_, proto, ..] = rest {
            self.file.transport = transport(proto, line)?;
        }
        Ok(())
    }

    /// Reads a list of ciphers. `data-ciphers` counts before `cipher`.
    fn ciphers(&mut self, name: &str, list: &str, line: usize) -> Result<(), FileFault> {
        let known: Vec<Cipher> = list
            .split(':')
            .filter_map(|name| Cipher::from_name(name.trim_start_matches('?')))
            .filter(|cipher| *cipher != Cipher::ChaCha20Poly1305)
            .collect();
        if known.is_empty() && name == "cipher" && list != "none" {
            let text = format!(
                "cipher {list} is not implemented: expected AES-256-GCM, AES-192-GCM, AES-128-GCM or these with CBC"
            );
            return fault(line, text);
        }
        match name {
            "cipher" if !self.file.ciphers.is_empty() => {}
            _ => self.file.ciphers = known,
        }
        Ok(())
    }

    /// Checks the whole file.
    fn finish(mut self) -> Result<ClientFile, FileFault> {
        if !self.has_remote {
            return fault(
                0,
                "the server is missing: add a line \"remote ADDRESS PORT\"",
            );
        }
        if !self.has_device {
            return fault(
                0,
                "the device is missing: add a line \"dev tun\" or \"dev tap\"",
            );
        }
        if self.file.port == 0 {
            self.file.port = self.port;
        }
        if self.file.certificate.is_some() != self.file.key.is_some() {
            let text = "<cert> and <key> belong together: add the missing block";
            return fault(0, text);
        }
        let mut control_key = None;
        if let Some(key) = &self.tls_auth {
            let direction = match self.direction {
                Some(direction) => format!("tls-auth {direction}"),
                None => "tls-auth".to_owned(),
            };
            control_key = Some(Zeroizing::new(format!("{direction}\n{}", **key)));
        }
        if let Some(key) = &self.tls_crypt {
            if control_key.is_some() {
                return fault(0, "<tls-auth> and <tls-crypt> exclude each other");
            }
            control_key = Some(Zeroizing::new(format!("tls-crypt\n{}", **key)));
        }
        self.file.control_key = control_key;
        Ok(self.file)
    }
}

fn port(text: &str, line: usize) -> Result<u16, FileFault> {
    match text.parse() {
        Ok(port @ 1..) => Ok(port),
        _ => fault(
            line,
            format!("port {text}: expected a number from 1 to 65535"),
        ),
    }
}

fn transport(text: &str, line: usize) -> Result<Transport, FileFault> {
    match text {
        "udp" | "udp4" | "udp6" => Ok(Transport::Udp),
        "tcp" | "tcp4" | "tcp6" | "tcp-client" | "tcp4-client" | "tcp6-client" => {
            Ok(Transport::Tcp)
        }
        _ => fault(line, format!("proto {text}: expected udp or tcp-client")),
    }
}

fn device_of(text: &str, line: usize) -> Result<Device, FileFault> {
    match text.get(..3) {
        Some("tun") => Ok(Device::Tun),
        Some("tap") => Ok(Device::Tap),
        _ => fault(line, format!("dev {text}: expected tun or tap")),
    }
}

fn digest(name: &str, line: usize) -> Result<Digest, FileFault> {
    let digest = digest_from_name(name);
    digest.ok_or_else(|| FileFault {
        line,
        text: format!(
            "auth {name} is not implemented: expected SHA1, SHA256, SHA384, SHA512, MD5 or none"
        ),
    })
}

/// Splits a line into words, which may have quotation marks; a comment ends it. Returns `None` if a mark is missing.
fn words(line: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut rest = line.chars().peekable();
    loop {
        while rest.next_if(|next| next.is_whitespace()).is_some() {}
        let Some(first) = rest.next() else {
            return Some(all);
        };
        let mut word = String::new();
        match first {
            '#' | ';' => return Some(all),
            mark @ ('"' | '\'') => loop {
                match rest.next()? {
                    end if end == mark => break,
                    '\\' if mark == '"' => word.push(rest.next()?),
                    other => word.push(other),
                }
            },
            first => {
                word.push(first);
                while let Some(next) = rest.next_if(|next| !next.is_whitespace()) {
                    word.push(next);
                }
            }
        }
        all.push(word);
    }
}
