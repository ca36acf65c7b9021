//! Taking a device over from the machine's own network stack, and giving it back.
//!
//! ```text
//!   take      what the stack has on it ──▶ file, synced ──▶ taken off: addresses, routes, IPv6
//!   release   file ──▶ put back ──▶ file removed
//! ```
//!
//! Devices are given back one after another. A route that also needs the addresses of a device that is still to
//! come stays in its file, and is tried again when that device is given back.
//!
//! The file is written before anything is changed, so that a crash at any moment leaves what
//! [`restore`] or the next [`Takeover::take`] needs. A file of before a reboot, of another network
//! namespace or of a device that was made anew is of no use and is removed.
//!
//! With AF_PACKET the kernel would receive every frame as well: a filter at the device's ingress
//! drops them, behind the place where packet sockets take theirs. With AF_XDP it does not get them,
//! but the filter is there all the same: it says which process has the device.

mod addressing;
mod folder;
mod guard;
mod holder;
mod owned;
mod saved;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::af_xdp::while_busy;
use crate::link::{self, Link, Links};
use crate::netlink::Netlink;
use addressing::Remembered;
pub(crate) use folder::give_back_renamed;
use guard::{Claim, Guard};
use holder::Holder;
pub use holder::is_ending;
pub use owned::forget_owned;
pub(crate) use owned::{note_owned, was_owned};
use saved::Saved;

/// A device that is ours. It is given back by `release`, or when dropped.
#[derive(Debug)]
pub struct Takeover {
    link: Link,
    state: PathBuf,
    /// Says that this process lives, while it is open.
    life: Option<OwnedFd>,
    released: bool,
}

impl Takeover {
    /// Takes a device over, and switches it on. What was on it is written to `state`, a file for
    /// this device alone.
    ///
    /// Taking over what was taken over (by a process that died, or by this one) is no error: what
    /// was saved then is kept, and what came on it since is saved with it.
    ///
    /// # Errors
    /// What the kernel says: no such device, not permitted. What was changed is then put back.
    pub fn take(device: &str, state: &Path) -> io::Result<Self> {
        let mut links = Links::open()?;
        let link = links.find(device)?;
        // Who may not change a device is refused before anything is written down or changed.
        links.set_up(link.index, link.up)?;
        let mut netlink = Netlink::open()?;
        let before = before(state, &link)?;
        let saved = Saved::of(&mut netlink, &link, before)?;
        saved.store(state)?;
        let taken = Self {
            link: link.clone(),
            state: state.to_owned(),
            life: None,
            released: false,
        };
        // An error drops `taken`, which puts back what was changed.
        saved.take_off(&mut netlink, &link)?;
        links.set_up(link.index, true)?;
        Ok(taken)
    }

    /// Keeps the kernel from receiving the device's frames, as packet sockets need it (an XDP program
    /// takes the frames before), and says on the device that this process has it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn keep_kernel_off(&mut self) -> io::Result<()> {
        let mut netlink = Netlink::open()?;
        let mut saved = self.saved()?;
        if saved.guard.is_none() {
            saved.guard = Some(Guard::before(&mut netlink, self.link.index)?);
            saved.store(&self.state)?;
        }
        let (holder, life) = Holder::this(self.link.index)?;
        let claim = Claim {
            holder,
            file: std::path::absolute(&self.state).ok(),
        };
        if Guard::put_on(&mut netlink, self.link.index, &claim)? {
            tracing::warn!(
                "{}: somebody else's filter is asked first: the kernel receives too what it accepts",
                self.link.name
            );
        }
        self.life = Some(life);
        Ok(())
    }

    /// Gives the device at least this MTU, in bytes, while it is ours; without one its own again. Returns the one
    /// that it has then.
    ///
    /// # Errors
    /// What the kernel says: too long for the device. It then has the one that it had.
    pub fn set_mtu(&mut self, least: Option<u32>) -> io::Result<u32> {
        let mut links = Links::open()?;
        let link = links.find_index(self.link.index)?;
        let link = link.ok_or(io::ErrorKind::NotFound)?;
        let mut saved = self.saved()?;
        let own = saved.mtu.unwrap_or(link.mtu);
        let mtu = own.max(least.unwrap_or(0));
        if mtu == link.mtu {
            return Ok(mtu);
        }
        let before = saved.mtu.replace(own);
        saved.store(&self.state)?;
        let set = links.set_mtu(link.index, mtu);
        saved.mtu = match &set {
            Ok(()) if mtu == own => None,
            Ok(()) => Some(own),
            Err(_) => before,
        };
        saved.store(&self.state)?;
        set.map(|()| mtu)
    }

    /// What the device was called when it was taken.
    pub fn device(&self) -> &str {
        &self.link.name
    }

    /// Switches the device on or off while it is ours.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_up(&mut self, up: bool) -> io::Result<()> {
        Links::open()?.set_up(self.link.index, up)
    }

    /// Leaves the device as it is, for the next `take` of this process.
    pub fn leave(mut self) {
        self.released = true;
    }

    fn saved(&self) -> io::Result<Saved> {
        let saved = Saved::load(&self.state)?;
        saved.ok_or_else(|| io::Error::other("the file with what was saved is gone"))
    }

    /// Gives the device back as it was. What somebody else put on it since stays. An address or a route that the
    /// kernel does not take any more is lost, and the log says so.
    ///
    /// # Errors
    /// The first refusal to set the device itself back; the rest is put back all the same, and the file stays for
    /// another attempt. A device that is gone is no error.
    pub fn release(&mut self) -> io::Result<()> {
        if self.released {
            return Ok(());
        }
        restore(&self.state)?;
        self.life = None;
        self.released = true;
        Ok(())
    }
}

