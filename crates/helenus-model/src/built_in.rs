//! Workloads by name: each a profile of our own with parameters, and what its phases do.
//! Refuses parameters that a workload does not have; a name that is not known gets the nearest.

mod list;

pub use list::ALL;

use crate::dist::Dist;
use crate::nearest::nearest;
use crate::positions::Positions;
use crate::schema_text::without_replication;
use crate::workload::Workload;
use crate::workload::profile::{Profile, ProfileError, ProfileWorkload, Spec};
use std::collections::BTreeMap;

/// The parameter that says how many replicas there are.
const RF: &str = "rf";

/// Its value where the cluster decides.
const AUTO: &str = "auto";

/// A workload that has a name.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// What it is about, in one line.
    pub about: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What is run one after the other.
    pub phases: &'static [PhaseOf],
    /// The profile, with `${parameter}` in it; none for `standard1`, which has a path of its own.
    pub yaml: Option<&'static str>,
}

/// A parameter of a built-in workload.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its default.
    pub default: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// A phase of a built-in workload.
#[derive(Debug, Clone, Copy)]
pub struct PhaseOf {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Operations and their weights: numbers, or parameters that hold one.
    pub mix: &'static [(&'static str, &'static str)],
    /// The parameter that says how many operations it has.
    pub count: &'static str,
    /// The parameter that says how many positions there are.
    pub population: &'static str,
    /// Which positions operations take.
    pub order: Order,
}

/// Which positions the operations of a phase take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    InTurn,
    /// Any, each as likely as any other.
    Any,
    /// As the parameter `requestdistribution` says: zipfian, uniform or latest.
    Asked,
}

/// A built-in workload with its parameters set.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltInWorkload {
    /// Tables, statements and data.
    pub workload: Workload,
    /// What is run one after the other.
    pub phases: Vec<BuiltInPhase>,
}

/// One phase, its parameters set.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltInPhase {
    /// Its name.
    pub name: String,
    /// Operations with their weights.
    pub mix: Vec<(String, u32)>,
    /// Operations that it has.
    pub count: u64,
    /// Positions that there are.
    pub population: u64,
    /// Which of them operations take.
    pub positions: Positions,
}

/// Why there is no such workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuiltInError {
    /// A name that is not known.
    #[error("{name:?} is not a built-in workload")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest that there is.
        near: Option<&'static str>,
    },
    /// A parameter that it does not have.
    #[error("{workload} has no parameter {name:?}")]
    Parameter {
        /// The workload.
        workload: &'static str,
        /// What was asked for.
        name: String,
        /// The nearest that there is.
        near: Option<&'static str>,
    },
    /// A value that a parameter does not take.
    #[error("{workload}: {name} = {value:?}: {why}")]
    Value {
        /// The workload.
        workload: &'static str,
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: String,
        /// What is wanted.
        why: &'static str,
    },
    /// Parameters that make no profile together.
    #[error("{workload} with these parameters: {error}")]
    Profile {
        /// The workload.
        workload: &'static str,
        /// What is wrong with it.
        error: ProfileError,
    },
}

impl BuiltInError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { near, .. } => {
                let names: Vec<&str> = ALL.iter().map(|known| known.name).collect();
                let near = near.map(|near| format!("did you mean {near}? "));
                format!("{}known: {}", near.unwrap_or_default(), names.join(", "))
            }
            Self::Parameter { workload, near, .. } => {
                let names = find(workload).map(|known| {
                    let names: Vec<&str> = known.parameters.iter().map(|p| p.name).collect();
                    names.join(", ")
                });
                let near = near.map(|near| format!("did you mean {near}? "));
                let names = names.ok().filter(|names| !names.is_empty());
                let names = names.map_or("it has none".to_owned(), |all| format!("it has {all}"));
                format!("{}{names}", near.unwrap_or_default())
            }
            Self::Value { .. } | Self::Profile { .. } => {
                "helenus workload show NAME prints the parameters and the profile".to_owned()
            }
        }
    }
}

