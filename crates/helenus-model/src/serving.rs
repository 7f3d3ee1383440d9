//! Whether the replication of a keyspace can serve a consistency level, and which replication can.
//! Refuses guesses: replicas are counted on the ring that is there; nodes that are down count as there.

#[cfg(test)]
mod tests;

use crate::consistency::{Consistency, SerialConsistency, quorum};
use crate::cql::identifier;
use crate::ring::{Factor, Replication, Ring};
use std::collections::BTreeMap;

/// Replicas in a data centre unless set, if it has that many nodes.
pub const USUAL_REPLICAS: usize = 3;

/// What an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Of a read or a write.
    Plain(Consistency),
    /// Of the compare of a conditional write.
    Serial(SerialConsistency),
}

impl Level {
    /// Its name in CQL.
    pub fn word(self) -> &'static str {
        match self {
            Self::Plain(level) => level.word(),
            Self::Serial(SerialConsistency::Serial) => "SERIAL",
            Self::Serial(SerialConsistency::LocalSerial) => "LOCAL_SERIAL",
        }
    }

    /// The level that waits for the same replicas.
    fn counted(self) -> Consistency {
        match self {
            Self::Plain(level) => level,
            Self::Serial(SerialConsistency::Serial) => Consistency::Quorum,
            Self::Serial(SerialConsistency::LocalSerial) => Consistency::LocalQuorum,
        }
    }
}

/// Why a replication cannot serve a level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Shortfall {
    /// Some rows have fewer replicas than the level waits for.
    #[error("{level} needs {}{}, and some rows have {}", replicas(*.wants), place(.data_center.as_deref()), only(*.has, .data_center.is_some()))]
    TooFew {
        /// The level.
        level: &'static str,
        /// Replicas that it waits for.
        wants: u32,
        /// Replicas that the row with the fewest has.
        has: u32,
        /// Where they are counted; none is the whole cluster.
        data_center: Option<String>,
    },
    /// The level counts by data centre, and the strategy does not.
    #[error("{level} needs a quorum in each data centre, and SimpleStrategy ignores data centres")]
    NoDataCenters {
        /// The level.
        level: &'static str,
    },
}

fn place(data_center: Option<&str>) -> String {
    data_center.map_or_else(String::new, |name| format!(" in {name}"))
}

fn replicas(count: u32) -> String {
    match count {
        1 => "1 replica".to_owned(),
        count => format!("{count} replicas"),
    }
}

fn only(has: u32, there: bool) -> String {
    let there = if there { " there" } else { "" };
    match has {
        0 => format!("none{there}"),
        has => format!("only {has}{there}"),
    }
}

/// Whether operations at a level, for a client in `local`, can be served by all rows of a keyspace. What cannot be
/// known (no tokens, a strategy that Cassandra does not ship) is let through.
///
/// # Errors
/// Some rows have too few replicas, even while every node is up.
pub fn serves(
    ring: &Ring,
    replication: &Replication,
    local: &str,
    level: Level,
) -> Result<(), Shortfall> {
    let word = level.word();
    let needs = needs(replication, local, level.counted());
    let Some(needs) = needs else {
        return Ok(());
    };
    let apart = |name: &str| ring.owners().any(|member| member.data_center != name);
    let several = ring.owners().next().is_some_and(|m| apart(&m.data_center));
    if matches!(replication, Replication::Simple(_))
        && level == Level::Plain(Consistency::EachQuorum)
        && several
    {
        return Err(Shortfall::NoDataCenters { level: word });
    }
    for (data_center, wants) in needs {
        let Some(has) = fewest(ring, replication, data_center) else {
            continue;
        };
        if has < wants {
            return Err(Shortfall::TooFew {
                level: word,
                wants,
                has,
                data_center: data_center.map(str::to_owned),
            });
        }
    }
    Ok(())
}

/// How many replicas a level waits for, and in which data centre (none: anywhere); none where nothing is known of the
/// strategy. This is the arithmetic of Cassandra's own levels.
fn needs<'a>(
    replication: &'a Replication,
    local: &'a str,
    level: Consistency,
) -> Option<Vec<(Option<&'a str>, u32)>> {
    use Consistency as C;
    let number = |factor: &Factor| u32::try_from(factor.all).unwrap_or(u32::MAX);
    let (total, here, each) = match replication {
        Replication::Local | Replication::Foreign { .. } => return None,
        Replication::Simple(factor) => {
            let all = number(factor);
            (all, all, vec![(None, quorum(all))])
        }
        Replication::NetworkTopology(factors) => {
            let here = factors.get(local).map_or(0, number);
            let each = factors.iter().filter(|(_, factor)| factor.all > 0);
            let each = each.map(|(dc, factor)| (Some(dc.as_str()), quorum(number(factor))));
            (factors.values().map(number).sum(), here, each.collect())
        }
    };
    let anywhere = |wants| vec![(None, wants)];
    Some(match level {
        // A hint is enough.
        C::Any => vec![],
        C::One => anywhere(1),
        C::Two => anywhere(2),
        C::Three => anywhere(3),
        C::Quorum => anywhere(quorum(total)),
        C::All => anywhere(total.max(1)),
        C::LocalOne => vec![(Some(local), 1)],
        C::LocalQuorum => vec![(Some(local), quorum(here))],
        C::EachQuorum => each,
    })
}

