//! Mirror devices, kept equal to what control wants.
//!
//! The control thread takes the changes while it holds the router, and hands new ports back once they exist. It
//! does not wait in between: with thousands of devices and IPv6 addresses the kernel takes tens of milliseconds
//! for each. Without changes the work is nothing.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::{io, iter};

use frame::InterfaceId;
use machine::{Duration, Instant};
use netio::Waker;
use router::drive::Control;
use router::mirror::{Mirror, MirrorChanges, NewMirror};

use super::device::{DeviceState, Made, Outcomes, Plane, Step};
use super::netlink::DefaultRoute;
use super::shared::{Share, SharedMirror};
use crate::run::shared::Shared;

/// Number of devices per batch. Other work in the host plane waits for a batch.
const BATCH_DEVICES: usize = 16;
/// Delay before a failed change is repeated.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// Worker of the mirrors' queues.
const WORKER: u16 = 0;

/// An existing mirror.
struct There {
    /// Device index in the namespace.
    index: u32,
    is: DeviceState,
}

/// Interfaces of the default routes, as control wants them.
#[derive(Clone, Copy, Default)]
struct Defaults {
    ipv4: Option<InterfaceId>,
    source4: Option<Ipv4Addr>,
    ipv6: Option<InterfaceId>,
}

/// All existing mirrors.
#[derive(Default)]
pub(crate) struct Mirrors {
    there: BTreeMap<InterfaceId, There>,
    /// Mirror of point-to-point interfaces.
    shared: SharedMirror,
    /// Interfaces whose mirrors should get the default routes.
    wanted: Defaults,
    /// Devices of the current IPv4 and IPv6 default routes.
    defaults: [Option<(u32, DefaultRoute)>; 2],
    /// Failed changes with their errors.
    failed: BTreeMap<InterfaceId, String>,
    /// Error of the shared mirror. It is changed again at the next retry.
    shared_failed: Option<String>,
    retry_at: Option<Instant>,
    under_way: Option<UnderWay>,
}

/// Changes in progress.
struct UnderWay {
    changes: MirrorChanges,
    /// Subject of each step.
    about: Vec<About>,
    outcomes: Receiver<Outcomes>,
}

/// Subject of a step.
#[derive(Clone, Copy)]
enum About {
    /// Mirror of an interface.
    Mirror(InterfaceId),
    /// Device of the shared mirror.
    Shared,
    /// Addresses of the shared mirror.
    Share(Share),
    /// Settings of the namespace.
    Settings,
}

/// Ports of new devices.
#[derive(Default)]
struct NewPorts {
    mirrors: Vec<NewMirror>,
    shared: Option<Made>,
}

impl Mirrors {
    /// Takes the pending changes from control.
    pub(crate) fn take(&mut self, control: &mut Control, now: Instant) -> Option<MirrorChanges> {
        if self.under_way.is_some() {
            return None;
        }
        if self.retry_at.is_some_and(|at| now >= at) {
            self.retry_at = None;
            control.retry_mirrors(self.failed.keys().copied());
            self.shared_failed = None;
        }
        let changes = control.take_mirror_changes(BATCH_DEVICES);
        if let Some(changes) = &changes {
            self.wanted = Defaults {
                ipv4: changes.default4,
                source4: changes.source4,
                ipv6: changes.default6,
            };
        }
        changes.or_else(|| self.is_shared_due().then(MirrorChanges::default))
    }

    /// Returns true if the shared mirror has to be created or changed now.
    fn is_shared_due(&self) -> bool {
        self.shared_failed.is_none() && (self.shared.is_missing() || self.shared.is_due())
    }

    /// Starts the changes; [`Self::settle`] handles the results.
    pub(crate) fn begin(&mut self, plane: &dyn Plane, changes: MirrorChanges, wake: &Waker) {
        let (steps, about): (Vec<_>, Vec<_>) = self.steps(&changes).into_iter().unzip();
        let outcomes = match steps.is_empty() {
            false => plane.take(steps, wake),
            true => {
                let (tell, told) = channel();
                let _ = tell.send(Vec::new());
                told
            }
        };
        self.under_way = Some(UnderWay {
            changes,
            about,
            outcomes,
        });
    }

    /// Passes the ports of finished changes to control. Returns true if more work may be pending.
    pub(crate) fn settle(&mut self, plane: &dyn Plane, shared: &Shared, wake: &Waker) -> bool {
        let outcomes = match self.under_way.as_ref().map(|of| of.outcomes.try_recv()) {
            Some(Ok(outcomes)) => outcomes,
            Some(Err(TryRecvError::Disconnected)) => Vec::new(),
            Some(Err(TryRecvError::Empty)) | None => return false,
        };
        self.finish(plane, outcomes, shared, wake)
    }

