//! Profiles of workers and threads, for `/tool/profile`.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::counters::Counters;
use dataplane::meter::Facility;
use dataplane::profile::{Profile, Sampled, Subject};
use menu::Reason;
use tool::{ProfileReading, ProfileSubject, Profiles, SampledClocks, WorkerClocks};

use super::Control;

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

impl Profiles for Control {
    fn begin(&mut self, subject: ProfileSubject) -> Result<(), Reason> {
        let Some(sampled) = subject_of(subject) else {
            return Ok(());
        };
        match &mut self.profile.running {
            Some((running, users)) if *running == subject => *users += 1,
            Some((running, _)) => {
                let word = ProfileSubject::WORDS[*running as usize];
                return Err(Reason::failure(format!(
                    "a profile by={word} is running; workers sample by one subject at a time"
                )));
            }
            None => {
                let begin = |counters: &Counters| counters.begin_profile(sampled);
                self.profile.samples = self.workers.counters().map(begin).collect();
                self.profile.running = Some((subject, 1));
            }
        }
        Ok(())
    }

    fn end(&mut self, subject: ProfileSubject) {
        match &mut self.profile.running {
            Some((running, users)) if *running == subject && *users > 1 => *users -= 1,
            Some((running, _)) if *running == subject => {
                self.profile.running = None;
                self.workers.counters().for_each(Counters::end_profile);
            }
            _ => {}
        }
    }

    fn read(&self) -> ProfileReading {
        let running = self.profile.running.map(|(subject, _)| subject);
        let names = running.map(|subject| self.profiled_names(subject));
        let workers = self.workers.counters().enumerate();
        let workers = workers.map(|(at, counters)| {
            let activities = Facility::ALL.iter();
            let activities = activities.map(|own| (own.name(), counters.clocks(*own)));
            let sampled = names.as_ref().zip(self.profile.samples.get(at));
            WorkerClocks {
                activities: activities.collect(),
                sampled: sampled.map_or_else(SampledClocks::default, |(names, profile)| {
                    named(profile.read(), names)
                }),
            }
        });
        ProfileReading {
            workers: workers.collect(),
            host: self.resources.time.clone(),
        }
    }
}

/// Returns the samples of a worker by name. Keys without a name belong to removed objects.
fn named(read: Sampled, names: &BTreeMap<u64, String>) -> SampledClocks {
    let name = |key: u64| names.get(&key).map_or("removed", |name| name);
    let samples = read.effective();
    SampledClocks {
        names: { read.keys.iter() }
            .map(|(key, clocks)| (name(*key).to_owned(), *clocks))
            .collect(),
        others: read.others,
        busy: read.busy,
        samples,
    }
}

impl Control {
    /// Returns the names of all keys that workers may sample by a subject.
    fn profiled_names(&self, subject: ProfileSubject) -> BTreeMap<u64, String> {
        match subject {
            ProfileSubject::Facility => BTreeMap::new(),
            ProfileSubject::Rule => self.firewall.rule_names(),
            ProfileSubject::Queue => self.features.queues.node_names(),
            ProfileSubject::Tunnel | ProfileSubject::Interface => {
                let all = self.layout.interfaces.iter();
                all.map(|(id, entry)| (id.slot() as u64, entry.name.to_string()))
                    .collect()
            }
        }
    }
}