/// Replicas in a data centre (none: anywhere) of the row that has the fewest; none where there is no ring.
fn fewest(ring: &Ring, replication: &Replication, data_center: Option<&str>) -> Option<u32> {
    let members = ring.members();
    let of_token = |token: i64| {
        let replicas = replication.replicas(ring, token).ok()?;
        let counted = replicas
            .iter()
            .filter(|at| data_center.is_none_or(|name| members[**at].data_center == name));
        u32::try_from(counted.count()).ok()
    };
    let all = ring.tokens().iter().map(|(token, _)| of_token(*token));
    all.collect::<Option<Vec<u32>>>()?.into_iter().min()
}

/// An operation that is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub operation: String,
    /// The keyspace that it reads or writes.
    pub keyspace: String,
    /// What it waits for.
    pub level: Level,
}

/// A keyspace as it is, or as it is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How it is replicated.
    pub replication: Replication,
    /// Whether it is there.
    pub exists: bool,
    /// Whether a person asked for this replication with --replication-factor.
    pub asked: bool,
}

/// An operation that its keyspace cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("keyspace {keyspace} cannot serve {operation:?}: {why}")]
pub struct Unserved {
    /// The operation.
    pub operation: String,
    /// The keyspace.
    pub keyspace: String,
    /// Why.
    pub why: Shortfall,
    /// The statement with which it can; none where the cluster has too few nodes for the level.
    pub cure: Option<String>,
    /// Whether the keyspace is there.
    pub exists: bool,
    /// Whether a person asked for its replication with --replication-factor.
    pub asked: bool,
}

impl Unserved {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match (&self.cure, self.exists) {
            (Some(statement), true) => format!(
                "run {statement}; if it holds data, follow with `nodetool repair -full {}`; or use a weaker level",
                self.keyspace
            ),
            (Some(statement), false) if self.asked => format!(
                "create it with {statement}, leave --replication-factor out, or use a weaker level"
            ),
            (Some(statement), false) => {
                format!("create it with {statement}, or use a weaker level")
            }
            (None, _) => "the cluster has too few nodes for it: use a weaker level".to_owned(),
        }
    }
}

/// Whether the keyspaces can serve all operations, for a client in `local`. An unknown keyspace passes.
///
/// # Errors
/// The first operation that cannot be served.
pub fn check(
    ring: &Ring,
    local: &str,
    keyspaces: &BTreeMap<String, Standing>,
    all: &[Wanted],
) -> Result<(), Box<Unserved>> {
    for wanted in all {
        let Some(standing) = keyspaces.get(&wanted.keyspace) else {
            continue;
        };
        let Err(why) = serves(ring, &standing.replication, local, wanted.level) else {
            continue;
        };
        let same = all.iter().filter(|other| other.keyspace == wanted.keyspace);
        let levels: Vec<Level> = same.map(|other| other.level).collect();
        let verb = if standing.exists { "ALTER" } else { "CREATE" };
        let cure = better(ring, local, &standing.replication, &levels);
        let cure = cure.map(|factors| {
            let keyspace = identifier(&wanted.keyspace);
            format!(
                "{verb} KEYSPACE {keyspace} WITH replication = {}",
                map(&factors)
            )
        });
        return Err(Box::new(Unserved {
            operation: wanted.operation.clone(),
            keyspace: wanted.keyspace.clone(),
            why,
            cure,
            exists: standing.exists,
            asked: standing.asked,
        }));
    }
    Ok(())
}

/// An existing keyspace with another replication than --replication-factor asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "keyspace {keyspace} already exists with replication {has}, and --replication-factor asks for {asked}"
)]
pub struct OtherReplication {
    /// The keyspace.
    pub keyspace: String,
    /// The map of its replication.
    pub has: String,
    /// The map that was asked for.
    pub asked: String,
    /// Name of the cluster, where it is this user's.
    pub cluster: Option<String>,
}

impl OtherReplication {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let reset = self.cluster.as_ref().map_or_else(String::new, |name| {
            format!("; or drop what was created since with `helenus reset {name}`")
        });
        format!(
            "the flag does not change an existing keyspace: run ALTER KEYSPACE {} WITH replication = {}; if it holds data, follow with `nodetool repair -full {}`{reset}; or leave --replication-factor out",
            identifier(&self.keyspace),
            self.asked,
            self.keyspace
        )
    }
}

