//! Host plane: an anonymous network namespace of this process, in which ordinary sockets use the router's
//! addresses.
//!
//! One thread lives in the namespace and runs jobs there: opens TUN devices, sets addresses, starts commands.
//! Packets cross between namespace and data plane through mirror devices, one per interface to which a socket
//! may bind.

pub(crate) mod device;
pub(crate) mod exec;
pub(crate) mod mirrors;
pub(crate) mod netlink;
pub(crate) mod shared;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use netio::Readiness;
use router::mirror::HostSettings;

use crate::system::confine::Confinement;

type Job = Box<dyn FnOnce() + Send>;

/// The namespace and its thread. Both end when this is dropped and no device is open.
pub(crate) struct HostPlane {
    jobs: Sender<Job>,
    namespace: File,
    /// Readiness of all mirrors, which their worker checks at once.
    readiness: Arc<Readiness>,
}

impl HostPlane {
    /// Creates the namespace, with its loopback up, and confines its thread.
    pub(crate) fn new(confinement: &Confinement) -> Result<Self, String> {
        let confinement = confinement.clone();
        let (jobs, todo) = channel::<Job>();
        let (ready, is_ready) = channel();
        thread::Builder::new()
            .name(String::from("host-plane"))
            .spawn(move || {
                let entered = enter();
                confinement.enter();
                let _ = ready.send(entered);
                todo.iter().for_each(|job| job());
            })
            .map_err(|error| format!("host plane: {error}"))?;
        let entered = is_ready
            .recv()
            .map_err(|_| String::from("host plane: the thread ended with an error"))?;
        let namespace = entered.map_err(|error| format!("host plane: {error}"))?;
        let readiness = Readiness::new().map_err(|error| format!("host plane: {error}"))?;
        Ok(Self {
            jobs,
            namespace,
            readiness,
        })
    }

    /// Runs a job in the namespace and waits for its result.
    pub(crate) fn inside<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let (answer, answered) = channel();
        let run = Box::new(move || {
            let _ = answer.send(job());
        });
        let gone = || io::Error::other("the thread of the host plane has ended");
        self.jobs.send(run).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }

    /// Queues a job for the namespace. Without the thread nothing happens.
    fn begin(&self, job: impl FnOnce() + Send + 'static) {
        let _ = self.jobs.send(Box::new(job));
    }

    /// Removes all mirrors at once, before their ports close one by one.
    pub(crate) fn remove_mirrors(&self) {
        let removed = self.inside(|| netlink::Netlink::open()?.remove_mirrors());
        if let Err(error) = removed {
            tracing::warn!("host plane: removing the mirrors: {error}");
        }
    }

    /// Returns the path of the namespace for other processes of this user.
    pub(crate) fn path(&self) -> String {
        format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.namespace.as_raw_fd()
        )
    }
}

fn enter() -> io::Result<File> {
    netio::unshare_network()?;
    let namespace = File::open("/proc/thread-self/ns/net")?;
    netlink::Netlink::open()?.loopback_up()?;
    // Replies may leave by another mirror: the router selects the path, not the namespace. Neighbours and
    // advertisements are the router's task, too.
    for (file, value) in [
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
        // The router sends ICMP errors through a mirror from the process's own address.
        ("ipv4/conf/all/accept_local", "1"),
        ("ipv4/ip_forward", "0"),
        // Otherwise the other addresses of a network would go with the first.
        ("ipv4/conf/all/promote_secondaries", "1"),
        // The settings limit errors per host; the limit of all together is lifted.
        ("ipv4/icmp_msgs_per_sec", "1000000"),
        ("ipv4/icmp_msgs_burst", "1000000"),
        ("ipv6/conf/default/accept_ra", "0"),
        ("ipv6/conf/default/addr_gen_mode", "1"),
        ("ipv6/conf/default/accept_dad", "0"),
    ] {
        // A kernel without a family lacks its files.
        let _ = set(file, value);
    }
    Ok(namespace)
}

/// Applies the settings of `/ip/settings` that concern local services.
fn apply(settings: &HostSettings) -> io::Result<()> {
    set("ipv4/icmp_ratelimit", &settings.interval_ms.to_string())?;
    set("ipv4/icmp_ratemask", &settings.mask.to_string())?;
    match set(
        "ipv4/tcp_syncookies",
        if settings.syn_cookies { "1" } else { "0" },
    ) {
        // The kernel was built without this setting.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Writes a setting of the calling thread's namespace.
fn set(file: &str, value: &str) -> io::Result<()> {
    std::fs::write(format!("/proc/sys/net/{file}"), value)
}
