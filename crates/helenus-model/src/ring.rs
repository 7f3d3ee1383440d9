//! The token ring: even tokens, the token of a key, replicas, and ownership in Cassandra's own arithmetic.
//! Refuses partitioners other than Murmur3Partitioner, and two nodes with one token.

pub mod murmur3;
mod newcomer;
pub mod replication;

pub use murmur3::{composite_key, murmur3_halves, murmur3_token};
pub use newcomer::newcomer_tokens;
pub use replication::{Factor, Replication, ReplicationError};

/// Tokens on the ring that Cassandra divides by: `i64::MAX - (i64::MIN + 1)`, two less than 2⁶⁴.
const RING: u128 = (1 << 64) - 2;

/// Distance that keeps tokens of different data centres apart where their even positions coincide.
const DATA_CENTER_STEP: u64 = 1000;

/// Evenly spaced tokens of one data centre, ascending, a list a node.
///
/// Slot `j` of `nodes × tokens_per_node` belongs to node `j % nodes`: each node owns the same share of its data
/// centre, and nodes listed with alternating racks alternate on the ring. Data centres are shifted against each
/// other by the bit-reversed fraction ½, ¼, ¾, ⅛ … of a slot, so that strategies that do not know data centres
/// spread too, and by 1000 tokens each, so that no token is used twice where sizes differ (below 2¹⁸ slots a data
/// centre and 64 data centres). `i64::MIN`, which no key hashes to, is never given out in the first data centre.
pub fn even_tokens(nodes: usize, tokens_per_node: usize, dc_index: usize) -> Vec<Vec<i64>> {
    let slots = (nodes * tokens_per_node) as u128;
    let mut tokens = vec![Vec::with_capacity(tokens_per_node); nodes];
    let dc = dc_index as u64;
    // A fraction of a slot in units of 2^-64: one half, plus the data centre's own.
    let fraction = (1_u128 << 63) + u128::from(dc.reverse_bits());
    for slot in 0..slots {
        let position = ((slot << 64) + fraction) / slots;
        let offset = i64::MIN.cast_unsigned().wrapping_add(dc * DATA_CENTER_STEP);
        #[expect(clippy::cast_possible_truncation, reason = "the ring wraps at 2^64")]
        let token = (position as u64).wrapping_add(offset).cast_signed();
        tokens[slot as usize % nodes].push(token);
    }
    for list in &mut tokens {
        list.sort_unstable();
    }
    tokens
}

/// A node as the ring sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Data centre.
    pub data_center: String,
    /// Rack, unique within its data centre only.
    pub rack: String,
    /// Tokens that the node owns; a node without any is no part of the ring.
    pub tokens: Vec<i64>,
}

/// Tokens after `start` up to and including `end`; it wraps where `end <= start`, and is the whole ring where both are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRange {
    /// Excluded.
    pub start: i64,
    /// Included.
    pub end: i64,
}

impl TokenRange {
    /// Whether the token lies in this range.
    pub fn contains(self, token: i64) -> bool {
        self.start == self.end || Self::width_of(self.start, token).wrapping_sub(1) < self.width()
    }

    /// Number of tokens, modulo 2⁶⁴: 0 is the whole ring.
    pub fn width(self) -> u64 {
        Self::width_of(self.start, self.end)
    }

    fn width_of(start: i64, end: i64) -> u64 {
        end.cast_unsigned().wrapping_sub(start.cast_unsigned())
    }
}

/// Why these nodes make no ring.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RingError {
    /// Two owners of one token.
    #[error("token {token} belongs to two nodes ({first} and {second}, counted from 0)")]
    Taken {
        /// The token.
        token: i64,
        /// Index of a node.
        first: usize,
        /// Index of another node, or the same.
        second: usize,
    },
}

/// Nodes and who owns which token. Nodes are named by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    members: Vec<Member>,
    /// Token and owner, ascending by token.
    sorted: Vec<(i64, usize)>,
}

