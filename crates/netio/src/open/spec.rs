//! Specification of a port by the operator: device and driver.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::XdpMode;
use crate::sys;

/// A device or files, and the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// A device with the best driver that works: `eth1`.
    Best(String),
    /// A device by AF_XDP, by default in the mode that suits it: `xdp:eth1`, `xdp-native:eth1`, `xdp-generic:eth1`.
    Xdp {
        /// Device name.
        device: String,
        /// Requested mode.
        mode: Option<XdpMode>,
    },
    /// A device by AF_PACKET: `packet:eth1`.
    Packet(String),
    /// A TAP device, created if missing: `tap:name`.
    Tap(String),
    /// Files: `pcap:in.pcap,out.pcap`, `pcap:in.pcap`, `pcap:,out.pcap`.
    Pcap {
        /// Input file.
        input: Option<PathBuf>,
        /// Output file.
        output: Option<PathBuf>,
    },
}

impl Spec {
    /// Returns this specification for another device; files stay unchanged.
    pub fn on(&self, device: &str) -> Self {
        let device = device.to_owned();
        match self {
            Self::Best(_) => Self::Best(device),
            Self::Xdp { mode, .. } => Self::Xdp {
                device,
                mode: *mode,
            },
            Self::Packet(_) => Self::Packet(device),
            Self::Tap(_) => Self::Tap(device),
            Self::Pcap { .. } => self.clone(),
        }
    }

    /// Device name; `None` for files.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Best(device)
            | Self::Xdp { device, .. }
            | Self::Packet(device)
            | Self::Tap(device) => Some(device),
            Self::Pcap { .. } => None,
        }
    }
}

/// Reason why a specification is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecError {
    /// Unknown driver.
    Driver(String),
    /// Invalid device name: 1 to 15 bytes, or up to 127 for an alternative name, without `/`, `:` and spaces.
    Device(String),
    /// No device can be created with this name, because it has more than 15 bytes.
    Made(String),
    /// Neither input nor output file, or more than two files.
    Files,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver(name) => write!(
                f,
                "unknown driver {name}: expected xdp, xdp-native, xdp-generic, packet, tap or pcap"
            ),
            Self::Device(name) => write!(f, "'{name}' is not a valid device name"),
            Self::Made(name) => write!(
                f,
                "'{name}' is not a valid name for a new device: expected 1 to 15 bytes"
            ),
            Self::Files => write!(
                f,
                "pcap takes an input file, an output file, or both: IN,OUT"
            ),
        }
    }
}

impl std::error::Error for SpecError {}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let Some((driver, rest)) = text.split_once(':') else {
            return Ok(Self::Best(device(text)?));
        };
        let xdp = |mode| {
            Ok(Self::Xdp {
                device: device(rest)?,
                mode,
            })
        };
        match driver {
            "xdp" => xdp(None),
            "xdp-native" => xdp(Some(XdpMode::Native)),
            "xdp-generic" => xdp(Some(XdpMode::Generic)),
            "packet" => Ok(Self::Packet(device(rest)?)),
            "tap" => match device(rest)? {
                name if sys::device_name(&name).is_none() => Err(SpecError::Made(name)),
                name => Ok(Self::Tap(name)),
            },
            "pcap" => files(rest),
            _ => Err(SpecError::Driver(driver.to_owned())),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Best(device) => write!(f, "{device}"),
            Self::Xdp { device, mode } => match mode {
                None => write!(f, "xdp:{device}"),
                Some(XdpMode::Native) => write!(f, "xdp-native:{device}"),
                Some(XdpMode::Generic) => write!(f, "xdp-generic:{device}"),
            },
            Self::Packet(device) => write!(f, "packet:{device}"),
            Self::Tap(device) => write!(f, "tap:{device}"),
            Self::Pcap { input, output } => {
                let input = input.as_deref().map(|path| path.display().to_string());
                write!(f, "pcap:{}", input.unwrap_or_default())?;
                match output {
                    Some(output) => write!(f, ",{}", output.display()),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Maximum length of an alternative name in bytes.
const ALTERNATIVE: usize = 127;

/// Checks a device name or alternative name.
fn device(name: &str) -> Result<String, SpecError> {
    let forbidden = |c: char| c == '/' || c == ':' || c.is_whitespace();
    let fits = (1..=ALTERNATIVE).contains(&name.len()) && !name.contains('\0');
    if !fits || name.contains(forbidden) || matches!(name, "." | "..") {
        return Err(SpecError::Device(name.to_owned()));
    }
    Ok(name.to_owned())
}

fn files(text: &str) -> Result<Spec, SpecError> {
    let (input, output) = text.split_once(',').unwrap_or((text, ""));
    let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
    if input.is_empty() && output.is_empty() || output.contains(',') {
        return Err(SpecError::Files);
    }
    Ok(Spec::Pcap {
        input: path(input),
        output: path(output),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn port_specifications_round_trip() {
        for text in [
            "eth1",
            "xdp:eth1",
            "xdp-native:eth1",
            "xdp-generic:eth1",
            "packet:eth1",
            "tap:lan",
            "xdp:a-name-of-more-than-fifteen-bytes",
            "pcap:in.pcap,out.pcap",
            "pcap:in.pcap",
            "pcap:,out.pcap",
        ] {
            let spec: Spec = text.parse().expect(text);
            assert_eq!(spec.to_string(), text);
        }
    }

    #[test]
    fn invalid_specifications_have_named_errors() {
        let error = |text: &str| text.parse::<Spec>().expect_err(text);

        assert_eq!(error("dpdk:eth1"), SpecError::Driver("dpdk".to_owned()));
        assert_eq!(error("xdp:"), SpecError::Device(String::new()));
        assert_eq!(error("a name"), SpecError::Device("a name".to_owned()));
        assert_eq!(
            error("packet:eth0:1"),
            SpecError::Device("eth0:1".to_owned())
        );
        let long = "a".repeat(128);
        assert_eq!(error(&long), SpecError::Device(long));
        let long = "a".repeat(16);
        assert_eq!(error(&format!("tap:{long}")), SpecError::Made(long));
        assert_eq!(error("pcap:,"), SpecError::Files);
        assert_eq!(error("pcap:a,b,c"), SpecError::Files);
    }

    proptest! {
        #[test]
        fn arbitrary_specifications_round_trip(text in "\\PC{0,24}") {
            if let Ok(spec) = text.parse::<Spec>() {
                prop_assert_eq!(spec.to_string().parse(), Ok(spec));
            }
        }
    }
}
