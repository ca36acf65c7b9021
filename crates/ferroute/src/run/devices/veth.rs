//! `/interface/veth`: interfaces whose other end is a device of the machine. The device is a TAP with the
//! interface's name or a derived one (`device_name`), and with the addresses of the container; the container
//! runtime moves it into the container.

use netio::Spec;
use netio::link::Links;
use router::{Instance, Veth};

use super::device::Device;
use super::{Devices, Mapped};

/// Interface of a TAP device, and whether creating the device failed.
#[derive(Debug)]
pub(super) struct Made {
    wanted: Veth,
    refused: bool,
}

impl Devices {
    /// Creates the devices that the configuration wants and removes the others. Devices mapped by `--port`
    /// belong to the operator.
    pub(super) fn follow_veths(&mut self, instance: &mut Instance) {
        let wanted = instance.veths();
        self.devices.retain_mut(|device| {
            let Some(made) = &device.veth else {
                return true;
            };
            let stays = wanted.contains(&made.wanted);
            if !stays {
                device.detach(instance);
            }
            stays
        });
        for veth in wanted {
            let has_name = |device: &Device| device.mapped.name == veth.name;
            if !self.devices.iter().any(has_name) {
                let mut device = Device::new(Mapped {
                    name: veth.name.clone(),
                    spec: Spec::Tap(device_name(&veth.name)),
                });
                device.veth = Some(Made {
                    wanted: veth,
                    refused: false,
                });
                self.devices.push(device);
            }
        }
    }
}

impl Device {
    /// Returns true if the device of this interface could not be created.
    pub(super) fn is_refused(&self) -> bool {
        self.veth.as_ref().is_some_and(|made| made.refused)
    }

    /// Sets addresses and name of an opened device. Failures are logged, and not retried until the interface
    /// changes.
    pub(super) fn make_veth(
        &mut self,
        attached: Result<(), String>,
        instance: &mut Instance,
    ) -> Result<(), String> {
        let Some(made) = &mut self.veth else {
            return attached;
        };
        let index = self.link.as_ref().map(|(index, _)| *index);
        let done = attached.and_then(|()| match index {
            Some(index) => address(index, &made.wanted).map_err(|error| error.to_string()),
            None => Ok(()),
        });
        if let Err(why) = done {
            made.refused = true;
            let message = format!("{}: no device for its container: {why}", made.wanted.name);
            instance.control().log().add("interface,error", message);
        }
        Ok(())
    }
}

/// Returns the device name: the interface name if Linux permits it (1 to 15 bytes; `dev_valid_name`), else its
/// beginning with a hash.
fn device_name(name: &str) -> String {
    const MAX_NAME_BYTES: usize = 15;
    const PREFIX_BYTES: usize = 6;
    let fits = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | ':' | '%');
    if name.len() <= MAX_NAME_BYTES && !matches!(name, "." | "..") && name.chars().all(fits) {
        return name.to_owned();
    }
    let beginning: String = name
        .chars()
        .filter(|c| fits(*c))
        .take(PREFIX_BYTES)
        .collect();
    let sum = name.bytes().fold(0x811c_9dc5_u32, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{beginning}-{sum:08x}")
}

fn address(index: u32, veth: &Veth) -> std::io::Result<()> {
    let mut links = Links::open()?;
    if let Some(mac) = veth.mac {
        links.set_mac(index, mac)?;
    }
    for net in &veth.addresses {
        links.add_address(index, net.addr(), net.prefix_len())?;
    }
    links.set_up(index, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_name_has_a_unique_device_name() {
        assert_eq!(device_name("veth-nextcloud1"), "veth-nextcloud1");
        let long = [
            "veth-home-assistant-1",
            "veth-home-assistant-2",
            "veth: a/b",
            "käse-käse-käse-käse",
            "..",
        ];
        let names: std::collections::BTreeSet<_> =
            long.iter().map(|name| device_name(name)).collect();
        assert_eq!(names.len(), long.len());
        assert!(
            names
                .iter()
                .all(|name| name.len() <= 15 && !name.contains(['/', ':', ' '])),
            "{names:?}"
        );
    }
}
