//! The mirror devices, as they follow what control wants.
//!
//! The control thread takes what changed while it has the router, and gives the new ports to control when they are
//! there. Meanwhile it does other things: where there are thousands of devices, and addresses of IPv6, the kernel takes
//! tens of milliseconds for each. Where nothing changed there is nothing to take.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::{io, iter};

use frame::InterfaceId;
use machine::{Duration, Instant};
use netio::Waker;
use router::drive::Control;
use router::mirror::{Mirror, MirrorChanges, NewMirror};

use super::device::{Known, Made, Outcomes, Plane, Step};
use super::netlink::DefaultRoute;
use super::shared::{Share, SharedMirror};
use crate::core::Shared;

/// So many devices are made, changed or removed at a time. Others who want something of the host plane wait for that.
const BATCH: usize = 16;
/// After so long is tried again what failed.
const RETRY: Duration = Duration::from_secs(10);

/// The worker that the mirrors' queues are on.
const WORKER: u16 = 0;

/// A mirror that is there.
struct There {
    /// The device's number in the namespace.
    index: u32,
    is: Known,
}

/// Where packets leave to networks that no mirror has, as control said last.
#[derive(Clone, Copy, Default)]
struct Defaults {
    ipv4: Option<InterfaceId>,
    source4: Option<Ipv4Addr>,
    ipv6: Option<InterfaceId>,
}

/// All mirrors that are there.
#[derive(Default)]
pub(crate) struct Mirrors {
    there: BTreeMap<InterfaceId, There>,
    /// The mirror of point-to-point interfaces.
    shared: SharedMirror,
    /// The mirrors that the default routes should lead to.
    wanted: Defaults,
    /// The devices that the default routes of IPv4 and IPv6 lead to.
    defaults: [Option<(u32, DefaultRoute)>; 2],
    /// What could not be done, and why.
    failed: BTreeMap<InterfaceId, String>,
    /// Why the shared mirror is not as it should be. It is changed again at the next retry.
    shared_failed: Option<String>,
    retry_at: Option<Instant>,
    under_way: Option<UnderWay>,
}

/// What is being done.
struct UnderWay {
    changes: MirrorChanges,
    /// What each step is about.
    about: Vec<About>,
    outcomes: Receiver<Outcomes>,
}

/// What a step is about.
#[derive(Clone, Copy)]
enum About {
    /// The mirror of an interface.
    Mirror(InterfaceId),
    /// The device of the shared mirror.
    Shared,
    /// Addresses on that device.
    Share(Share),
    /// The settings of the namespace.
    Settings,
}

/// The ports of devices that were made.
#[derive(Default)]
struct NewPorts {
    mirrors: Vec<NewMirror>,
    shared: Option<Made>,
}

impl Mirrors {
    /// Takes from control what is to be done, if anything is.
    pub(crate) fn take(&mut self, control: &mut Control, now: Instant) -> Option<MirrorChanges> {
        if self.under_way.is_some() {
            return None;
        }
        if self.retry_at.is_some_and(|at| now >= at) {
            self.retry_at = None;
            control.retry_mirrors(self.failed.keys().copied());
            self.shared_failed = None;
        }
        let changes = control.take_mirror_changes(BATCH);
        if let Some(changes) = &changes {
            self.wanted = Defaults {
                ipv4: changes.default4,
                source4: changes.source4,
                ipv6: changes.default6,
            };
        }
        changes.or_else(|| self.is_shared_due().then(MirrorChanges::default))
    }

    /// Whether the shared mirror has to be made or changed now.
    fn is_shared_due(&self) -> bool {
        self.shared_failed.is_none() && (self.shared.is_missing() || self.shared.is_due())
    }

    /// Begins to do it. [`Self::settle`] sees to what comes of it.
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

    /// Gives control the ports of what was made, if that is done. Says whether there may be more to do.
    pub(crate) fn settle(&mut self, plane: &dyn Plane, shared: &Shared, wake: &Waker) -> bool {
        let outcomes = match self.under_way.as_ref().map(|of| of.outcomes.try_recv()) {
            Some(Ok(outcomes)) => outcomes,
            Some(Err(TryRecvError::Disconnected)) => Vec::new(),
            Some(Err(TryRecvError::Empty)) | None => return false,
        };
        self.finish(plane, outcomes, (shared, wake))
    }

    /// Does it and waits for it; the same as [`Self::settle`] then.
    pub(crate) fn follow(
        &mut self,
        plane: &dyn Plane,
        changes: MirrorChanges,
        (shared, wake): (&Shared, &Waker),
    ) -> bool {
        self.begin(plane, changes, wake);
        let outcomes = self.under_way.as_ref().map(|of| of.outcomes.recv());
        let outcomes = outcomes.and_then(Result::ok).unwrap_or_default();
        self.finish(plane, outcomes, (shared, wake))
    }

    fn finish(
        &mut self,
        plane: &dyn Plane,
        outcomes: Outcomes,
        (shared, wake): (&Shared, &Waker),
    ) -> bool {
        let Some(UnderWay { changes, about, .. }) = self.under_way.take() else {
            return false;
        };
        let made = self.done_all(&changes, about, outcomes);
        self.route(plane, &changes, wake);
        if !self.failed.is_empty() || self.shared_failed.is_some() {
            self.retry_at.get_or_insert(shared.now() + RETRY);
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

    /// Notes what came of each step; what there is nothing of has failed, as the host plane is gone.
    fn done_all(
        &mut self,
        changes: &MirrorChanges,
        about: Vec<About>,
        outcomes: Outcomes,
    ) -> NewPorts {
        let gone = || Err(io::Error::other("the host plane's thread is gone"));
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

    /// What to do, and what about: removals first, so that names are free again.
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
        let is = Known {
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

    /// Notes what could not be done; it is said once.
    fn fail(&mut self, id: InterfaceId, wanted: Option<&Mirror>, error: String) {
        let name = wanted.map_or("an interface that is gone", |mirror| &mirror.name);
        if self.failed.get(&id) != Some(&error) {
            tracing::warn!("host plane: the mirror of {name}: {error}");
        }
        let Some(mirror) = wanted else {
            // Its port is detached: the device goes with that.
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

    /// Leads the default routes to where they belong.
    fn route(&mut self, plane: &dyn Plane, changes: &MirrorChanges, wake: &Waker) {
        for (family, id) in [self.wanted.ipv4, self.wanted.ipv6].into_iter().enumerate() {
            let wanted = id.and_then(|id| self.default_by(id, family == 1));
            let before = self.defaults[family];
            let step = match (wanted, before) {
                (Some((index, route)), _) => {
                    // The kernel drops the routes of a device whose last address goes, though another comes.
                    let may_be_gone = id.is_some_and(|id| changes.mirrors.contains_key(&id));
                    if before == wanted && !may_be_gone {
                        continue;
                    }
                    Step::Default { index, route }
                }
                // Nothing else takes the route off the shared mirror, which stays when its last address goes.
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

    /// The device of an interface's mirror and the default route by it; `None` while it is not ready.
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

/// Warns of what went wrong; says whether nothing did.
fn warn<T>(outcome: io::Result<T>, what: &str) -> bool {
    if let Err(error) = &outcome {
        tracing::warn!("host plane: {what}: {error}");
    }
    outcome.is_ok()
}

#[cfg(test)]
mod tests;