/// The built-in workload of this name.
///
/// # Errors
/// There is none.
pub fn find(name: &str) -> Result<&'static BuiltIn, BuiltInError> {
    let found = ALL.iter().find(|known| known.name == name);
    found.ok_or_else(|| BuiltInError::Unknown {
        name: name.to_owned(),
        near: nearest(name, ALL.iter().map(|known| known.name)),
    })
}

/// Values of all parameters.
type Values = BTreeMap<&'static str, String>;

impl BuiltIn {
    /// The workload with these parameters, the others as they are by default.
    ///
    /// # Errors
    /// A parameter that it does not have, or a value that one does not take.
    pub fn with(&self, parameters: &[(String, String)]) -> Result<BuiltInWorkload, BuiltInError> {
        let values = self.values(parameters)?;
        let workload = match self.yaml {
            None => Workload::Standard1,
            Some(_) => self.profile(&values)?,
        };
        let phases = self.phases.iter().map(|phase| self.phase(phase, &values));
        Ok(BuiltInWorkload {
            workload,
            phases: phases.collect::<Result<_, _>>()?,
        })
    }

    /// Its profile as YAML with these parameters; none for `standard1`.
    ///
    /// # Errors
    /// A parameter that it does not have.
    pub fn text(&self, parameters: &[(String, String)]) -> Result<Option<String>, BuiltInError> {
        let values = self.values(parameters)?;
        Ok(self.yaml.map(|yaml| filled(yaml, &values)))
    }

    fn values(&self, given: &[(String, String)]) -> Result<Values, BuiltInError> {
        let defaults = self.parameters.iter();
        let mut values: Values = defaults.map(|p| (p.name, p.default.to_owned())).collect();
        for (name, value) in given {
            // NoSQLBench writes its names with - and with _.
            let same = |known: &&Parameter| {
                known.name == name || known.name.replace('-', "_") == name.replace('-', "_")
            };
            let Some(known) = self.parameters.iter().find(same) else {
                return Err(BuiltInError::Parameter {
                    workload: self.name,
                    name: name.clone(),
                    near: nearest(name, self.parameters.iter().map(|p| p.name)),
                });
            };
            if value.contains(['\n', '\r', '"', '\'', '{', '}', '#']) {
                return Err(self.wrong(
                    known.name,
                    value,
                    "it must not contain quotes, braces, # or line breaks",
                ));
            }
            if known.name == RF && value != AUTO && !value.parse().is_ok_and(|n: u32| n > 0) {
                let why = "it must be a whole number above 0, or auto";
                return Err(self.wrong(RF, value, why));
            }
            values.insert(known.name, value.clone());
        }
        Ok(values)
    }

    fn wrong(&self, name: &'static str, value: &str, why: &'static str) -> BuiltInError {
        BuiltInError::Value {
            workload: self.name,
            name,
            value: value.to_owned(),
            why,
        }
    }

    fn profile(&self, values: &Values) -> Result<Workload, BuiltInError> {
        let text = filled(self.yaml.unwrap_or_default(), values);
        let failed = |error| BuiltInError::Profile {
            workload: self.name,
            error,
        };
        let mut profile = Profile::read(&text).map_err(failed)?;
        if values.get(RF).is_some_and(|factor| factor == AUTO) {
            let definition = profile.keyspace_definition.take();
            profile.keyspace_definition = definition.map(|text| without_replication(&text));
        }
        let table = profile.defined_table().ok().flatten();
        let table = table.ok_or_else(|| {
            failed(ProfileError {
                line: 1,
                key: "table_definition".to_owned(),
                why: "there is no table".to_owned(),
                hint: None,
                others: Vec::new(),
            })
        })?;
        Ok(Workload::Profiles(ProfileWorkload {
            name: self.name.to_owned(),
            specs: vec![Spec { profile, table }],
            walk: None,
        }))
    }

    /// A number that a parameter holds, with the suffixes k, m and b.
    fn number(&self, name: &'static str, values: &Values) -> Result<u64, BuiltInError> {
        let text = values.get(name).map_or(name, String::as_str);
        let number = crate::dist::whole_number(text).and_then(|n| u64::try_from(n).ok());
        number.ok_or_else(|| {
            self.wrong(
                name,
                text,
                "it must be a whole number, such as 10000 or 10k",
            )
        })
    }