impl Ring {
    /// The ring of these nodes.
    ///
    /// # Errors
    /// A token with two owners.
    pub fn new(members: Vec<Member>) -> Result<Self, RingError> {
        let mut sorted: Vec<(i64, usize)> = members
            .iter()
            .enumerate()
            .flat_map(|(index, member)| member.tokens.iter().map(move |token| (*token, index)))
            .collect();
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            if pair[0].0 == pair[1].0 {
                return Err(RingError::Taken {
                    token: pair[0].0,
                    first: pair[0].1,
                    second: pair[1].1,
                });
            }
        }
        Ok(Self { members, sorted })
    }

    /// All nodes in the order given.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Nodes that own at least one token.
    pub fn owners(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|m| !m.tokens.is_empty())
    }

    /// Every token with its owner's index, ascending.
    pub fn tokens(&self) -> &[(i64, usize)] {
        &self.sorted
    }

    /// Owners clockwise from `token`, one entry a token of the ring, once around.
    pub fn owners_from(&self, token: i64) -> impl Iterator<Item = usize> {
        let first = self.sorted.partition_point(|(t, _)| *t < token);
        let (before, from) = self.sorted.split_at(first);
        from.iter().chain(before).map(|(_, owner)| *owner)
    }

    /// The node whose primary range holds the token; absent on an empty ring.
    pub fn owner_of(&self, token: i64) -> Option<usize> {
        self.owners_from(token).next()
    }

    /// The range that ends at the `index`th token of the ring.
    fn range_at(&self, index: usize) -> TokenRange {
        let previous = index.checked_sub(1).unwrap_or(self.sorted.len() - 1);
        TokenRange {
            start: self.sorted[previous].0,
            end: self.sorted[index].0,
        }
    }

    /// The ranges that a node is first in line for, ascending by their end.
    pub fn primary_ranges(&self, member: usize) -> Vec<TokenRange> {
        (0..self.sorted.len())
            .filter(|index| self.sorted[*index].1 == member)
            .map(|index| self.range_at(index))
            .collect()
    }

    /// The ranges that a node holds a replica of, ascending by their end.
    ///
    /// # Errors
    /// Strategies whose replicas are not known.
    pub fn replica_ranges(
        &self,
        member: usize,
        replication: &Replication,
    ) -> Result<Vec<TokenRange>, ReplicationError> {
        let mut ranges = Vec::new();
        for (index, (token, _)) in self.sorted.iter().enumerate() {
            if replication.replicas(self, *token)?.contains(&member) {
                ranges.push(self.range_at(index));
            }
        }
        Ok(ranges)
    }

    /// Each token's share of the ring, as Murmur3Partitioner describes it: six decimals, half to even, then single precision.
    fn token_shares(&self) -> Vec<f32> {
        if self.sorted.len() == 1 {
            return vec![1.0];
        }
        (0..self.sorted.len())
            .map(|index| {
                let range = self.range_at(index);
                let distance = (i128::from(range.end) - i128::from(range.start))
                    .rem_euclid(RING.cast_signed())
                    .cast_unsigned();
                millionths(distance)
            })
            .collect()
    }

    /// Each node's share of the ring without replication, from 0 to 1; the shares sum to 1.
    pub fn ownership(&self) -> Vec<f32> {
        let mut shares = vec![0.0; self.members.len()];
        for ((_, owner), share) in self.sorted.iter().zip(self.token_shares()) {
            shares[*owner] += share;
        }
        shares
    }

    /// Each node's share of the data with replication, from 0 to 1; the shares of a data centre sum to its factor.
    /// Added up in single precision, by ascending token, as Cassandra does.
    ///
    /// # Errors
    /// Strategies whose replicas are not known.
    pub fn effective_ownership(
        &self,
        replication: &Replication,
    ) -> Result<Vec<f32>, ReplicationError> {
        let mut shares = vec![0.0; self.members.len()];
        for ((token, _), share) in self.sorted.iter().zip(self.token_shares()) {
            for replica in replication.replicas(self, *token)? {
                shares[replica] += share;
            }
        }
        Ok(shares)
    }
}

/// `distance / RING`, rounded half to even to six decimals.
fn millionths(distance: u128) -> f32 {
    let scaled = distance * 1_000_000;
    let (whole, rest) = (scaled / RING, scaled % RING);
    let up = match (rest * 2).cmp(&RING) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => whole % 2,
        std::cmp::Ordering::Greater => 1,
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "at most a million, exact in single precision"
    )]
    let count = (whole + up) as f32;
    count / 1e6
}
