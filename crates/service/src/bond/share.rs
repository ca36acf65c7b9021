//! Sharing peers out over slaves by what is sent to them (balance-tlb, balance-alb).

/// Buckets that peers are shared out in.
pub const BUCKETS: usize = 256;
/// Shares buckets out over slaves: `of` has the slave of each, `bytes` what was lately sent to each, `slaves` those
/// that are up, each with its speed; of a speed that nobody knows, all are alike. Only buckets move that have to, or
/// that make the load more even: what moves may be out of order for a moment. Without slaves nothing is changed.
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
        // Moving a bucket helps while the slave that gets it has less then than the other had.
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

/// What a slave has.
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

    /// For a slave of this speed: by bytes, and where these are the same by buckets.
    fn relative(self, speed: u64) -> (u128, u64) {
        let scaled = |number: u64| (u128::from(number) << 20) / u128::from(speed);
        (scaled(self.bytes), scaled(self.buckets) as u64)
    }
}

fn least(loads: &[Load], speed: impl Fn(usize) -> u64) -> Option<usize> {
    (0..loads.len()).min_by_key(|at| loads[*at].relative(speed(*at)))
}
