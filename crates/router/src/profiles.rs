//! Profiles of workers and threads, for `/tool/profile`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::counters::Counters;
use dataplane::meter::Facility;
use dataplane::profile::{Profile, Sampled, Subject};
use menu::Reason;
use tool::{ProfileSubject, SampledClocks, WorkerClocks};

/// The profile that workers currently sample.
#[derive(Debug, Default)]
pub(crate) struct RunningProfile {
    /// The subject, and the number of commands that read it.
    running: Option<(ProfileSubject, usize)>,
    /// The samples of each worker. Control keeps them until the next profile begins, so that no worker frees them.
    samples: Vec<Arc<Profile>>,
}

/// Returns what workers sample; `None` for activities, which they always measure.
const fn subject_of(subject: ProfileSubject) -> Option<Subject> {
    match subject {
        ProfileSubject::Facility => None,
        ProfileSubject::Rule => Some(Subject::Rule),
        ProfileSubject::Queue => Some(Subject::Queue),
        ProfileSubject::Tunnel => Some(Subject::Tunnel),
        ProfileSubject::Interface => Some(Subject::Interface),
    }
}

impl RunningProfile {
    /// Begins to sample by a subject on all workers, or joins the running profile.
    ///
    /// # Errors
    /// A profile by another subject is running.
    pub(crate) fn begin<'a>(
        &mut self,
        subject: ProfileSubject,
        workers: impl Iterator<Item = &'a Counters>,
    ) -> Result<(), Reason> {
        let Some(sampled) = subject_of(subject) else {
            return Ok(());
        };
        match &mut self.running {
            Some((running, users)) if *running == subject => *users += 1,
            Some((running, _)) => {
                let word = ProfileSubject::WORDS[*running as usize];
                return Err(Reason::failure(format!(
                    "a profile by={word} is running; workers sample by one subject at a time"
                )));
            }
            None => {
                let begin = |counters: &Counters| counters.begin_profile(sampled);
                self.samples = workers.map(begin).collect();
                self.running = Some((subject, 1));
            }
        }
        Ok(())
    }

    /// Ends what [`Self::begin`] began; the last command by the subject ends the sampling.
    pub(crate) fn end<'a>(
        &mut self,
        subject: ProfileSubject,
        workers: impl Iterator<Item = &'a Counters>,
    ) {
        match &mut self.running {
            Some((running, users)) if *running == subject && *users > 1 => *users -= 1,
            Some((running, _)) if *running == subject => {
                self.running = None;
                workers.for_each(Counters::end_profile);
            }
            _ => {}
        }
    }

    /// Returns the keys that workers have sampled.
    pub(crate) fn keys(&self) -> BTreeSet<u64> {
        let read = self.samples.iter().flat_map(|profile| profile.read().keys);
        read.map(|(key, _)| key).collect()
    }

    /// Returns the subject that workers sample.
    pub(crate) fn subject(&self) -> Option<ProfileSubject> {
        self.running.map(|(subject, _)| subject)
    }

    /// Returns the clocks of each worker; `names` has the names of keys.
    pub(crate) fn clocks<'a>(
        &self,
        workers: impl Iterator<Item = &'a Counters>,
        names: &BTreeMap<u64, String>,
    ) -> Vec<WorkerClocks> {
        let samples = self.samples.iter().filter(|_| self.running.is_some());
        let samples = samples.map(Some).chain(core::iter::repeat(None));
        let clocks = workers.zip(samples).map(|(counters, profile)| {
            let activities = Facility::ALL.iter();
            let activities = activities.map(|own| (own.name(), counters.clocks(*own)));
            WorkerClocks {
                activities: activities.collect(),
                sampled: profile.map_or_else(SampledClocks::default, |profile| {
                    named(profile.read(), names)
                }),
            }
        });
        clocks.collect()
    }
}

/// Returns the samples of a worker by name. Keys without a name belong to removed objects.
fn named(read: Sampled, names: &BTreeMap<u64, String>) -> SampledClocks {
    let name = |key: u64| names.get(&key).map_or("removed", |name| name);
    SampledClocks {
        names: { read.keys.iter() }
            .map(|(key, clocks)| (name(*key).to_owned(), *clocks))
            .collect(),
        others: read.others,
        busy: read.busy,
        squares: read.squares,
    }
}