/// Whether those of these keyspaces that are there have the replication that a person asks for.
///
/// # Errors
/// The first that has another.
pub fn as_asked<'a>(
    (cluster, ring): (Option<&str>, &Ring),
    keyspaces: &BTreeMap<String, Standing>,
    names: impl IntoIterator<Item = &'a str>,
    asked: &BTreeMap<String, Factor>,
) -> Result<(), Box<OtherReplication>> {
    for name in names {
        let there = keyspaces.get(name).filter(|standing| standing.exists);
        let Some(standing) = there else { continue };
        let has = by_data_center(&standing.replication, ring);
        if has.as_ref() != Some(asked) {
            return Err(Box::new(OtherReplication {
                keyspace: name.to_owned(),
                has: words(&standing.replication),
                asked: map(asked),
                cluster: cluster.map(str::to_owned),
            }));
        }
    }
    Ok(())
}

/// A replication as a statement would have it.
fn words(replication: &Replication) -> String {
    match replication {
        Replication::NetworkTopology(factors) => map(factors),
        Replication::Simple(factor) => {
            format!(
                "{{'class': 'SimpleStrategy', 'replication_factor': {}}}",
                factor.all
            )
        }
        Replication::Local => "LocalStrategy".to_owned(),
        Replication::Foreign { class, .. } => class.clone(),
    }
}

/// Replicas by data centre, where the strategy says so; in one data centre SimpleStrategy has them all there.
fn by_data_center(replication: &Replication, ring: &Ring) -> Option<BTreeMap<String, Factor>> {
    match replication {
        Replication::NetworkTopology(factors) => {
            let some = factors.iter().filter(|(_, factor)| factor.all > 0);
            Some(some.map(|(dc, factor)| (dc.clone(), *factor)).collect())
        }
        Replication::Simple(factor) => match nodes(ring).into_keys().collect::<Vec<_>>()[..] {
            [only] => Some(BTreeMap::from([(only.to_owned(), *factor)])),
            _ => None,
        },
        Replication::Local | Replication::Foreign { .. } => None,
    }
}

/// Replicas by data centre with which all these levels can be served: what already exists stays as far as it can.
fn better(
    ring: &Ring,
    local: &str,
    now: &Replication,
    levels: &[Level],
) -> Option<BTreeMap<String, Factor>> {
    let nodes = nodes(ring);
    let usual = |nodes: usize| nodes.min(USUAL_REPLICAS);
    let of = |choose: &dyn Fn(&str, usize) -> usize| {
        let each = nodes.iter();
        let each = each.map(|(dc, nodes)| ((*dc).to_owned(), Factor::full(choose(dc, *nodes))));
        each.collect::<BTreeMap<_, _>>()
    };
    let kept = of(&|dc, nodes| match now {
        Replication::NetworkTopology(factors) => factors
            .get(dc)
            .map_or(usual(nodes), |factor| factor.all.min(nodes)),
        _ => usual(nodes),
    });
    let serve = |factors: &BTreeMap<String, Factor>| {
        let replication = Replication::NetworkTopology(factors.clone());
        let mut levels = levels.iter();
        levels.all(|level| serves(ring, &replication, local, *level).is_ok())
    };
    [kept, of(&|_, nodes| usual(nodes)), of(&|_, nodes| nodes)]
        .into_iter()
        .find(serve)
}

fn map(factors: &BTreeMap<String, Factor>) -> String {
    let some = factors.iter().filter(|(_, factor)| factor.all > 0);
    let each: String = some
        .map(|(dc, factor)| format!(", '{}': {}", dc.replace('\'', "''"), factor.all))
        .collect();
    format!("{{'class': 'NetworkTopologyStrategy'{each}}}")
}

/// Replication of a keyspace as a statement or the server has it: since 4.0 `replication_factor` means every data
/// centre; none where it cannot be read.
pub fn replication(map: &BTreeMap<String, String>, ring: &Ring) -> Option<Replication> {
    let mut read = Replication::from_map(map).ok()?;
    if let Replication::NetworkTopology(factors) = &mut read
        && let Some(every) = factors.remove("replication_factor")
    {
        for dc in nodes(ring).into_keys() {
            factors.entry(dc.to_owned()).or_insert(every);
        }
    }
    Some(read)
}

/// Nodes that hold data, by data centre.
fn nodes(ring: &Ring) -> BTreeMap<&str, usize> {
    let mut nodes = BTreeMap::new();
    for member in ring.owners() {
        *nodes.entry(member.data_center.as_str()).or_default() += 1;
    }
    nodes
}
