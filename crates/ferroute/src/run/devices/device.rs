//! State of a port's device: what is open, its link, and its configuration.

use frame::Port;
use netio::link::{Link, LinkModes, Links};
use netio::open::explain_mtu;
use netio::takeover::Takeover;
use netio::{Opened, Spec, Tether};
use router::Instance;
use router::drive::{PortNews, PortWish, Queue};
use wire::Mac;

use super::Mapped;
use super::veth::Made;

/// A port with its device.
pub(super) struct Device {
    pub(super) mapped: Mapped,
    pub(super) attached: bool,
    /// Index and name of the device while it belongs to the port; `None` if its link cannot be followed.
    pub(super) link: Option<(u32, String)>,
    /// Driver, and the reason why no better one works.
    pub(super) words: String,
    /// Restores the device on drop.
    pub(super) takeover: Option<Takeover>,
    /// Keeps a TAP device alive.
    pub(super) tether: Option<Tether>,
    /// True if the device was moved to another network namespace.
    pub(super) elsewhere: bool,
    /// Configuration at the last check.
    pub(super) wish: PortWish,
    /// Maximum MTU of the open ports.
    mtu_max: Option<u32>,
    /// Index and original MTU of a TAP device whose MTU was changed.
    own_mtu: Option<(u32, u32)>,
    /// True while the ports close to be opened again.
    pub(super) reopening: bool,
    /// `/interface/veth` interface of the device.
    pub(super) veth: Option<Made>,
    /// Index and original modes of a link that was changed.
    pub(super) own_link: Option<(u32, LinkModes)>,
}

impl Device {
    /// Creates a port without device.
    pub(super) fn new(mapped: Mapped) -> Self {
        Self {
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
            veth: None,
            own_link: None,
        }
    }

    /// Adopts the opened queues of a port and distributes them to the workers. `port` is the index among all
    /// ports.
    pub(super) fn take_up(
        &mut self,
        opened: Opened,
        spec: &Spec,
        number: usize,
        workers: usize,
        instance: &mut Instance,
    ) -> Result<(), String> {
        self.words = in_words(&self.mapped.name, &opened, spec);
        self.attached = true;
        let link = opened.link.as_ref();
        self.link = link.map(|link| (link.index, link.name.clone()));
        self.takeover = opened.takeover;
        self.tether = opened.tether;
        self.mtu_max = opened.mtu_max;
        if let Some(why) = &opened.mtu_refused {
            self.warn_of_mtu(why, instance);
        }
        // Files have no link: they are always up.
        let files = PortNews {
            up: true,
            mac: Mac([2, 0, 0, 0, 0, number as u8]),
            mtu: 1500,
        };
        let news = link.map_or(files, |link| self.news(link));
        let first = opened.ports.first();
        let offloads = first.map(|port| port.offloads()).unwrap_or_default();
        let queue =
            |(number, port): (usize, Box<dyn Port>)| -> Queue { ((number % workers) as u16, port) };
        let queues = opened.ports.into_iter().enumerate().map(queue).collect();
        let attached = instance.attach_port(&self.mapped.name, news, offloads, queues);
        // Sockets open only on running devices. Packets that arrived meanwhile on a disabled port were dropped.
        if !self.wish.up {
            self.switch();
        }
        let asked = self.wish.link;
        if asked != Default::default() {
            self.change_link(instance);
        }
        self.tell_link(instance);
        // The MTU of a TAP device could not be set while it was created.
        if self.takeover.is_none()
            && self.wish.mtu.is_some()
            && let Err(why) = self.set_mtu()
        {
            self.warn_of_mtu(&why, instance);
        }
        let name = &self.mapped.name;
        attached
            .map(|_| ())
            .map_err(|error| format!("port {name}: {error}"))
    }

    /// Returns true for a TAP device that still exists in another network namespace.
    pub(super) fn is_held(&self) -> bool {
        self.tether.as_ref().is_some_and(Tether::holds)
    }

