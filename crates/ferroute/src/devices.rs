//! The devices behind the ports: opened at the start, followed by netlink, and taken up again when
//! they come back.
//!
//! A device comes, and comes back, by the name that was given with `--port`, or by its having that as another
//! one. From then on it is followed by its number, which stays with it whatever it is called.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;

use frame::Port;
use frame::shortcut::Shortcuts;
use netio::link::{Link, LinkEvent, LinkMonitor, Links};
use netio::open::explain_mtu;
use netio::takeover::Takeover;
use netio::{OpenError, Opened, Request, Spec, Tether, Umem, XDP_RING, XdpShortcuts};
use router::Instance;
use router::drive::{Control, PortNews, PortWish, Queue};
use wire::Mac;

use crate::cli::Run;
use crate::reach::Place;

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

/// What is said of a port whose name none can have.
pub(crate) fn misnamed(name: &str) -> String {
    format!(
        "port {name}: ports are called as RouterOS's are by themselves, such as ether1, sfp1 or wlan1; \
         the configuration may give them other names"
    )
}

/// A port and what there is of its device.
struct Device {
    mapped: Mapped,
    attached: bool,
    /// The device's number and name while it is the port's; none where nobody can follow its link.
    link: Option<(u32, String)>,
    /// Which driver, and why not a better one.
    words: String,
    /// Gives the device back when it goes.
    takeover: Option<Takeover>,
    /// Holds on to a TAP device.
    tether: Option<Tether>,
    /// It was moved to another network namespace.
    elsewhere: bool,
    /// What the configuration asked of it when it was last looked at.
    wish: PortWish,
    /// The longest MTU that its ports take as they are.
    mtu_max: Option<u32>,
    /// The number and the own MTU of a TAP device that was given another one.
    own_mtu: Option<(u32, u32)>,
    /// Its ports go, to be opened anew.
    reopening: bool,
}

impl Device {
    /// Whether it is a TAP device that is there though it is not in this network namespace any more.
    fn is_held(&self) -> bool {
        self.tether.as_ref().is_some_and(Tether::holds)
    }

    fn detach(&mut self, instance: &mut Instance) {
        instance.control().detach_port(&self.mapped.name);
        self.attached = false;
        self.link = None;
        self.elsewhere = false;
        self.takeover = None;
        self.tether = None;
        self.own_mtu = None;
        self.reopening = false;
    }

    /// Whether it is this device that the operator named.
    fn waits_for(&self, link: &Link) -> bool {
        let name = self.mapped.spec.device();
        name.is_some_and(|name| link.is_called(name))
    }

    /// What its device is called now, if it has one.
    fn now(&self) -> std::io::Result<Option<String>> {
        let Some((index, _)) = self.link else {
            return Ok(None);
        };
        let link = Links::open()?.find_index(index)?;
        Ok(link.map(|link| link.name))
    }

    /// Hears that its device is called otherwise.
    fn rename(&mut self, name: &str) {
        if let Some((_, before)) = &mut self.link
            && before != name
        {
            tracing::info!(
                "{}: its device {before} is called {name} now",
                self.mapped.name
            );
            name.clone_into(before);
        }
    }

    /// Hears of its device's link.
    fn hear(&self, link: &Link, instance: &mut Instance) {
        let mut news = news(link);
        if matches!(self.mapped.spec, Spec::Tap(_)) {
            news.mac = other_end(news.mac);
        }
        instance.control().port_news(&self.mapped.name, news);
    }

    /// Its device is seen no more. Says whether the port is free for another.
    fn lose(&mut self, link: &Link, instance: &mut Instance) -> bool {
        let name = &self.mapped.name;
        if !self.is_held() {
            self.detach(instance);
            return true;
        }
        // Whoever is at the other end is there: a TAP device is given to a container like that.
        tracing::info!("{name}: {} is in another network namespace", link.name);
        self.elsewhere = true;
        self.link = None;
        let up = Link {
            running: true,
            ..link.clone()
        };
        self.hear(&up, instance);
        false
    }