impl Drop for Takeover {
    fn drop(&mut self) {
        // The file stays if it failed, and the next start tries again.
        if let Err(error) = self.release() {
            tracing::warn!("{}: not given back: {error}", self.link.name);
        }
    }
}

/// Puts back what a file of `Takeover::take` says, if the device is still the same, and removes the
/// file. Returns the device's name if something was put back; no file is no error. What another
/// running process has is left to it, and so is the file.
///
/// # Errors
/// As for `Takeover::release`.
pub fn restore(state: &Path) -> io::Result<Option<String>> {
    let Some(saved) = Saved::load(state)? else {
        return Ok(None);
    };
    // By its number: it may have got another name, and another device its name.
    let put_back = match Links::open()?.find_index(saved.index)? {
        Some(link) if saved.is_of(&link) => {
            if let Some(Held::By(..) | Held::Elsewhere) = held(&link, Some(state))? {
                return Ok(None);
            }
            give_back(saved, &link, state)?;
            Some(link.name)
        }
        _ => {
            saved::remove(state)?;
            None
        }
    };
    if let Some(folder) = std::path::absolute(state)?.parent() {
        folder::put_back_waiting(folder)?;
    }
    Ok(put_back)
}

/// Gives a device back; what is not done then stays in the file.
fn give_back(mut saved: Saved, link: &Link, state: &Path) -> io::Result<()> {
    if saved.given_back {
        return Ok(());
    }
    let done = saved.put_back(&mut Netlink::open()?, link);
    if done.is_ok() {
        saved.given_back = true;
        saved.guard = None;
    }
    match done.is_ok() && saved.routes.is_empty() {
        true => saved::remove(state),
        false => done.and(saved.store(state)),
    }
}

/// What was saved of this device when it was taken before. What a file tells of another device, which had this
/// name then, is put back: the file will be about this one.
fn before(state: &Path, link: &Link) -> io::Result<Option<Saved>> {
    let before = Saved::load(state)?;
    if before.as_ref().is_none_or(|saved| saved.is_of(link)) {
        return Ok(before);
    }
    restore(state)?;
    match Saved::load(state)? {
        None => Ok(None),
        Some(_) => Err(io::Error::other(format!(
            "{} tells of another device, which somebody has",
            state.display()
        ))),
    }
}

/// Who has a device that is not to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A running process, of this number and, as far as it can be told, name: it has to end first.
    By(u32, Option<String>),
    /// A running process in another process namespace, a container's for example: it has to end first.
    Elsewhere,
    /// Somebody whose program of XDP gets the frames first.
    Program,
    /// Nobody, but a router that was killed had it, and has not given it back. What was on it is in this file, if
    /// that is known.
    Left(Option<PathBuf>),
}

/// Whether another router has a device. It says so on the device itself; what a router that was killed left there
/// says where it wrote down what was on the device, and its program of XDP is gone with it. `state` is the file of
/// [`Takeover::take`], if the device is to be taken.
///
/// # Errors
/// What the kernel says.
pub fn held(link: &Link, state: Option<&Path>) -> io::Result<Option<Held>> {
    let claims = Guard::on(&mut Netlink::open()?, link.index)?;
    let Some(last) = claims.last() else {
        return Ok(keeps_program(link.index)?.then_some(Held::Program));
    };
    let saved = state.map(Saved::load).transpose()?.flatten();
    let own = saved.is_some_and(|saved| saved.is_of(link) && saved.guard.is_some());
    for claim in &claims {
        if claim.holder.lives(link.index)? {
            return Ok(match claim.holder.process()? {
                Some(process) if own && process == std::process::id() => None,
                Some(process) => Some(Held::By(process, holder::name(process))),
                None => Some(Held::Elsewhere),
            });
        }
    }
    let is_known = own || state.is_none();
    Ok((!is_known).then(|| Held::Left(last.file.clone())))
}

