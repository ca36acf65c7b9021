//! File with the saved settings of a device.
//!
//! Each line has a keyword and values. Addresses, neighbours and routes are complete netlink messages in hexadecimal,
//! with a readable note after `#`.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::linux::fs::MetadataExt;
use std::path::Path;

use super::addressing::{self, Remembered};
use super::guard::Guard;
use crate::link::{self, Link};

const HEAD: &str = "ferroute-takeover 1";

/// Settings of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Saved {
    /// Name when the device was taken; it may have changed.
    pub(super) device: String,
    pub(super) index: u32,
    /// Identity of the device besides its index; missing in files of earlier versions.
    made: Option<String>,
    /// Boot id of the running kernel.
    boot: String,
    /// Inode of the network namespace.
    namespace: u64,
    /// The device was given back; only routes remain that wait for another device's addresses.
    pub(super) given_back: bool,
    pub(super) up: bool,
    /// Original MTU, if it was changed.
    pub(super) mtu: Option<u32>,
    /// `None` if the kernel has no IPv6.
    pub(super) ipv6_disabled: Option<bool>,
    /// Driver flags that were cleared.
    pub(super) flags: u32,
    pub(super) guard: Option<Guard>,
    pub(super) addresses: Vec<Remembered>,
    pub(super) neighbours: Vec<Remembered>,
    pub(super) routes: Vec<Remembered>,
}

impl Saved {
    /// Reads a device's settings, except for addresses, neighbours and routes.
    pub(super) fn new(link: &Link) -> io::Result<Self> {
        Ok(Self {
            device: link.name.clone(),
            index: link.index,
            made: Some(made(link)),
            boot: boot()?,
            namespace: namespace()?,
            given_back: false,
            up: link.up,
            mtu: None,
            ipv6_disabled: addressing::ipv6_disabled(&link.name)?,
            flags: link::flags_on(&link.name, link::FLAG_RXVLAN | link::FLAG_LRO)?,
            guard: None,
            addresses: Vec::new(),
            neighbours: Vec::new(),
            routes: Vec::new(),
        })
    }

    /// True if the file describes this device, whatever its name: same boot, same namespace, not recreated.
    pub(super) fn is_of(&self, link: &Link) -> bool {
        let is_same = match &self.made {
            Some(made_then) => *made_then == made(link),
            None => self.device == link.name,
        };
        is_same
            && self.index == link.index
            && boot().is_ok_and(|boot| boot == self.boot)
            && namespace().is_ok_and(|namespace| namespace == self.namespace)
    }

    pub(super) fn add_address(&mut self, address: &Remembered) {
        if !self.addresses.contains(address) {
            self.addresses.push(address.clone());
        }
    }

    pub(super) fn add_neighbour(&mut self, neighbour: &Remembered) {
        if !self.neighbours.contains(neighbour) {
            self.neighbours.push(neighbour.clone());
        }
    }

    pub(super) fn add_route(&mut self, route: &Remembered) {
        if !self.routes.contains(route) {
            self.routes.push(route.clone());
        }
    }

