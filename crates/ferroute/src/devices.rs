//! The devices behind the ports: opened at the start, followed by netlink, and taken up again when
//! they come back.
//!
//! A device comes, and comes back, by the name that was given with `--port`, or by its having that as another
//! one. From then on it is followed by its number, which stays with it whatever it is called. `device` is what
//! there is to one of them.

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
use crate::reach::Place;
use device::Device;

/// A port that was asked for: its name in the configuration, and what is behind it.
pub(crate) struct Mapped {
    /// The port's name, such as `ether1`.
    pub(crate) name: String,
    spec: Spec,
}

/// Reads `--port NAME=[DRIVER:]DEVICE`.
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

/// The folders into which captures are written.
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

/// What is said of a port whose name none can have.
pub(crate) fn misnamed(name: &str) -> String {
    format!(
        "port {name}: ports are called as RouterOS's are by themselves, such as ether1, sfp1 or wlan1 \
         (the configuration may give them other names), or as a virtual access point of the configuration"
    )
}

/// All devices of a router.
pub(crate) struct Devices {
    devices: Vec<Device>,
    memory: Vec<Umem>,
    /// What ports forward by themselves.
    offload: Option<XdpOffload>,
    take: bool,
    state: PathBuf,
    /// The state folder is ours alone and goes with us.
    temporary: bool,
    monitor: LinkMonitor,
    events: Vec<LinkEvent>,
}

impl Devices {
    /// Nothing is opened before [`Devices::follow`].
    pub(crate) fn new(
        mapped: Vec<Mapped>,
        run: &Run,
        place: &Place,
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

    /// Has ports of AF_XDP learn shortcuts, and switch between those of bridges, where there are such and the kernel
    /// can.
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
            Err(error) => tracing::warn!("this kernel takes no offload by XDP: {error}"),
        }
    }

    /// What a crashed run took from devices that are no ports of this one is given back now.
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
                        tracing::info!("{device}: given back what a crash left taken")
                    }
                    Ok(None) => {}
                    Err(error) => tracing::warn!("{}: {error}", file.display()),
                }
            }
        }
    }

    /// Each port, its device and how it is driven.
    pub(crate) fn in_words(&self) -> Vec<String> {
        self.devices
            .iter()
            .map(|device| device.words.clone())
            .collect()
    }

    /// What is readable when `follow` has something to do.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.monitor.fd()
    }

    /// Takes over what happened to the devices.
    ///
    /// # Errors
    /// The first device that is there and cannot be opened; the others are seen to all the same.
    pub(crate) fn follow(&mut self, instance: &mut Instance) -> Result<(), String> {
        let mut result = Ok(());
        self.follow_veths(instance);
        for index in 0..self.devices.len() {
            let device = &mut self.devices[index];
            if device.elsewhere && !device.is_held() {
                device.detach(instance);
            }
            // Files and devices of our own making are there as soon as they are opened.
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

    /// A device came by this name: it may be one that a port waits for.
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
            // It is back from another network namespace.
            device.elsewhere = false;
            device.link = Some((link.index, link.name.clone()));
            device.hear(link, instance);
        }
        result
    }

    /// A port has lost its device: another may have come by its name, while that had another.
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
        // What is opened anew may be called otherwise by now.
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
        // What is opened anew stays taken meanwhile; if that fails, it is given back.
        device.reopening = false;
        device.link = None;
        // What was on it is in a file of its name of then: one that was renamed is given back, and taken anew.
        let before = device.takeover.take();
        let before = before.filter(|taken| now.as_deref() == Some(taken.device()));
        let opened = match netio::open(spec, &request) {
            Ok(opened) => opened,
            // It has gone again already.
            Err(OpenError::NoDevice(_)) => return Ok(()),
            Err(error) => return Err(format!("port {name} ({spec}): {error}")),
        };
        if let Some(before) = before {
            before.leave();
        }
        device.take_up(opened, spec, (index, self.memory.len()), instance)
    }

    /// Refuses a device that another port has, by another of its names.
    fn refuse_shared(&self, index: usize) -> Result<(), String> {
        let device = &self.devices[index];
        let mut known = self.monitor.known();
        let link = known.find(|link| device.waits_for(link));
        // What is opened anew has its device already, whoever is called so now.
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

    /// Whether ports wait for the workers to let them go.
    pub(crate) fn is_waiting(&self) -> bool {
        self.devices.iter().any(|device| device.reopening)
    }

    /// Lets all ports go; the devices are given back when this is dropped.
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
            // Only an empty folder goes: what could not be given back stays written down.
            let _ = std::fs::remove_dir(&self.state);
        }
    }
}
