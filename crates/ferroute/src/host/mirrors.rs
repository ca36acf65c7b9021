//! The mirror devices, as they follow what control wants.
//!
//! The control thread takes what changed while it has the router, and gives the new ports to control when they are
//! there. Meanwhile it does other things: where there are thousands of devices, and addresses of IPv6, the kernel takes
//! tens of milliseconds for each. Where nothing changed there is nothing to take.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::{io, iter};

use frame::InterfaceId;
use machine::{Duration, Instant};
use netio::Waker;
use router::drive::Control;
use router::mirror::{Mirror, MirrorChanges, NewMirror};

use super::device::{Known, Made, Outcomes, Plane, Step};
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

/// All mirrors that are there.
#[derive(Default)]
pub(crate) struct Mirrors {
    there: BTreeMap<InterfaceId, There>,
    /// The devices that the default routes of IPv4 and IPv6 lead to.
    defaults: [Option<u32>; 2],
    /// What could not be done, and why.
    failed: BTreeMap<InterfaceId, String>,
    retry_at: Option<Instant>,
    under_way: Option<UnderWay>,
}

/// What is being done.
struct UnderWay {
    changes: MirrorChanges,
    /// The interface of each step.
    about: Vec<Option<InterfaceId>>,
    outcomes: Receiver<Outcomes>,
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
        }
        control.take_mirror_changes(BATCH)
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
        if !self.failed.is_empty() {
            self.retry_at.get_or_insert(shared.now() + RETRY);
        }
        if !made.is_empty() {
            let mut instance = shared.lock();
            for late in instance.control().attach_mirrors(made) {
                self.there.remove(&late);
            }
            shared.after_change(&mut instance);
        }
        changes.mirrors.len() == BATCH
    }

    /// Notes what came of each step; what there is nothing of has failed, as the host plane is gone.
    fn done_all(
        &mut self,
        changes: &MirrorChanges,
        about: Vec<Option<InterfaceId>>,
        outcomes: Outcomes,
    ) -> Vec<NewMirror> {
        let gone = || Err(io::Error::other("the host plane's thread is gone"));
        let outcomes = outcomes.into_iter().chain(iter::repeat_with(gone));
        let mut made = Vec::new();
        for (id, outcome) in about.into_iter().zip(outcomes) {
            let Some(id) = id else {
                warn(outcome, "the rate of errors");
                continue;
            };
            let wanted = changes.mirrors.get(&id).and_then(Option::as_ref);
            match outcome {
                Ok(new) => {
                    self.failed.remove(&id);
                    made.extend(self.done(id, wanted, new));
                }
                Err(error) => self.fail(id, wanted, error.to_string()),
            }
        }
        made
    }

    /// What to do, and for which interface: removals first, so that names are free again.
    fn steps(&mut self, changes: &MirrorChanges) -> Vec<(Step, Option<InterfaceId>)> {
        let (mut gone, mut rest) = (Vec::new(), Vec::new());
        for (id, wanted) in &changes.mirrors {
            match (self.there.get(id), wanted) {
                (Some(there), None) => gone.push((Step::Remove(there.index), Some(*id))),
                (Some(there), Some(mirror)) => {
                    if there.is.unsure || there.is.mirror != *mirror {
                        let step = Step::Change {
                            index: there.index,
                            before: there.is.clone(),
                            wanted: mirror.clone(),
                        };
                        rest.push((step, Some(*id)));
                    }
                }
                (None, Some(mirror)) => rest.push((Step::Make(*id, mirror.clone()), Some(*id))),
                (None, None) => {}
            }
        }
        gone.append(&mut rest);
        gone.extend(
            changes
                .settings
                .map(|settings| (Step::Settings(settings), None)),
        );
        gone
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
            default.take_if(|index| Some(*index) == gone);
        }
    }

    /// Leads the default routes to where they belong.
    fn route(&mut self, plane: &dyn Plane, changes: &MirrorChanges, wake: &Waker) {
        for (family, id) in [changes.default4, changes.default6].into_iter().enumerate() {
            let Some((id, index)) = id.and_then(|id| Some((id, self.there.get(&id)?.index))) else {
                continue;
            };
            // The kernel drops the routes of a device whose last address goes, though another comes.
            let may_be_gone = changes.mirrors.contains_key(&id);
            if self.defaults[family] == Some(index) && !may_be_gone {
                continue;
            }
            let ipv6 = family == 1;
            let outcomes = plane.take(vec![Step::Default { index, ipv6 }], wake).recv();
            let outcome = outcomes.ok().and_then(|mut outcomes| outcomes.pop());
            if outcome.is_some_and(|outcome| warn(outcome, "default route")) {
                self.defaults[family] = Some(index);
            }
        }
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
