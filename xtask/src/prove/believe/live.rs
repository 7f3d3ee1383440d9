//! Live comparisons: `helenus compare --ab` against nodes whose truth is known (the fake node that serves), and with a
//! delay injected into real ones. Refuses to look inside: exit codes and printed intervals, as a person gets them.

use crate::prove::campaign::{Measures, Outcome, by_name};
use crate::prove::host::Watch;
use crate::prove::rig::Rig;
use serde_json::Value;
use std::error::Error;

/// A kind of trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// Its name in the journal.
    pub(super) variant: &'static str,
    /// What it is.
    pub(super) about: &'static str,
    /// Trials.
    pub(super) trials: usize,
    /// Phase and measure whose interval is looked at.
    pub(super) looked_at: &'static str,
    /// What B has more than A: lines of its file.
    a: &'static str,
    b: &'static str,
    /// Lines of both files.
    both: &'static str,
    /// Flags of the comparison.
    flags: &'static [&'static str],
    /// Real Cassandra.
    real: bool,
}

impl Kind {
    /// Pairs of a trial.
    pub(super) fn pairs(&self) -> &'static str {
        let at = self.flags.iter().position(|flag| *flag == "--pairs");
        at.and_then(|at| self.flags.get(at + 1))
            .copied()
            .unwrap_or("–")
    }
}

/// As a workflow of continuous integration would have it: short runs, eight pairs, two bars.
const WORKFLOW: &[&str] = &[
    "--pairs",
    "8",
    "--fail-on",
    "p50>+5%",
    "--fail-on",
    "p99>+15%",
];

/// The same with twelve pairs, as the sample workflow has it: eight leave a median that is 10 % higher too close to a bar
/// of 5 %.
const TWELVE: &[&str] = &[
    "--pairs",
    "12",
    "--fail-on",
    "p50>+5%",
    "--fail-on",
    "p99>+15%",
];

/// Six pairs of short runs: enough for a verdict.
const SIX: &[&str] = &["--pairs", "6"];

/// Restart-to-restart noise of 2 % on top of what the host adds, as `docs/design/020-fake-serving-node.md` has it.
const SAME: &str = "jvm = ['-Dfake.life_sd=0.02']\n";

const LONG: &str = "phases = 'write'\nrate = 6000\nwarmup = '300ms'\nduration = '1200ms'\n";
const SHORT: &str = "phases = 'write'\nrate = 3000\nwarmup = '200ms'\nduration = '700ms'\n";
const SLOW: &str =
    "preset = 'dev'\nphases = ['write', 'read']\nrate = 800\nwarmup = '1500ms'\nduration = '3s'\n";

