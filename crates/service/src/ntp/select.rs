//! Selection of servers that agree (RFC 5905, 11.2): intersection of their intervals, then clustering; the offset is
//! their weighted mean.

/// Candidate server. Durations are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Index of the server.
    pub(super) id: usize,
    pub(super) stratum: u8,
    /// Offset of its clock.
    pub(super) offset: i64,
    /// Maximum error of the offset.
    pub(super) distance: i64,
    pub(super) jitter: i64,
}

/// Result of the selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selected {
    /// Best server.
    pub(super) id: usize,
    /// Combined offset of all survivors.
    pub(super) offset: i64,
    pub(super) jitter: i64,
    /// Surviving servers.
    pub(super) agree: Vec<usize>,
}

/// Minimum number of survivors of the clustering (RFC 5905, figure 5: NMIN).
const FEW: usize = 3;
/// Weight of one stratum in the ranking (MAXDIST).
const STRATUM: i64 = 1_500_000_000;

/// Selects among candidates; `None` without a majority.
pub(super) fn select(candidates: &[Candidate]) -> Option<Selected> {
    let (low, high) = intersection(candidates)?;
    let may = |one: &&Candidate| one.offset >= low && one.offset <= high;
    let mut left: Vec<Candidate> = candidates.iter().filter(may).copied().collect();
    left.sort_by_key(|one| i64::from(one.stratum) * STRATUM + one.distance);
    cluster(&mut left);
    let best = *left.first()?;
    let (mut sum, mut weights) = (0_i128, 0_i128);
    for one in &left {
        let weight = (1_i128 << 60) / i128::from(one.distance.max(1));
        sum += i128::from(one.offset - best.offset) * weight;
        weights += weight;
    }
    let offset = best.offset + i64::try_from(sum / weights.max(1)).unwrap_or(0);
    Some(Selected {
        id: best.id,
        offset,
        jitter: best.jitter.max(spread(&left, &best)),
        agree: left.iter().map(|one| one.id).collect(),
    })
}

/// Interval that contains the true time if fewer than half of the servers are wrong (RFC 5905, 11.2.1).
fn intersection(candidates: &[Candidate]) -> Option<(i64, i64)> {
    let mut edges = Vec::with_capacity(candidates.len() * 3);
    for one in candidates {
        edges.push((one.offset.saturating_sub(one.distance), -1));
        edges.push((one.offset, 0));
        edges.push((one.offset.saturating_add(one.distance), 1));
    }
    edges.sort_unstable();
    let count = candidates.len();
    for wrong in 0..count.div_ceil(2) {
        let needed = count - wrong;
        let (low, below) = edge(edges.iter().copied(), needed, -1)?;
        let (high, above) = edge(edges.iter().rev().copied(), needed, 1)?;
        if below + above <= wrong && low < high {
            return Some((low, high));
        }
    }
    None
}

/// Edge at which `needed` intervals have begun, and the number of midpoints before it.
fn edge(
    edges: impl Iterator<Item = (i64, i32)>,
    needed: usize,
    begin: i32,
) -> Option<(i64, usize)> {
    let (mut open, mut middles, mut last) = (0_usize, 0, None);
    for (at, kind) in edges {
        last = Some(at);
        if kind == begin {
            open += 1;
            if open >= needed {
                break;
            }
        } else if kind == 0 {
            middles += 1;
        } else {
            open = open.saturating_sub(1);
        }
    }
    last.map(|at| (at, middles))
}

/// Removes outliers as long as that reduces the jitter (RFC 5905, 11.2.2).
fn cluster(left: &mut Vec<Candidate>) {
    while left.len() > FEW {
        let spreads = left.iter().map(|one| spread(left, one)).enumerate();
        let Some((worst, most)) = spreads.max_by_key(|(_, spread)| *spread) else {
            return;
        };
        if left.iter().map(|one| one.jitter).min() >= Some(most) {
            return;
        }
        left.remove(worst);
    }
}

/// Deviation of the other candidates from `one`.
fn spread(all: &[Candidate], one: &Candidate) -> i64 {
    let far = all
        .iter()
        .map(|other| i128::from(other.offset - one.offset));
    let square: i128 = far.map(|far| far * far).sum();
    let count = i128::try_from(all.len().saturating_sub(1).max(1)).unwrap_or(1);
    i64::try_from((square / count).isqrt()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(offsets: &[i64]) -> Vec<Candidate> {
        let one = |(id, offset): (usize, &i64)| Candidate {
            id,
            stratum: 2,
            offset: *offset,
            distance: 50,
            jitter: 1,
        };
        offsets.iter().enumerate().map(one).collect()
    }

    fn agree(offsets: &[i64]) -> Option<(Vec<usize>, i64)> {
        let mut selected = select(&all(offsets))?;
        selected.agree.sort_unstable();
        Some((selected.agree, selected.offset))
    }

    #[test]
    fn the_majority_of_agreeing_servers_wins() {
        assert_eq!(agree(&[7]), Some((vec![0], 7)));
        assert_eq!(agree(&[10, 20, 5_000]), Some((vec![0, 1], 15)));
        assert_eq!(agree(&[0, 1_000]), None, "nobody knows which of two");
        assert_eq!(agree(&[0, 1_000, 2_000]), None);
        assert_eq!(
            agree(&[-4_000, 10, 20, 12, 9_000]).map(|(who, _)| who),
            Some(vec![1, 2, 3])
        );
    }

    #[test]
    fn outliers_are_excluded() {
        let (who, offset) = agree(&[0, 2, 4, 45]).expect("they agree");
        assert_eq!((who, offset), (vec![0, 1, 2], 2));
    }

    #[test]
    fn the_server_of_lowest_stratum_is_preferred() {
        let mut candidates = all(&[1, 2]);
        candidates[1].stratum = 1;
        assert_eq!(select(&candidates).map(|selected| selected.id), Some(1));
    }
}