    /// Carries out the changes and waits for them; then works like [`Self::settle`].
    pub(crate) fn follow(
        &mut self,
        plane: &dyn Plane,
        changes: MirrorChanges,
        shared: &Shared,
        wake: &Waker,
    ) -> bool {
        self.begin(plane, changes, wake);
        let outcomes = self.under_way.as_ref().map(|of| of.outcomes.recv());
        let outcomes = outcomes.and_then(Result::ok).unwrap_or_default();
        self.finish(plane, outcomes, shared, wake)
    }

    fn finish(
        &mut self,
        plane: &dyn Plane,
        outcomes: Outcomes,
        shared: &Shared,
        wake: &Waker,
    ) -> bool {
        let Some(UnderWay { changes, about, .. }) = self.under_way.take() else {
            return false;
        };
        let made = self.done_all(&changes, about, outcomes);
        self.route(plane, &changes, wake);
        if !self.failed.is_empty() || self.shared_failed.is_some() {
            self.retry_at.get_or_insert(shared.now() + RETRY_DELAY);
        }
        if !made.mirrors.is_empty() || made.shared.is_some() {
            let mut instance = shared.lock();
            let control = instance.control();
            if let Some(made) = made.shared {
                control.attach_shared_mirror(made.offloads, vec![(WORKER, made.port)]);
            }
            for late in control.attach_mirrors(made.mirrors) {
                self.there.remove(&late);
            }
            shared.after_change(&mut instance);
        }
        changes.more || self.is_shared_due()
    }

    /// Records the result of each step. A missing result means failure, since the host plane is gone.
    fn done_all(
        &mut self,
        changes: &MirrorChanges,
        about: Vec<About>,
        outcomes: Outcomes,
    ) -> NewPorts {
        let gone = || Err(io::Error::other("the thread of the host plane has ended"));
        let outcomes = outcomes.into_iter().chain(iter::repeat_with(gone));
        let mut made = NewPorts::default();
        for (about, outcome) in about.into_iter().zip(outcomes) {
            match about {
                About::Settings => _ = warn(outcome, "the rate of errors"),
                About::Mirror(id) => {
                    let wanted = changes.mirrors.get(&id).and_then(Option::as_ref);
                    match outcome {
                        Ok(new) => {
                            self.failed.remove(&id);
                            made.mirrors.extend(self.done(id, wanted, new));
                        }
                        Err(error) => self.fail(id, wanted, error.to_string()),
                    }
                }
                About::Shared => match outcome {
                    Ok(new) => {
                        made.shared = new;
                        self.shared
                            .made(made.shared.as_ref().map(|made| made.index));
                    }
                    Err(error) => self.fail_shared(&error),
                },
                About::Share(share) => {
                    if let Err(error) = outcome {
                        self.shared.failed(share);
                        self.fail_shared(&error);
                    }
                }
            }
        }
        made
    }

    fn fail_shared(&mut self, error: &io::Error) {
        if self.shared_failed.is_none() {
            tracing::warn!("host plane: the mirror of point-to-point interfaces: {error}");
        }
        self.shared_failed = Some(error.to_string());
    }

    /// Returns the steps with their subjects; removals come first, so that names become free.
    fn steps(&mut self, changes: &MirrorChanges) -> Vec<(Step, About)> {
        let (mut gone, mut rest) = (Vec::new(), Vec::new());
        for (id, wanted) in &changes.mirrors {
            let about = About::Mirror(*id);
            let is_member = wanted.as_ref().is_some_and(|mirror| mirror.shared);
            let member = wanted.as_ref().filter(|mirror| mirror.shared);
            self.shared.change(*id, member);
            match (self.there.get(id), wanted) {
                (Some(there), None) => gone.push((Step::Remove(there.index), about)),
                (Some(there), Some(mirror)) => {
                    if there.is.unsure || there.is.mirror != *mirror {
                        let step = Step::Change {
                            index: there.index,
                            before: there.is.clone(),
                            wanted: mirror.clone(),
                        };
                        rest.push((step, about));
                    }
                }
                (None, Some(mirror)) if !is_member => {
                    rest.push((Step::Make(*id, mirror.clone()), about));
                }
                (None, _) => {}
            }
        }
        gone.append(&mut rest);
        gone.extend(self.steps_of_shared());
        gone.extend(
            changes
                .settings
                .map(|settings| (Step::Settings(settings), About::Settings)),
        );
        gone
    }

