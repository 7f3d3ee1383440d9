//! Help about commands and groups.
//! Refuses to explain what a parameter does anywhere but where it is defined.

use super::options::{Form, Opt, shown};
use super::spec::{COMMANDS, GROUPS, sets};
use std::fmt::Write as _;

/// Ways to write a distribution.
const DISTRIBUTIONS: &str = "
Distributions: fixed(5), uniform(1..10), seq(1..1M), exp(1..100), gaussian(1..10), gaussian(1..10,stdvrng),
gaussian(1..10,mean,stdev), extreme(1..10,shape), qextreme(1..10,shape,quantas); k, m and b are thousands, millions
and billions; ~ before the name inverts it.
";

/// The help about a command, a group, or about all.
pub fn help(about: Option<&str>) -> String {
    match about {
        None => all(),
        Some("help") => "Usage: helenus stress help [command or group]\n".to_owned(),
        Some("version") => "Usage: helenus stress version\n".to_owned(),
        Some("-credentials-file") => credentials(),
        Some("legacy") => legacy(),
        Some(name) => one(name),
    }
}

fn all() -> String {
    let mut text = String::from(
        "Usage: helenus stress <command> [parameters] [-group parameters] …\n       helenus stress help <command or group>\n\nCommands:\n",
    );
    for (name, about) in COMMANDS {
        let _infallible = writeln!(text, "  {name:<18} {about}");
    }
    text.push_str("\nGroups:\n");
    for (name, about) in GROUPS {
        let _infallible = writeln!(text, "  {name:<18} {about}");
    }
    text
}

fn one(name: &str) -> String {
    let sets = sets(name).unwrap_or_default();
    let about = COMMANDS.iter().chain(&GROUPS).find(|(n, _)| *n == name);
    let mut text = String::new();
    if let Some((_, about)) = about {
        let _infallible = writeln!(text, "{about}.\n");
    }
    for (place, set) in sets.iter().enumerate() {
        let word = if place == 0 { "Usage:" } else { "   or:" };
        let _infallible = writeln!(text, "{word} {}", shown(name, set));
    }
    text.push('\n');
    let mut listed: Vec<*const Opt> = Vec::new();
    let mut draws = false;
    for option in sets.iter().flatten().copied() {
        draws |= matches!(option.form, Form::Dist | Form::Ratio);
        if listed.contains(&std::ptr::from_ref(option)) {
            continue;
        }
        listed.push(std::ptr::from_ref(option));
        let default = option
            .default
            .map(|d| format!(" ({d})"))
            .unwrap_or_default();
        let _infallible = writeln!(text, "  {:<26} {}{default}", option.shown(), option.about);
        if !matches!(
            option.form,
            Form::Flag | Form::Any | Form::Some | Form::Dist
        ) {
            let _infallible = writeln!(text, "  {:<26} {}", "", option.form.words());
        }
    }
    if draws {
        text.push_str(DISTRIBUTIONS);
    }
    text
}

fn credentials() -> String {
    "Usage: -credentials-file FILE\n\nA file that only its owner can read, with lines cql.username=… and cql.password=…\n"
        .to_owned()
}

fn legacy() -> String {
    "A line of cassandra-stress 2.0 or older, as in: helenus stress --operation READ --num-keys 1000000 --threads 50\n\nIt is translated, the translation is printed, and run. The word legacy may precede it. Without any word it\nmeans what it meant then: 1,000,000 writes with 50 threads.\n"
        .to_owned()
}