    /// Whether its ports have gone that are to be opened anew.
    fn is_let_go(&self, instance: &mut Instance) -> bool {
        self.reopening && instance.control().workers().is_heard()
    }

    /// Does what the configuration asks of the device anew.
    fn follow_wish(&mut self, instance: &mut Instance) {
        let wish = instance.control().port_wish(&self.mapped.name);
        let before = std::mem::replace(&mut self.wish, wish);
        if before.up != wish.up {
            self.switch();
        }
        if before.mtu == wish.mtu {
            return;
        }
        if wish.mtu.is_some() && wish.mtu > self.mtu_max && self.mtu_max.is_some() {
            // It is there again in a moment.
            instance.control().expect_port(&self.mapped.name);
            instance.control().detach_port(&self.mapped.name);
            self.attached = false;
            self.reopening = true;
        } else if let Err(why) = self.set_mtu() {
            self.warn_of_mtu(&why, instance);
        }
    }

    /// Switches the device on or off, as is wanted.
    fn switch(&mut self) {
        let switched = match (&mut self.takeover, &self.tether) {
            (Some(takeover), _) => takeover.set_up(self.wish.up),
            // The device is the other end, and others may keep it: its cable is pulled.
            (None, Some(tether)) => tether.set_carrier(self.wish.up),
            (None, None) => Ok(()),
        };
        if let Err(error) = switched {
            let state = if self.wish.up { "on" } else { "off" };
            tracing::error!(
                "port {} ({}): switching it {state}: {error}",
                self.mapped.name,
                self.mapped.spec
            );
        }
    }

    /// Gives the device the MTU that is wanted, but never less than its own.
    fn set_mtu(&mut self) -> Result<(), String> {
        let Some((index, _)) = self.link else {
            return Ok(());
        };
        let mut links = Links::open().map_err(|error| format!("netlink: {error}"))?;
        let link = links.find_index(index);
        let Some(link) = link.map_err(|error| format!("netlink: {error}"))? else {
            return Ok(());
        };
        let refused = |error| explain_mtu(&link, self.wish.mtu, &error);
        if let Some(takeover) = &mut self.takeover {
            return takeover.set_mtu(self.wish.mtu).map(|_| ()).map_err(refused);
        }
        let (_, own) = *self.own_mtu.get_or_insert((link.index, link.mtu));
        let mtu = own.max(self.wish.mtu.unwrap_or(0));
        links.set_mtu(link.index, mtu).map_err(refused)
    }

    fn warn_of_mtu(&self, why: &str, instance: &mut Instance) {
        let message = format!(
            "port {}: its device does not get the MTU {} that interfaces on it have: {why}",
            self.mapped.name,
            self.wish.mtu.unwrap_or(0)
        );
        instance.control().log().add("interface,warning", message);
    }

    /// Gives a TAP device that others keep its own MTU again.
    fn give_back_mtu(&mut self) {
        if let Some((index, own)) = self.own_mtu.take() {
            // One that nobody keeps goes with its ports.
            let _ = Links::open().and_then(|mut links| links.set_mtu(index, own));
        }
    }
}