/// Whether a device has a program of XDP, and not only one that is about to go.
fn keeps_program(index: u32) -> io::Result<bool> {
    let mut links = Links::open()?;
    let gone = while_busy(|| match links.has_program(index)? {
        true => Err(io::Error::from_raw_os_error(libc::EBUSY)),
        false => Ok(()),
    });
    match gone {
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(true),
        gone => gone.map(|()| false),
    }
}

/// Whether the machine's default route, of IPv4 or IPv6, leaves by this device. One that the kernel made of a router
/// advertisement does not count: it comes by itself on any device that is not taken over.
///
/// # Errors
/// What the kernel says.
pub fn carries_default_route(link: &Link) -> io::Result<bool> {
    addressing::carries_default_route(&mut Netlink::open()?, link.index)
}

impl Saved {
    /// What is on a device, and what was saved of it before.
    fn of(netlink: &mut Netlink, link: &Link, before: Option<Self>) -> io::Result<Self> {
        let mut saved = match before {
            Some(before) if !before.given_back => before,
            before => {
                let mut new = Self::new(link)?;
                new.routes = before.map(|before| before.routes).unwrap_or_default();
                new
            }
        };
        saved.device.clone_from(&link.name);
        for address in addressing::addresses(netlink, link.index)? {
            saved.add_address(&address);
        }
        for neighbour in addressing::neighbours(netlink, link.index)? {
            saved.add_neighbour(&neighbour);
        }
        for route in addressing::routes(netlink, link.index)? {
            saved.add_route(&route);
        }
        Ok(saved)
    }

    fn take_off(&self, netlink: &mut Netlink, link: &Link) -> io::Result<()> {
        addressing::set_ipv6_disabled(&link.name, true)?;
        addressing::remove_addresses(netlink, link.index)?;
        link::clear_flags(&link.name, self.flags)?;
        Ok(())
    }

    /// Puts everything back, in spite of refusals; the first to set the device itself back. What is put back is
    /// forgotten here, as it is the administrator's again. Without an error routes are left at most.
    fn put_back(&mut self, netlink: &mut Netlink, link: &Link) -> io::Result<()> {
        let mut results = vec![
            self.guard
                .map_or(Ok(()), |guard| guard.take_off(netlink, link.index)),
            link::restore_flags(&link.name, self.flags),
            Links::open().and_then(|mut links| links.set_up(link.index, self.up)),
            self.mtu.map_or(Ok(()), |mtu| {
                Links::open().and_then(|mut links| links.set_mtu(link.index, mtu))
            }),
        ];
        if self.ipv6_disabled == Some(false) {
            results.push(addressing::set_ipv6_disabled(&link.name, false));
        }
        let done: io::Result<()> = results.into_iter().collect();
        let lists: [(&str, &mut Vec<Remembered>, Put); 2] = [
            ("address", &mut self.addresses, addressing::add_address),
            ("neighbour", &mut self.neighbours, addressing::add_neighbour),
        ];
        for (what, list, put) in lists {
            let refused = put_back_each(netlink, list, put);
            // A device that was not set back is tried again, and they with it.
            if done.is_ok() {
                warn_of_lost(link, what, list, &refused);
                list.clear();
            }
        }
        if !self.up {
            // The kernel takes no routes by a device that is off, and had none.
            self.routes.clear();
        }
        self.put_back_routes(netlink);
        done
    }

    /// Puts the routes back that the kernel takes, which are forgotten then; why it does not take the others.
    fn put_back_routes(&mut self, netlink: &mut Netlink) -> Vec<io::Error> {
        put_back_each(netlink, &mut self.routes, addressing::add_route)
    }
}

type Put = fn(&mut Netlink, &Remembered) -> io::Result<()>;

/// Puts back what the kernel takes, which leaves the list; why it does not take what stays.
fn put_back_each(netlink: &mut Netlink, list: &mut Vec<Remembered>, put: Put) -> Vec<io::Error> {
    let mut refused = Vec::new();
    list.retain(|item| {
        let result = put(netlink, item);
        let is_refused = result.is_err();
        refused.extend(result.err());
        is_refused
    });
    refused
}

fn warn_of_lost(link: &Link, what: &str, lost: &[Remembered], why: &[io::Error]) {
    for (item, error) in lost.iter().zip(why) {
        tracing::warn!("{}: the {what} {} is lost: {error}", link.name, item.note);
    }
}
