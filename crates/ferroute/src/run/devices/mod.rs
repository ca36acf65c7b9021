//! Devices of the ports: opened at startup, followed by netlink, and reopened when they reappear.
//!
//! A device is found by the name given with `--port`, which may be an alternative name. From then on its index
//! identifies it, whatever its name. `device` holds the state of one device.

mod device;
mod link;
mod veth;

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use netio::link::{Link, LinkEvent, LinkMonitor};
use netio::{OpenError, Request, Spec, Umem, XDP_RING, XdpOffload};
use router::Instance;
use router::drive::Control;

use crate::cli::Run;
use crate::cli::location::Location;
use device::Device;

/// A requested port: its name in the configuration, and its device.
pub(crate) struct Mapped {
    /// Port name, such as `ether1`.
    pub(crate) name: String,
    spec: Spec,
}

/// Parses `--port NAME=[DRIVER:]DEVICE`.
pub(crate) fn parse(ports: &[String]) -> Result<Vec<Mapped>, String> {
    let mut mapped: Vec<Mapped> = Vec::new();
    for port in ports {
        let wrong = |why: &str| format!("--port {port}: {why}");
        let (name, spec) = port
            .split_once('=')
            .filter(|(name, spec)| !name.is_empty() && !spec.is_empty())
            .ok_or_else(|| wrong("it is NAME=[DRIVER:]DEVICE, such as ether1=eth1"))?;
        let spec: Spec = spec
            .parse()
            .map_err(|error: netio::open::SpecError| wrong(&error.to_string()))?;
        if mapped.iter().any(|other| other.name == name) {
            return Err(wrong(&format!("there is a port {name} already")));
        }
        if spec.device().is_some()
            && mapped
                .iter()
                .any(|other| other.spec.device() == spec.device())
        {
            return Err(wrong("another port has this device already"));
        }
        mapped.push(Mapped {
            name: name.to_owned(),
            spec,
        });
    }
    Ok(mapped)
}

/// Returns the folders of capture files.
pub(crate) fn captures(mapped: &[Mapped]) -> Vec<PathBuf> {
    let folder = |port: &Mapped| match &port.spec {
        Spec::Pcap { output, .. } => Some(output.as_ref()?.parent()?.to_owned()),
        _ => None,
    };
    let named = |folder: PathBuf| match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder,
    };
    mapped.iter().filter_map(folder).map(named).collect()
}

/// Returns the message for an invalid port name.
pub(crate) fn misnamed(name: &str) -> String {
    format!(
        "port {name}: ports have RouterOS's default names, such as ether1, sfp1 or wlan1 \
         (the configuration may rename them), or the name of a virtual access point of the configuration"
    )
}

/// All devices of a router.
pub(crate) struct Devices {
    devices: Vec<Device>,
    memory: Vec<Umem>,
    /// Forwarding by XDP.
    offload: Option<XdpOffload>,
    take: bool,
    state: PathBuf,
    /// True if the state folder is temporary and has to be removed.
    temporary: bool,
    monitor: LinkMonitor,
    events: Vec<LinkEvent>,
}

impl Devices {
    /// Creates the devices closed; [`Devices::follow`] opens them.
    pub(crate) fn new(
        mapped: Vec<Mapped>,
        run: &Run,
        place: &Location,
        memory: Vec<Umem>,
    ) -> Result<Self, String> {
        let state = place.devices();
        std::fs::create_dir_all(&state).map_err(|error| format!("{}: {error}", state.display()))?;
        let monitor = LinkMonitor::open().map_err(|error| format!("netlink: {error}"))?;
        let mut devices = Self {
            devices: mapped.into_iter().map(Device::new).collect(),
            memory,
            offload: None,
            take: run.take,
            state,
            temporary: place.state.is_none(),
            monitor,
            events: Vec::new(),
        };
        devices.put_back_of_crash();
        Ok(devices)
    }

