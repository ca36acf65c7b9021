//! The reference of the comparison: the kernel's forwarding in a thread (threaded NAPI).

use lab::Lab;

use super::cores::Cores;
use super::napi::Napi;
use super::{KERNEL, NOBODY};

/// Makes the kernel of its host forward in a thread on the second core.
pub(super) fn prepare(lab: &Lab, cores: Cores) -> Result<Napi, String> {
    let script = format!(
        "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.k1.rp_filter=0
         ip neighbour replace 10.0.2.2 lladdr {NOBODY} nud permanent dev k2
         ip neighbour replace 2001:db8:2::2 lladdr {NOBODY} nud permanent dev k2
         ip route add 198.18.0.0/15 via 10.0.2.2
         ip route add 2001:db8:ffff::/48 via 2001:db8:2::2"
    );
    let output = lab
        .command(KERNEL, "sh")
        .map_err(|error| error.to_string())?
        .args(["-e", "-c", &script])
        .output()
        .map_err(|error| format!("sh: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("preparing the kernel's side: {reason}"));
    }
    Napi::begin(lab, KERNEL, "k1", cores)
}
