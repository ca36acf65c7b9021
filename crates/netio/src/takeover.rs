//! Takes a device over from the host's network stack, and gives it back.
//!
//! ```text
//!   take      settings of the device ──▶ file, synced ──▶ removed: addresses, routes, IPv6
//!   release   file ──▶ restored ──▶ file removed
//! ```
//!
//! Devices are released one after another. A route that needs the addresses of another device that is still taken
//! stays in its file; it is restored when that device is released.
//!
//! The file is written before anything changes, so that after a crash at any moment [`restore`] or the next
//! [`Takeover::take`] finds it. A file from before a reboot, from another network namespace or for a device that was
//! recreated is useless and is removed.
//!
//! With AF_PACKET the kernel would receive every frame as well, so a filter at the device's ingress drops frames
//! after packet sockets got them. With AF_XDP the kernel does not get the frames, but the filter is installed, too,
//! because it names the process that has the device.

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

/// A device that this process took over. It is given back by `release` or on drop.
#[derive(Debug)]
pub struct Takeover {
    link: Link,
    state: PathBuf,
    /// Socket that is open while this process lives, so that others can check that.
    life: Option<OwnedFd>,
    released: bool,
}

impl Takeover {
    /// Takes a device over and sets it up. Its addresses and settings are saved in `state`, a file for this device
    /// alone.
    ///
    /// A device that was taken before, by this process or by one that died, may be taken again: the saved settings
    /// are kept, and later additions are saved, too.
    ///
    /// # Errors
    /// Returns the kernel's error: no such device, not permitted. All changes are undone.
    pub fn take(device: &str, state: &Path) -> io::Result<Self> {
        let mut links = Links::open()?;
        let link = links.find(device)?;
        // Checks the permission to change the device before anything is saved or changed.
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
        // An error drops `taken`, which undoes the changes.
        saved.take_off(&mut netlink, &link)?;
        links.set_up(link.index, true)?;
        Ok(taken)
    }

    /// Keeps the kernel from receiving the device's frames, which AF_PACKET needs (XDP takes the frames earlier), and
    /// marks the device as taken by this process.
    ///
    /// # Errors
    /// Returns the kernel's error.
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
                "{}: a filter of another program runs first; the kernel also receives the frames that it accepts",
                self.link.name
            );
        }
        self.life = Some(life);
        Ok(())
    }

    /// Raises the device's MTU to at least `least` bytes while it is taken; `None` restores its own MTU. Returns the
    /// new MTU.
    ///
    /// # Errors
    /// Returns the kernel's error if the device cannot have this MTU; the MTU is then unchanged.
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

    /// Name of the device when it was taken.
    pub fn device(&self) -> &str {
        &self.link.name
    }

    /// Sets the device up or down while it is taken.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn set_up(&mut self, up: bool) -> io::Result<()> {
        Links::open()?.set_up(self.link.index, up)
    }

    /// Leaves the device taken, for the next `take` of this process.
    pub fn leave(mut self) {
        self.released = true;
    }

    fn saved(&self) -> io::Result<Saved> {
        let saved = Saved::load(&self.state)?;
        saved.ok_or_else(|| io::Error::other("the file with the saved settings is missing"))
    }

    /// Gives the device back with its saved settings; settings that others added since stay. Addresses and routes
    /// that the kernel refuses are lost and logged.
    ///
    /// # Errors
    /// Returns the first failure to restore the device itself. The rest is restored nevertheless, and the file stays
    /// for another attempt. A device that no longer exists is no error.
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
        // The file stays after a failure, and the next start tries again.
        if let Err(error) = self.release() {
            tracing::warn!("{}: settings not restored: {error}", self.link.name);
        }
    }
}