    fn phase(&self, phase: &PhaseOf, values: &Values) -> Result<BuiltInPhase, BuiltInError> {
        let mut mix = Vec::new();
        for (operation, weight) in phase.mix {
            let weight = self.number(weight, values)?;
            mix.push((
                (*operation).to_owned(),
                u32::try_from(weight).unwrap_or(u32::MAX),
            ));
        }
        let population = self.number(phase.population, values)?.max(1);
        Ok(BuiltInPhase {
            name: phase.name.to_owned(),
            mix,
            count: self.number(phase.count, values)?,
            population,
            positions: self.positions(phase.order, population, values)?,
        })
    }

    fn positions(
        &self,
        order: Order,
        population: u64,
        values: &Values,
    ) -> Result<Positions, BuiltInError> {
        let asked = "requestdistribution";
        let last = i64::try_from(population - 1).unwrap_or(i64::MAX);
        let value = values.get(asked).map_or("", String::as_str);
        match (order, value) {
            (Order::InTurn, _) => Ok(Positions::Sequential),
            (Order::Any, _) | (_, "uniform") => Ok(Positions::Uniform),
            (Order::Asked, "zipfian") => Ok(Positions::Drawn(Dist::zipf(0, last))),
            (Order::Asked, "latest") => Ok(Positions::Drawn(Dist::zipf(0, last).inverted())),
            (Order::Asked, other) => {
                Err(self.wrong(asked, other, "it must be zipfian, uniform or latest"))
            }
        }
    }
}

