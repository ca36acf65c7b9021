//! Readings of a profile: what the router offers to `/tool/profile`.

use menu::Reason;

/// What a profile divides the time by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileSubject {
    /// Activities of workers, and threads of the router.
    Facility,
    /// Firewall rules.
    Rule,
    /// Queues.
    Queue,
    /// Tunnels.
    Tunnel,
    /// Ingress interfaces.
    Interface,
}

impl ProfileSubject {
    /// Values of the argument `by`.
    pub const WORDS: &'static [&'static str] =
        &["facility", "rule", "queue", "tunnel", "interface"];

    /// Parses the argument `by`.
    ///
    /// # Errors
    /// The text is no subject.
    pub fn parse(text: Option<&str>) -> Result<Self, Reason> {
        Ok(match text {
            None | Some("facility") => Self::Facility,
            Some("rule") => Self::Rule,
            Some("queue") => Self::Queue,
            Some("tunnel") => Self::Tunnel,
            Some("interface") => Self::Interface,
            Some(_) => {
                let words = Self::WORDS.join(", ");
                return Err(Reason::failure(format!("by: expected one of {words}")));
            }
        })
    }
}

/// Time of a group of threads since the router's start, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Name of the group: `worker-0`, or the activity of other threads.
    pub name: String,
    /// Time on a processor.
    pub run: u64,
    /// Time of waiting for a processor that others used.
    pub wait: u64,
}

/// Time of the machine's processors and of the router's threads, as the host counts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTime {
    /// Time of the measurement in nanoseconds, of a monotonic clock.
    pub at: u64,
    /// Number of processors.
    pub processors: u64,
    /// Busy time of all processors, in nanoseconds.
    pub busy: u64,
    /// Part of `busy` in interrupts of all processors.
    pub interrupts: u64,
    /// Part of `busy` that other virtual machines took.
    pub stolen: u64,
    /// Groups of the router's threads.
    pub threads: Vec<ThreadTime>,
}

/// Sampled clocks of one worker since the profile began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampledClocks {
    /// Clocks by the name of a rule, queue, tunnel or interface.
    pub names: Vec<(String, u64)>,
    /// Clocks of names beyond the bound of a profile.
    pub others: u64,
    /// Clocks of the sampled steps, without idle time.
    pub busy: u64,
    /// Sum of the squares of the clocks of the sampled steps, in units of 2^16.
    pub squares: u64,
}

/// Clocks of one worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerClocks {
    /// Clocks by activity since the worker's start; all workers have the same activities.
    pub activities: Vec<(&'static str, u64)>,
    /// Samples by the subject of the profile.
    pub sampled: SampledClocks,
}

/// Clocks of all workers and times of the host at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileReading {
    /// Clocks of each worker.
    pub workers: Vec<WorkerClocks>,
    /// Time on the host; `None` where nobody measures it.
    pub host: Option<HostTime>,
}

/// Profiles of the router.
pub trait Profiles {
    /// Begins to sample by a subject; several profiles may sample by one subject at once.
    ///
    /// # Errors
    /// A profile by another subject is running.
    fn begin(&mut self, subject: ProfileSubject) -> Result<(), Reason>;

    /// Ends what `begin` began.
    fn end(&mut self, subject: ProfileSubject);

    /// Reads all clocks.
    fn read(&self) -> ProfileReading;
}