    fn steps_of_shared(&mut self) -> Vec<(Step, About)> {
        if !self.is_shared_due() {
            return Vec::new();
        }
        let Some(index) = self.shared.index() else {
            return vec![(Step::MakeShared, About::Shared)];
        };
        let step = |(share, wanted)| {
            let step = Step::Share {
                index,
                share,
                wanted,
            };
            (step, About::Share(share))
        };
        self.shared.take_due().into_iter().map(step).collect()
    }

    fn done(
        &mut self,
        id: InterfaceId,
        wanted: Option<&Mirror>,
        made: Option<Made>,
    ) -> Option<NewMirror> {
        let Some(mirror) = wanted else {
            self.forget(id);
            return None;
        };
        let is = DeviceState {
            mirror: mirror.clone(),
            unsure: false,
        };
        let Some(made) = made else {
            if let Some(there) = self.there.get_mut(&id) {
                there.is = is;
            }
            return None;
        };
        let index = made.index;
        self.there.insert(id, There { index, is });
        Some(NewMirror {
            interface: id,
            offloads: made.offloads,
            queues: vec![(WORKER, made.port)],
        })
    }

    /// Records a failed change and logs it once.
    fn fail(&mut self, id: InterfaceId, wanted: Option<&Mirror>, error: String) {
        let name = wanted.map_or("an interface that is gone", |mirror| &mirror.name);
        if self.failed.get(&id) != Some(&error) {
            tracing::warn!("host plane: the mirror of {name}: {error}");
        }
        let Some(mirror) = wanted else {
            // Its port is detached, which removes the device.
            self.forget(id);
            return;
        };
        self.failed.insert(id, error);
        if let Some(there) = self.there.get_mut(&id) {
            there.is.unsure = true;
            there.is.mirror.addresses.extend(&mirror.addresses);
        }
    }

    fn forget(&mut self, id: InterfaceId) {
        let gone = self.there.remove(&id).map(|there| there.index);
        for default in &mut self.defaults {
            // The route went with the device.
            default.take_if(|(index, _)| Some(*index) == gone);
        }
    }

    /// Moves the default routes to the wanted devices.
    fn route(&mut self, plane: &dyn Plane, changes: &MirrorChanges, wake: &Waker) {
        for (family, id) in [self.wanted.ipv4, self.wanted.ipv6].into_iter().enumerate() {
            let wanted = id.and_then(|id| self.default_by(id, family == 1));
            let before = self.defaults[family];
            let step = match (wanted, before) {
                (Some((index, route)), _) => {
                    // The kernel drops the routes of a device together with its last address, even if another
                    // follows.
                    let may_be_gone = id.is_some_and(|id| changes.mirrors.contains_key(&id));
                    if before == wanted && !may_be_gone {
                        continue;
                    }
                    Step::Default { index, route }
                }
                // The shared mirror stays without addresses, so the route has to be removed explicitly.
                (None, Some((index, route)))
                    if id.is_none() && self.shared.index() == Some(index) =>
                {
                    Step::NoDefault { index, route }
                }
                (None, _) => continue,
            };
            let outcomes = plane.take(vec![step], wake).recv();
            let outcome = outcomes.ok().and_then(|mut outcomes| outcomes.pop());
            if outcome.is_some_and(|outcome| warn(outcome, "default route")) {
                self.defaults[family] = wanted;
            }
        }
    }

    /// Returns the device and default route of an interface's mirror; `None` until it is ready.
    fn default_by(&self, id: InterfaceId, ipv6: bool) -> Option<(u32, DefaultRoute)> {
        let own = self.there.get(&id).map(|there| there.index);
        let is_ready = self.shared.has(id) && !self.shared.is_due();
        let index = own.or_else(|| self.shared.index().filter(|_| is_ready))?;
        let route = match ipv6 {
            true => DefaultRoute::V6,
            false => DefaultRoute::V4 {
                source: self.wanted.source4.filter(|_| own.is_none()),
            },
        };
        Some((index, route))
    }
}

/// Logs an error; returns true on success.
fn warn<T>(outcome: io::Result<T>, what: &str) -> bool {
    if let Err(error) = &outcome {
        tracing::warn!("host plane: {what}: {error}");
    }
    outcome.is_ok()
}

#[cfg(test)]
mod tests;