/// The text with its parameters in place.
fn filled(yaml: &str, values: &Values) -> String {
    let mut text = yaml.to_owned();
    for (name, value) in values {
        // A profile that somebody keeps says a number: one replica is there on every cluster.
        let value = match *name == RF && value == AUTO {
            true => "1",
            false => value,
        };
        text = text.replace(&format!("${{{name}}}"), value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::workload::ReplicationFactor;
    use crate::workload::maker::Maker;

    fn set(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        all.iter().map(owned).collect()
    }

    #[test]
    fn each_is_whole_and_its_phases_name_its_operations() {
        for known in ALL {
            let made = known.with(&[]).expect(known.name);
            let operations = made.workload.operations();
            assert_eq!(made.workload.name(), known.name);
            for phase in &made.phases {
                assert!(phase.count > 0 && phase.population > 0, "{}", known.name);
                for (operation, _) in &phase.mix {
                    assert!(
                        operations.contains(operation),
                        "{}: {operation}",
                        known.name
                    );
                }
            }
            if let Workload::Profiles(profiles) = &made.workload {
                let maker = Maker::new(profiles, Seed(1)).expect(known.name);
                assert!(maker.rows(0, 0).next().is_some());
            }
            let left = known.text(&[]).expect("a text").unwrap_or_default();
            assert!(
                !left.contains("${"),
                "{}: a parameter is not set",
                known.name
            );
        }
    }

    #[test]
    fn iot_takes_document_000s_parameters() {
        let given = set(&[
            ("rampup-cycles", "1k"),
            ("main_cycles", "10k"),
            ("write_ratio", "7"),
            ("read_ratio", "3"),
            ("addzeroes", "0"),
        ]);
        let made = find("iot").and_then(|iot| iot.with(&given)).expect("iot");
        let main = made.phases.iter().find(|p| p.name == "main").expect("main");
        assert_eq!(main.count, 10_000);
        let mix: Vec<(&str, u32)> = main.mix.iter().map(|(o, w)| (o.as_str(), *w)).collect();
        assert_eq!(mix, [("select_read", 3), ("insert", 7)]);
        assert_eq!(made.phases[0].count, 1_000);
        let Workload::Profiles(profiles) = &made.workload else {
            panic!("profiles")
        };
        let maker = Maker::new(profiles, Seed(1)).expect("a maker");
        // The second turn of a source is one tick of 100 ms after the first.
        let times: Vec<String> = [3, 10_003, 20_003]
            .map(|position| maker.rows(0, position).next().expect("a row")[2].clone())
            .map(|time| time.expect("a time").to_string())
            .to_vec();
        assert_eq!(times[0], "1970-01-01 00:00:00.000000+0000");
        assert_eq!(times[2], "1970-01-01 00:00:00.200000+0000");
        let data = maker.rows(0, 3).next().expect("a row")[5].clone();
        let data = data.expect("data").to_string();
        assert!((8_000..=12_000).contains(&data.len()), "{}", data.len());
    }

    #[test]
    fn what_is_not_known_gets_the_nearest() {
        let said = |result: Result<BuiltInWorkload, BuiltInError>| {
            let error = result.expect_err("refused");
            format!("{error} ({})", error.hint())
        };
        let iot = find("iot").expect("iot");
        let all = [
            find("ycsb-g").map_or_else(|e| format!("{e} ({})", e.hint()), |_| String::new()),
            said(iot.with(&set(&[("reed_ratio", "3")]))),
            said(iot.with(&set(&[("sources", "many")]))),
            said(iot.with(&set(&[("main-cycles", "x")]))),
            said(iot.with(&set(&[("keyspace", "a'b")]))),
            said(
                find("ycsb-a")
                    .expect("it")
                    .with(&set(&[("requestdistribution", "hotspot")])),
            ),
            said(find("standard1").expect("it").with(&set(&[("a", "b")]))),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        "ycsb-g" is not a built-in workload (did you mean ycsb-f? known: standard1, counter1, kv, timeseries, iot, ip2location, ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f)
        iot has no parameter "reed_ratio" (did you mean read_ratio? it has rampup-cycles, main-cycles, keyspace, table, rf, sources, stations, timespeed, limit, expiry_minutes, compression, read_ratio, write_ratio, read_cl, write_cl, instrument, addzeroes)
        iot with these parameters: line 21: columnspec.machine_id.population: "seq(1..many)": the form is seq(min..max) (helenus workload show NAME prints the parameters and the profile)
        iot: main-cycles = "x": it must be a whole number, such as 10000 or 10k (helenus workload show NAME prints the parameters and the profile)
        iot: keyspace = "a'b": it must not contain quotes, braces, # or line breaks (helenus workload show NAME prints the parameters and the profile)
        ycsb-a: requestdistribution = "hotspot": it must be zipfian, uniform or latest (helenus workload show NAME prints the parameters and the profile)
        standard1 has no parameter "a" (it has none)
        "#);
    }

    #[test]
    fn the_cluster_decides_on_replicas_unless_somebody_says() {
        let replication = ReplicationFactor::Each(2).on(["DC1", "DC2"]);
        let schema = |known: &BuiltIn, given: &[(&str, &str)], asked| {
            let made = known.with(&set(given)).expect("made");
            made.workload.schema(&replication, asked)[0].clone()
        };
        let open = "{'class': 'NetworkTopologyStrategy', 'DC1': 2, 'DC2': 2}";
        let three = "{'class': 'NetworkTopologyStrategy', 'replication_factor': 3}";
        for known in ALL {
            let text = schema(known, &[], false);
            assert!(text.ends_with(&format!("replication = {open}")), "{text}");
            if known.yaml.is_none() {
                continue;
            }
            let text = schema(known, &[("rf", "3")], false);
            assert!(text.ends_with(&format!("replication = {three}")), "{text}");
            // A flag comes before a parameter.
            let text = schema(known, &[("rf", "3")], true);
            assert!(text.ends_with(&format!("replication = {open}")), "{text}");
            assert!(known.with(&set(&[("rf", "many")])).is_err());
        }
    }

    #[test]
    fn ycsb_asks_for_few_keys_most_often() {
        let made = find("ycsb-a").expect("it").with(&[]).expect("made");
        let Positions::Drawn(dist) = &made.phases[1].positions else {
            panic!("drawn")
        };
        let seed = Seed(1);
        let drawn: Vec<i64> = (0..10_000).map(|i| dist.draw(seed.at(i))).collect();
        let first = drawn.iter().filter(|p| **p == 0).count();
        // 1 of the sum of i^-0.99 for 1000 keys is 12.9 %.
        assert!((1_200..1_400).contains(&first), "{first}");
        assert!(drawn.iter().all(|p| (0..1_000).contains(p)));
    }
}