    /// Enables XDP offload of flows and bridging on AF_XDP ports, if the kernel supports it.
    pub(crate) fn learn(&mut self, control: &mut Control, seed: u64) {
        let is_xdp = |device: &Device| matches!(device.mapped.spec, Spec::Xdp { .. });
        if !self.devices.iter().any(is_xdp) {
            return;
        }
        match XdpOffload::new(seed) {
            Ok(offload) => {
                control.set_shortcuts(offload.shortcuts());
                control.set_switch(offload.switch());
                self.offload = Some(offload);
            }
            Err(error) => tracing::warn!("this kernel does not support XDP offload: {error}"),
        }
    }

    /// Restores devices that a crashed run took and that are no ports now.
    fn put_back_of_crash(&mut self) {
        let files = std::fs::read_dir(&self.state)
            .into_iter()
            .flatten()
            .flatten();
        for file in files.map(|entry| entry.path()) {
            let taken = file
                .file_name()
                .and_then(|name| name.to_str()?.strip_suffix(".taken"));
            let ours = |device: &str| {
                self.devices
                    .iter()
                    .any(|d| d.mapped.spec.device() == Some(device))
            };
            if taken.is_some_and(|device| !ours(device)) {
                match netio::takeover::restore(&file) {
                    Ok(Some(device)) => {
                        tracing::info!("{device}: restored its settings after a crash")
                    }
                    Ok(None) => {}
                    Err(error) => tracing::warn!("{}: {error}", file.display()),
                }
            }
        }
    }

    /// Describes each port with its device and driver.
    pub(crate) fn in_words(&self) -> Vec<String> {
        self.devices
            .iter()
            .map(|device| device.words.clone())
            .collect()
    }