/// All kinds, in the order in which a sitting takes them.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        variant: "ci-noise",
        about: "workflow, nothing differs",
        trials: 20,
        looked_at: "write_response_p50",
        a: SAME,
        b: SAME,
        both: LONG,
        flags: WORKFLOW,
        real: false,
    },
    Kind {
        variant: "ci12-p50",
        about: "workflow, body +13 %, which is +10 % in the median by reckoning",
        trials: 20,
        looked_at: "write_response_p50",
        a: SAME,
        b: "jvm = ['-Dfake.life_sd=0.02', '-Dfake.body=1.13']\n",
        both: LONG,
        flags: TWELVE,
        real: false,
    },
    Kind {
        variant: "ci12-noise",
        about: "workflow, nothing differs",
        trials: 20,
        looked_at: "write_response_p50",
        a: SAME,
        b: SAME,
        both: LONG,
        flags: TWELVE,
        real: false,
    },
    Kind {
        variant: "ci12-p99",
        about: "workflow, tail +30 %",
        trials: 20,
        looked_at: "write_response_p99",
        a: SAME,
        b: "jvm = ['-Dfake.life_sd=0.02', '-Dfake.tail=1.30']\n",
        both: LONG,
        flags: TWELVE,
        real: false,
    },
    Kind {
        variant: "ci-p50-10",
        about: "workflow, body +12 %, which is +9.2 % in the median by reckoning",
        trials: 20,
        looked_at: "write_response_p50",
        a: SAME,
        b: "jvm = ['-Dfake.life_sd=0.02', '-Dfake.body=1.12']\n",
        both: LONG,
        flags: WORKFLOW,
        real: false,
    },
    Kind {
        variant: "ci-p50",
        about: "workflow, body +10 %, which is +8.5 % in the median by reckoning",
        trials: 20,
        looked_at: "write_response_p50",
        a: SAME,
        b: "jvm = ['-Dfake.life_sd=0.02', '-Dfake.body=1.10']\n",
        both: LONG,
        flags: WORKFLOW,
        real: false,
    },
    Kind {
        variant: "ci-p99",
        about: "workflow, tail +30 %",
        trials: 20,
        looked_at: "write_response_p99",
        a: SAME,
        b: "jvm = ['-Dfake.life_sd=0.02', '-Dfake.tail=1.30']\n",
        both: LONG,
        flags: WORKFLOW,
        real: false,
    },
    Kind {
        variant: "noise",
        about: "short runs, nothing differs",
        trials: 60,
        looked_at: "write_response_p50",
        a: SAME,
        b: SAME,
        both: SHORT,
        flags: SIX,
        real: false,
    },
    Kind {
        variant: "body-5",
        about: "short runs, body +5 %",
        trials: 10,
        looked_at: "write_response_p50",
        a: SAME,
        b: "jvm = ['-Dfake.life_sd=0.02', '-Dfake.body=1.05']\n",
        both: SHORT,
        flags: SIX,
        real: false,
    },
    Kind {
        variant: "cpu-10",
        about: "short runs, CPU an operation +10 % of 200 µs",
        trials: 10,
        looked_at: "write_node_cpu",
        a: "jvm = ['-Dfake.life_sd=0.02', '-Dfake.cpu_us=180']\n",
        b: "jvm = ['-Dfake.life_sd=0.02', '-Dfake.cpu_us=200']\n",
        both: "phases = 'write'\nrate = 1000\nwarmup = '200ms'\nduration = '1s'\n",
        flags: SIX,
        real: false,
    },
    Kind {
        variant: "real-read",
        about: "real Cassandra: each read sleeps 10 ms in A and 11 ms in B, writes do not",
        trials: 3,
        looked_at: "read_response_p50",
        a: "jvm = ['-Dcassandra.test.read_iteration_delay_ms=10']\n",
        b: "jvm = ['-Dcassandra.test.read_iteration_delay_ms=11']\n",
        both: SLOW,
        flags: &["--pairs", "8"],
        real: true,
    },
];

/// One comparison.
pub(super) fn trial(rig: &Rig, kind: &Kind, round: usize) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let folder = rig.trial_folder()?;
    let file = |name: &str, own: &str| -> Result<String, Box<dyn Error>> {
        let path = folder.join(name);
        fs_err::write(&path, format!("{}{own}", kind.both))?;
        Ok(path.to_string_lossy().into_owned())
    };
    let (a, b) = (file("a.toml", kind.a)?, file("b.toml", kind.b)?);
    let seed = (round + 1).to_string();
    let mut args = vec![
        "compare", "--ab", &a, &b, "--seed", &seed, "--format", "json",
    ];
    args.extend(kind.flags);
    let watch = Watch::begin()?;
    let mut command = rig.command(&args);
    if !kind.real {
        command.env("HELENUS_FAKE_NODE", rig.fake_node());
    }
    let output = command.output()?;
    let pressure = watch.end(0.0)?;
    let shown: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let code = output.status.code().unwrap_or(-1);
    let mut measures = by_name([("exit_code", f64::from(code))]);
    for row in shown["rows"].as_array().into_iter().flatten() {
        measures.extend(row_measures(row));
    }
    for (place, bar) in shown["bars"].as_array().into_iter().flatten().enumerate() {
        let answer = match bar["answer"].as_str() {
            Some("holds") => 0.0,
            Some("crossed") => 1.0,
            _ => 6.0,
        };
        measures.insert(format!("bar{place}"), answer);
    }
    Ok(Outcome { measures, pressure })
}

/// Ratio and interval of the measures that are looked at, all operations together.
fn row_measures(row: &Value) -> Measures {
    let measure = row["measure"].as_str().unwrap_or_default();
    let looked_at = [
        "response_p50",
        "response_p99",
        "service_p50",
        "service_p99",
        "node_cpu",
    ];
    let mut found = Measures::new();
    if row["operation"] != "all" || !looked_at.contains(&measure) {
        return found;
    }
    let phase = row["phase"].as_str().unwrap_or_default();
    for end in ["ratio", "low", "high"] {
        if let Some(value) = row["estimate"][end].as_f64() {
            found.insert(
                format!("{phase}_{measure}_{end}"),
                (value * 1e4).round() / 1e4,
            );
        }
    }
    found
}