/// Restores the settings in a file of `Takeover::take`, if the device is still the same, and removes the file.
/// Returns the device's name if something was restored; a missing file is no error. Devices of another running
/// process and their files stay untouched.
///
/// # Errors
/// Returns the errors of `Takeover::release`.
pub fn restore(state: &Path) -> io::Result<Option<String>> {
    let Some(saved) = Saved::load(state)? else {
        return Ok(None);
    };
    // Finds the device by index, because its name may have changed.
    let put_back = match Links::open()?.find_index(saved.index)? {
        Some(link) if saved.is_of(&link) => {
            if let Some(DeviceOwner::By(..) | DeviceOwner::Elsewhere) = held(&link, Some(state))? {
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

/// Gives a device back; settings that could not be restored stay in the file.
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

/// Settings that were saved when this device was taken before. A file about another device that had this name is
/// restored first, because this device needs the file.
fn before(state: &Path, link: &Link) -> io::Result<Option<Saved>> {
    let before = Saved::load(state)?;
    if before.as_ref().is_none_or(|saved| saved.is_of(link)) {
        return Ok(before);
    }
    restore(state)?;
    match Saved::load(state)? {
        None => Ok(None),
        Some(_) => Err(io::Error::other(format!(
            "{} has the settings of another device, which is in use",
            state.display()
        ))),
    }
}

/// Owner of a device that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceOwner {
    /// A running process, with its id and, if known, its name; it must end first.
    By(u32, Option<String>),
    /// A running process in another PID namespace, such as a container; it must end first.
    Elsewhere,
    /// Another program receives the frames first, through XDP.
    Program,
    /// No process: a killed router had the device and did not give it back. The file with its settings, if known.
    Left(Option<PathBuf>),
}

/// Checks whether another router has a device, by the mark on the device itself. The mark of a killed router names
/// its file; the kernel removed its XDP program. `state` is the file of [`Takeover::take`] if the device is to be
/// taken.
///
/// # Errors
/// Returns the kernel's error.
pub fn held(link: &Link, state: Option<&Path>) -> io::Result<Option<DeviceOwner>> {
    let claims = Guard::on(&mut Netlink::open()?, link.index)?;
    let Some(last) = claims.last() else {
        return Ok(keeps_program(link.index)?.then_some(DeviceOwner::Program));
    };
    let saved = state.map(Saved::load).transpose()?.flatten();
    let own = saved.is_some_and(|saved| saved.is_of(link) && saved.guard.is_some());
    for claim in &claims {
        if claim.holder.lives(link.index)? {
            return Ok(match claim.holder.process()? {
                Some(process) if own && process == std::process::id() => None,
                Some(process) => Some(DeviceOwner::By(process, holder::name(process))),
                None => Some(DeviceOwner::Elsewhere),
            });
        }
    }
    let is_known = own || state.is_none();
    Ok((!is_known).then(|| DeviceOwner::Left(last.file.clone())))
}

/// True if a device has an XDP program that is not just about to be removed.
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

/// True if an IPv4 or IPv6 default route of the host leaves by this device. Routes from router advertisements do not
/// count, because the kernel learns them on any device that is not taken over.
///
/// # Errors
/// Returns the kernel's error.
pub fn carries_default_route(link: &Link) -> io::Result<bool> {
    addressing::carries_default_route(&mut Netlink::open()?, link.index)
}

impl Saved {
    /// Collects the settings of a device, merged with those saved before.
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

    /// Restores everything in spite of failures, and returns the first failure that concerns the device itself.
    /// Restored settings leave this record, because they belong to the administrator again. On success at most routes
    /// remain.
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
            // If the device was not restored, addresses and neighbours are tried again with it.
            if done.is_ok() {
                warn_of_lost(link, what, list, &refused);
                list.clear();
            }
        }
        if !self.up {
            // The kernel accepts no routes by a device that is down, and had none.
            self.routes.clear();
        }
        self.put_back_routes(netlink);
        done
    }

    /// Restores the routes that the kernel accepts and removes them from the record; returns the errors of the
    /// others.
    fn put_back_routes(&mut self, netlink: &mut Netlink) -> Vec<io::Error> {
        put_back_each(netlink, &mut self.routes, addressing::add_route)
    }
}

type Put = fn(&mut Netlink, &Remembered) -> io::Result<()>;

/// Restores the items that the kernel accepts and removes them from the list; returns the errors of the others.
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
