//! A port and what there is of its device: what was opened, its link, and what the configuration asks of it.

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

/// A port and what there is of its device.
pub(super) struct Device {
    pub(super) mapped: Mapped,
    pub(super) attached: bool,
    /// The device's number and name while it is the port's; none where nobody can follow its link.
    pub(super) link: Option<(u32, String)>,
    /// Which driver, and why not a better one.
    pub(super) words: String,
    /// Gives the device back when it goes.
    pub(super) takeover: Option<Takeover>,
    /// Holds on to a TAP device.
    pub(super) tether: Option<Tether>,
    /// It was moved to another network namespace.
    pub(super) elsewhere: bool,
    /// What the configuration asked of it when it was last looked at.
    pub(super) wish: PortWish,
    /// The longest MTU that its ports take as they are.
    mtu_max: Option<u32>,
    /// The number and the own MTU of a TAP device that was given another one.
    own_mtu: Option<(u32, u32)>,
    /// Its ports go, to be opened anew.
    pub(super) reopening: bool,
    /// The interface of the configuration that it was made for.
    pub(super) veth: Option<Made>,
    /// How its link was before it was changed.
    pub(super) own_link: Option<(u32, LinkModes)>,
}

impl Device {
    /// A port that nothing is there for yet.
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

    /// Takes what was opened by `spec`, as the port of this number among all, and hands it to so many workers.
    pub(super) fn take_up(
        &mut self,
        opened: Opened,
        spec: &Spec,
        (number, workers): (usize, usize),
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
        // Files have no link: they are always there.
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
        // Sockets are opened on what is on. What came meanwhile was not taken from a disabled port.
        if !self.wish.up {
            self.switch();
        }
        let asked = self.wish.link;
        if asked != Default::default() {
            self.change_link(instance);
        }
        self.tell_link(instance);
        // Nobody was asked for the MTU of a TAP device while it was made.
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

    /// Whether it is a TAP device that is there though it is not in this network namespace any more.
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

    /// Whether it is this device that the operator named.
    pub(super) fn waits_for(&self, link: &Link) -> bool {
        let name = self.mapped.spec.device();
        name.is_some_and(|name| link.is_called(name))
    }

    /// What its device is called now, if it has one.
    pub(super) fn now(&self) -> std::io::Result<Option<String>> {
        let Some((index, _)) = self.link else {
            return Ok(None);
        };
        let link = Links::open()?.find_index(index)?;
        Ok(link.map(|link| link.name))
    }

    /// Hears that its device is called otherwise.
    pub(super) fn rename(&mut self, name: &str) {
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

    /// Its device is seen no more. Says whether the port is free for another.
    pub(super) fn lose(&mut self, link: &Link, instance: &mut Instance) -> bool {
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
    pub(super) fn is_let_go(&self, instance: &mut Instance) -> bool {
        self.reopening && instance.control().workers().is_heard()
    }

    /// Does what the configuration asks of the device anew.
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
    pub(super) fn give_back_mtu(&mut self) {
        if let Some((index, own)) = self.own_mtu.take() {
            // One that nobody keeps goes with its ports.
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

/// The router is the other end of a TAP's cable: the device's address is the kernel's end's.
fn other_end(mac: Mac) -> Mac {
    let mut bytes = mac.0;
    bytes[0] = (bytes[0] | 2) & !1;
    bytes[5] ^= 1;
    Mac(bytes)
}