/// All devices of a router.
pub(crate) struct Devices {
    devices: Vec<Device>,
    memory: Vec<Umem>,
    /// What ports learn to forward by themselves.
    shortcuts: Option<Arc<XdpShortcuts>>,
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
        let device = |mapped: Mapped| Device {
            words: format!("{}: {} is not there yet", mapped.name, mapped.spec),
            mapped,
            attached: false,
            link: None,
            takeover: None,
            tether: None,
            elsewhere: false,
            wish: PortWish::default(),
            mtu_max: None,
            own_mtu: None,
            reopening: false,
        };
        let mut devices = Self {
            devices: mapped.into_iter().map(device).collect(),
            memory,
            shortcuts: None,
            take: run.take,
            state,
            temporary: place.state.is_none(),
            monitor,
            events: Vec::new(),
        };
        devices.put_back_of_crash();
        Ok(devices)
    }

    /// Has ports of AF_XDP learn shortcuts, where there are such and the kernel can.
    pub(crate) fn learn(&mut self, control: &mut Control, seed: u64) {
        let is_xdp = |device: &Device| matches!(device.mapped.spec, Spec::Xdp { .. });
        if !self.devices.iter().any(is_xdp) {
            return;
        }
        match XdpShortcuts::new(seed) {
            Ok(shortcuts) => {
                control.set_shortcuts(Arc::clone(&shortcuts) as Arc<dyn Shortcuts>);
                self.shortcuts = Some(shortcuts);
            }
            Err(error) => tracing::warn!("this kernel takes no shortcuts by XDP: {error}"),
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
            shortcuts: self.shortcuts.as_ref(),
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
        device.words = in_words(name, &opened, spec);
        device.attached = true;
        let link = opened.link.as_ref();
        device.link = link.map(|link| (link.index, link.name.clone()));
        device.takeover = opened.takeover;
        device.tether = opened.tether;
        device.mtu_max = opened.mtu_max;
        if let Some(why) = &opened.mtu_refused {
            device.warn_of_mtu(why, instance);
        }
        let offloads = opened
            .ports
            .first()
            .map(|port| port.offloads())
            .unwrap_or_default();
        let workers = self.memory.len();
        let queue =
            |(number, port): (usize, Box<dyn Port>)| -> Queue { ((number % workers) as u16, port) };
        let queues = opened.ports.into_iter().enumerate().map(queue).collect();
        // Files have no link: they are always there.
        let mut news = opened.link.as_ref().map_or(
            PortNews {
                up: true,
                mac: Mac([2, 0, 0, 0, 0, index as u8]),
                mtu: 1500,
            },
            news,
        );
        if matches!(spec, Spec::Tap(_)) {
            news.mac = other_end(news.mac);
        }
        let attached = instance.attach_port(name, news, offloads, queues);
        let attached = attached
            .map(|_| ())
            .map_err(|error| format!("port {name}: {error}"));
        // Sockets are opened on what is on. What came meanwhile was not taken from a disabled port.
        if !device.wish.up {
            device.switch();
        }
        // Nobody was asked for the MTU of a TAP device while it was made.
        if device.takeover.is_none()
            && device.wish.mtu.is_some()
            && let Err(why) = device.set_mtu()
        {
            device.warn_of_mtu(&why, instance);
        }
        attached
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
            }
            device.tether = None;
        }
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        self.devices.clear();
        if self.temporary {
            // Only an empty folder goes: what could not be given back stays written down.
            let _ = std::fs::remove_dir(&self.state);
        }
    }
}

fn in_words(name: &str, opened: &Opened, spec: &Spec) -> String {
    let device = spec
        .device()
        .map_or_else(|| spec.to_string(), str::to_owned);
    let mut words = format!("{name}: {device}");
    if let Some(link) = opened.link.as_ref().filter(|link| link.name != device) {
        words.push_str(&format!(", which is {},", link.name));
    }
    words.push_str(&format!(" by {}", opened.driver));
    if let Some(note) = opened.note {
        words.push_str(&format!(" ({note})"));
    }
    for reason in &opened.reasons {
        words.push_str(&format!("; not by {reason}"));
    }
    words
}

fn news(link: &Link) -> PortNews {
    PortNews {
        up: link.running,
        mac: Mac(link.mac.unwrap_or_default()),
        mtu: link.mtu,
    }
}

/// The router is the other end of a TAP's cable: the device's address is the kernel's end's.
fn other_end(mac: Mac) -> Mac {
    let mut bytes = mac.0;
    bytes[0] = (bytes[0] | 2) & !1;
    bytes[5] ^= 1;
    Mac(bytes)
}