    pub(super) fn detach(&mut self, instance: &mut Instance) {
        instance.control().detach_port(&self.mapped.name);
        self.attached = false;
        self.link = None;
        self.elsewhere = false;
        self.takeover = None;
        self.tether = None;
        self.own_mtu = None;
        self.own_link = None;
        self.reopening = false;
    }

    /// Returns true if the operator named this device.
    pub(super) fn waits_for(&self, link: &Link) -> bool {
        let name = self.mapped.spec.device();
        name.is_some_and(|name| link.is_called(name))
    }

    /// Returns the current name of the device.
    pub(super) fn now(&self) -> std::io::Result<Option<String>> {
        let Some((index, _)) = self.link else {
            return Ok(None);
        };
        let link = Links::open()?.find_index(index)?;
        Ok(link.map(|link| link.name))
    }

    /// Records a new name of the device.
    pub(super) fn rename(&mut self, name: &str) {
        if let Some((_, before)) = &mut self.link
            && before != name
        {
            tracing::info!(
                "{}: its device {before} was renamed to {name}",
                self.mapped.name
            );
            name.clone_into(before);
        }
    }

    /// Processes a link event of the device.
    pub(super) fn hear(&self, link: &Link, instance: &mut Instance) {
        let news = self.news(link);
        instance.control().port_news(&self.mapped.name, news);
        self.tell_link(instance);
    }

    fn news(&self, link: &Link) -> PortNews {
        let mac = Mac(link.mac.unwrap_or_default());
        PortNews {
            up: link.running,
            mac: match self.mapped.spec {
                Spec::Tap(_) => other_end(mac),
                _ => mac,
            },
            mtu: link.mtu,
        }
    }

    /// Processes the disappearance of the device. Returns true if the port is free for another.
    pub(super) fn lose(&mut self, link: &Link, instance: &mut Instance) -> bool {
        let name = &self.mapped.name;
        if !self.is_held() {
            self.detach(instance);
            return true;
        }
        // The other end is present: a TAP device was given to a container.
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

    /// Returns true if the ports have been released to be opened again.
    pub(super) fn is_let_go(&self, instance: &mut Instance) -> bool {
        self.reopening && instance.control().workers().is_heard()
    }

    /// Applies the changed configuration of the device.
    pub(super) fn follow_wish(&mut self, instance: &mut Instance) {
        let wish = instance.control().port_wish(&self.mapped.name);
        let before = std::mem::replace(&mut self.wish, wish);
        if before.up != wish.up {
            self.switch();
        }
        if before.link != wish.link {
            self.change_link(instance);
            self.tell_link(instance);
        }
        if before.mtu == wish.mtu {
            return;
        }
        if wish.mtu.is_some() && wish.mtu > self.mtu_max && self.mtu_max.is_some() {
            // It reappears in a moment.
            instance.control().expect_port(&self.mapped.name);
            instance.control().detach_port(&self.mapped.name);
            self.attached = false;
            self.reopening = true;
        } else if let Err(why) = self.set_mtu() {
            self.warn_of_mtu(&why, instance);
        }
    }

    /// Enables or disables the device, as configured.
    fn switch(&mut self) {
        let switched = match (&mut self.takeover, &self.tether) {
            (Some(takeover), _) => takeover.set_up(self.wish.up),
            // Other programs may keep the device, which is the other end: the carrier goes down.
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

    /// Sets the configured MTU of the device, but not below the original one.
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
            "port {}: its device refuses the MTU {} of its interfaces: {why}",
            self.mapped.name,
            self.wish.mtu.unwrap_or(0)
        );
        instance.control().log().add("interface,warning", message);
    }

    /// Restores the MTU of a TAP device that other programs keep.
    pub(super) fn give_back_mtu(&mut self) {
        if let Some((index, own)) = self.own_mtu.take() {
            // Without other owners the device goes with its ports.
            let _ = Links::open().and_then(|mut links| links.set_mtu(index, own));
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

/// Derives the MAC address of the kernel's end of a TAP device from the router's.
fn other_end(mac: Mac) -> Mac {
    let mut bytes = mac.0;
    bytes[0] = (bytes[0] | 2) & !1;
    bytes[5] ^= 1;
    Mac(bytes)
}
