//! Distributes peers over the slaves of a bond by transmitted bytes (balance-tlb, balance-alb).

/// Number of hash buckets for peers.
pub const BUCKETS: usize = 256;
/// Distributes the buckets over the slaves. `of` holds the slave of each bucket, `bytes` the bytes recently sent to
/// each bucket, `slaves` the slaves that are up with their speeds. If any speed is 0 (unknown), all slaves count as
/// equally fast. A bucket moves only if its slave is gone or if the move balances the load better, because packets of
/// a moved bucket may arrive out of order. Without slaves the function changes nothing.
pub fn share_out(of: &mut [u8; BUCKETS], bytes: &[u64; BUCKETS], slaves: &[(u8, u32)]) {
    let unknown = slaves.iter().any(|(_, speed)| *speed == 0);
    let speed = |at: usize| if unknown { 1 } else { u64::from(slaves[at].1) };
    let place_of = |slave: u8| slaves.iter().position(|(place, _)| *place == slave);
    let mut loads = vec![Load::default(); slaves.len()];
    if slaves.is_empty() {
        return;
    }
    let mut homeless = Vec::new();
    for (bucket, slave) in of.iter().enumerate() {
        match place_of(*slave) {
            Some(at) => loads[at].add(bytes[bucket]),
            None => homeless.push(bucket),
        }
    }
    homeless.sort_by_key(|bucket| core::cmp::Reverse(bytes[*bucket]));
    for bucket in homeless {
        let Some(at) = least(&loads, speed) else {
            return;
        };
        loads[at].add(bytes[bucket]);
        of[bucket] = slaves[at].0;
    }
    for _ in 0..BUCKETS {
        let most = (0..loads.len()).max_by_key(|at| loads[*at].relative(speed(*at)));
        let (Some(from), Some(to)) = (most, least(&loads, speed)) else {
            return;
        };
        // A move helps while the target slave then has less relative load than the source had before.
        let helps = |bucket: &usize| {
            let after = loads[to].bytes + bytes[*bucket];
            of[*bucket] == slaves[from].0
                && bytes[*bucket] > 0
                && u128::from(after) * u128::from(speed(from))
                    < u128::from(loads[from].bytes) * u128::from(speed(to))
        };
        let best = (0..BUCKETS).filter(helps).max_by_key(|at| bytes[*at]);
        let Some(bucket) = best.filter(|_| from != to) else {
            return;
        };
        loads[from].bytes -= bytes[bucket];
        loads[from].buckets -= 1;
        loads[to].add(bytes[bucket]);
        of[bucket] = slaves[to].0;
    }
}

/// Load of a slave.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    bytes: u64,
    buckets: u64,
}

impl Load {
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.buckets += 1;
    }

    /// Load relative to the speed of the slave: by bytes, then by number of buckets.
    fn relative(self, speed: u64) -> (u128, u64) {
        let scaled = |number: u64| (u128::from(number) << 20) / u128::from(speed);
        (scaled(self.bytes), scaled(self.buckets) as u64)
    }
}

fn least(loads: &[Load], speed: impl Fn(usize) -> u64) -> Option<usize> {
    (0..loads.len()).min_by_key(|at| loads[*at].relative(speed(*at)))
}