    /// Reads a file. Returns `None` if the file is missing or incomplete; it is written before any change, and
    /// replaced atomically.
    pub(super) fn load(path: &Path) -> io::Result<Option<Self>> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the file and syncs it to disk.
    pub(super) fn store(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(self.text().as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_folder(path)
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{HEAD}\ndevice {} {}\nboot {}\nnamespace {}\nup {}\nflags {}\n",
            self.device, self.index, self.boot, self.namespace, self.up, self.flags
        );
        if self.given_back {
            text.push_str("given-back true\n");
        }
        if let Some(made) = &self.made {
            let _ = writeln!(text, "made {made}");
        }
        if let Some(mtu) = self.mtu {
            let _ = writeln!(text, "mtu {mtu}");
        }
        if let Some(disabled) = self.ipv6_disabled {
            let _ = writeln!(text, "ipv6-disabled {disabled}");
        }
        if let Some(guard) = self.guard {
            let _ = writeln!(text, "guard {}", guard.word());
        }
        for (word, list) in [
            ("address", &self.addresses),
            ("neighbour", &self.neighbours),
            ("route", &self.routes),
        ] {
            for item in list {
                let _ = writeln!(text, "{word} {} # {}", hex(&item.message), item.note);
            }
        }
        text.push_str("end\n");
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let whole = lines.next() == Some(HEAD) && lines.next_back() == Some("end");
        let mut saved = whole.then(Self::empty)?;
        for line in lines {
            let (line, note) = line.split_once(" # ").unwrap_or((line, ""));
            let (word, value) = line.split_once(' ')?;
            let remembered = || {
                Some(Remembered {
                    message: unhex(value)?,
                    note: note.to_owned(),
                })
            };
            match word {
                "device" => {
                    let (name, index) = value.split_once(' ')?;
                    saved.device = name.to_owned();
                    saved.index = index.parse().ok()?;
                }
                "made" => saved.made = Some(value.to_owned()),
                "boot" => saved.boot = value.to_owned(),
                "namespace" => saved.namespace = value.parse().ok()?,
                "given-back" => saved.given_back = value.parse().ok()?,
                "up" => saved.up = value.parse().ok()?,
                "mtu" => saved.mtu = Some(value.parse().ok()?),
                "flags" => saved.flags = value.parse().ok()?,
                "ipv6-disabled" => saved.ipv6_disabled = Some(value.parse().ok()?),
                "guard" => saved.guard = Some(Guard::of_word(value)?),
                "address" => saved.addresses.push(remembered()?),
                "neighbour" => saved.neighbours.push(remembered()?),
                "route" => saved.routes.push(remembered()?),
                _ => return None,
            }
        }
        // Device indexes start at 1.
        (saved.index != 0).then_some(saved)
    }

    fn empty() -> Self {
        Self {
            device: String::new(),
            index: 0,
            made: None,
            boot: String::new(),
            namespace: 0,
            given_back: false,
            up: false,
            mtu: None,
            ipv6_disabled: None,
            flags: 0,
            guard: None,
            addresses: Vec::new(),
            neighbours: Vec::new(),
            routes: Vec::new(),
        }
    }
}

/// Removes the file and syncs the removal to disk.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => sync_folder(path),
    }
}

/// Syncs the folder of this file to disk.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Identity of a device that survives renaming. The index alone may be reused.
pub(super) fn made(link: &Link) -> String {
    let mut made = link.kind.as_deref().unwrap_or("hardware").to_owned();
    if let Some(mac) = link.permanent_mac {
        let _ = write!(made, " {}", hex(&mac));
    }
    made
}

/// Identifies one boot of the kernel.
fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

/// Identifies the network namespace of the calling thread.
fn namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/thread-self/ns/net")?.st_ino())
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved() -> Saved {
        Saved {
            device: "eth0".to_owned(),
            index: 7,
            made: Some("hardware 020000000007".to_owned()),
            boot: "b0".to_owned(),
            namespace: 4_026_531_840,
            given_back: true,
            up: true,
            mtu: Some(1500),
            ipv6_disabled: Some(false),
            flags: 1 << 8,
            guard: Some(Guard::WithQdisc),
            addresses: vec![Remembered {
                message: vec![2, 24, 0xff],
                note: "192.0.2.1/24".to_owned(),
            }],
            neighbours: Vec::new(),
            routes: Vec::new(),
        }
    }

    #[test]
    fn saved_settings_round_trip() {
        let text = saved().text();

        assert!(text.contains("address 0218ff # 192.0.2.1/24\n"), "{text}");
        assert_eq!(Saved::parse(&text), Some(saved()));
    }

    #[test]
    fn an_old_settings_file_identifies_its_device_by_name() {
        let text = saved().text().replace("made hardware 020000000007\n", "");

        assert_eq!(
            Saved::parse(&text),
            Some(Saved {
                made: None,
                ..saved()
            })
        );
    }

    #[test]
    fn a_truncated_settings_file_is_not_used() {
        let text = saved().text();

        for end in 0..text.len() - 1 {
            assert_eq!(Saved::parse(&text[..end]), None, "cut at {end}");
        }
    }
}