    /// Returns the descriptor that is readable when [`Devices::follow`] has work.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.monitor.fd()
    }

    /// Processes events of the devices.
    ///
    /// # Errors
    /// The first present device that cannot be opened; the others are processed nevertheless.
    pub(crate) fn follow(&mut self, instance: &mut Instance) -> Result<(), String> {
        let mut result = Ok(());
        self.follow_veths(instance);
        for index in 0..self.devices.len() {
            let device = &mut self.devices[index];
            if device.elsewhere && !device.is_held() {
                device.detach(instance);
            }
            // Files and devices that the program creates exist as soon as they are opened.
            let made = matches!(device.mapped.spec, Spec::Pcap { .. } | Spec::Tap(_));
            if !device.attached && (made || device.is_let_go(instance)) {
                result = result.and(self.attach(index, instance));
            }
        }
        self.monitor
            .poll(&mut self.events)
            .map_err(|error| format!("netlink: {error}"))?;
        for event in std::mem::take(&mut self.events) {
            result = result.and(self.happened(&event, instance));
        }
        for device in self.devices.iter_mut().filter(|device| device.attached) {
            device.follow_wish(instance);
        }
        result
    }

    fn happened(&mut self, event: &LinkEvent, instance: &mut Instance) -> Result<(), String> {
        let (LinkEvent::Appeared(link)
        | LinkEvent::Renamed(link)
        | LinkEvent::Changed(link)
        | LinkEvent::Vanished(link)) = event;
        let is_it = |device: &Device| device.link.as_ref().is_some_and(|(n, _)| *n == link.index);
        let known = self.devices.iter().position(is_it);
        match (known.map(|at| (at, &mut self.devices[at])), event) {
            (Some((at, device)), LinkEvent::Vanished(_)) => {
                if device.lose(link, instance) {
                    return self.look_for(at, instance);
                }
            }
            (Some((_, device)), _) => {
                device.rename(&link.name);
                device.hear(link, instance);
            }
            (None, LinkEvent::Appeared(_) | LinkEvent::Renamed(_)) => {
                return self.came(link, instance);
            }
            (None, LinkEvent::Changed(_) | LinkEvent::Vanished(_)) => {}
        }
        Ok(())
    }

    /// Handles a new device that may belong to a port.
    fn came(&mut self, link: &Link, instance: &mut Instance) -> Result<(), String> {
        let mut result = Ok(());
        for at in 0..self.devices.len() {
            let device = &mut self.devices[at];
            if device.link.is_some() || !device.waits_for(link) {
                continue;
            }
            if !device.attached {
                result = result.and(self.attach(at, instance));
                continue;
            }
            // The device returned from another network namespace.
            device.elsewhere = false;
            device.link = Some((link.index, link.name.clone()));
            device.hear(link, instance);
        }
        result
    }

    /// Searches another device for a port that lost its device.
    fn look_for(&mut self, at: usize, instance: &mut Instance) -> Result<(), String> {
        let device = &self.devices[at];
        let is_there = self.monitor.known().any(|link| device.waits_for(link));
        match is_there {
            true => self.attach(at, instance),
            false => Ok(()),
        }
    }

    fn attach(&mut self, index: usize, instance: &mut Instance) -> Result<(), String> {
        if self.devices[index].is_refused() {
            return Ok(());
        }
        let attached = self.open(index, instance);
        self.devices[index].make_veth(attached, instance)
    }

    fn open(&mut self, index: usize, instance: &mut Instance) -> Result<(), String> {
        self.refuse_shared(index)?;
        let device = &mut self.devices[index];
        // The device may have been renamed meanwhile.
        let now = device.now().map_err(|error| format!("netlink: {error}"))?;
        let Mapped { name, spec } = &device.mapped;
        let spec = &now
            .as_deref()
            .map_or_else(|| spec.clone(), |now| spec.on(now));
        device.wish = instance.control().port_wish(name);
        let request = Request {
            workers: &self.memory,
            ring: XDP_RING,
            mtu: device.wish.mtu,
            take: self.take,
            state: Some(&self.state),
            offload: self.offload.as_ref(),
        };
        // A device stays taken while it is reopened; on failure it is restored.
        device.reopening = false;
        device.link = None;
        // The record of its settings has the old name: a renamed device is restored and taken again.
        let before = device.takeover.take();
        let before = before.filter(|taken| now.as_deref() == Some(taken.device()));
        let opened = match netio::open(spec, &request) {
            Ok(opened) => opened,
            // The device is gone again.
            Err(OpenError::NoDevice(_)) => return Ok(()),
            Err(error) => return Err(format!("port {name} ({spec}): {error}")),
        };
        if let Some(before) = before {
            before.leave();
        }
        let workers = self.memory.len();
        device.take_up(opened, spec, index, workers, instance)
    }

    /// Rejects a device that another port already has under another name.
    fn refuse_shared(&self, index: usize) -> Result<(), String> {
        let device = &self.devices[index];
        let mut known = self.monitor.known();
        let link = known.find(|link| device.waits_for(link));
        // A reopened device keeps its link, whatever device has its name now.
        let Some(link) = link.filter(|_| device.link.is_none()) else {
            return Ok(());
        };
        let has = |other: &&Device| other.link.as_ref().is_some_and(|(n, _)| *n == link.index);
        let mut others = self
            .devices
            .iter()
            .filter(|other| !std::ptr::eq(*other, device));
        others.find(has).map_or(Ok(()), |other| {
            let Mapped { name, spec } = &device.mapped;
            Err(format!(
                "port {name} ({spec}): port {} has this device already, whose name is {}",
                other.mapped.name, link.name
            ))
        })
    }

    /// Returns true if ports wait for the workers to release them.
    pub(crate) fn is_waiting(&self) -> bool {
        self.devices.iter().any(|device| device.reopening)
    }

    /// Closes all ports; dropping this restores the devices.
    pub(crate) fn close(&mut self, control: &mut Control) {
        for device in &mut self.devices {
            control.detach_port(&device.mapped.name);
            if !device.elsewhere {
                device.give_back_mtu();
                device.give_back_link();
            }
            device.tether = None;
        }
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        self.devices.clear();
        if self.temporary {
            netio::takeover::forget_owned(&self.state);
            // Only an empty folder is removed: records of failed restorations stay.
            let _ = std::fs::remove_dir(&self.state);
        }
    }
}
