//! `prove kube [PART…]`: helenus on a real Kubernetes, in parts that can be run alone: forms, wan, named, cut, start, inside, secured, operated, volumes, experiment, spread.
//! Refuses a cluster that nobody named by KUBECONFIG, and removes all that it made there.

mod cut;
mod experiment;
mod forms;
mod inside;
mod lab;
mod mask;
mod named;
mod operated;
mod running;
mod secured;
mod sheet;
mod spread;
mod start;
mod volumes;
mod wan;

use helenus_model::nearest::nearest;
use lab::Lab;
use sheet::{Sheet, Verdict};
use std::error::Error;
use std::path::Path;

/// What `--list` says.
pub(crate) const ABOUT: &str = "helenus kube on the Kubernetes of KUBECONFIG, in parts: forms, wan, named, cut, start, inside, secured, operated, volumes, experiment, spread; kube --list prints more";

/// How something ended that fills a sheet.
type Tried = Result<(), Box<dyn Error>>;

/// A part of the campaign.
struct Part {
    /// What it is called.
    name: &'static str,
    /// What it shows.
    about: &'static str,
    /// Whether the release binary is needed, because its own time is measured.
    quick: bool,
    /// Fills a sheet. An error is a row of the sheet that does not hold.
    run: fn(&Lab, &mut Sheet) -> Tried,
}

const fn part(name: &'static str, about: &'static str, run: fn(&Lab, &mut Sheet) -> Tried) -> Part {
    Part {
        name,
        about,
        quick: false,
        run,
    }
}

const fn quick(
    name: &'static str,
    about: &'static str,
    run: fn(&Lab, &mut Sheet) -> Tried,
) -> Part {
    Part {
        quick: true,
        ..part(name, about, run)
    }
}

/// All parts, in the order in which they run.
const PARTS: [Part; 11] = [
    part("forms", forms::ABOUT, forms::run),
    quick("wan", wan::ABOUT, wan::run),
    quick("named", named::ABOUT, named::run),
    part("cut", cut::ABOUT, cut::run),
    quick("start", start::ABOUT, start::run),
    quick("inside", inside::ABOUT, inside::run),
    part("secured", secured::ABOUT, secured::run),
    part("operated", operated::ABOUT, operated::run),
    part("volumes", volumes::ABOUT, volumes::run),
    part("experiment", experiment::ABOUT, experiment::run),
    part("spread", spread::ABOUT, spread::run),
];

/// Runs the parts that were named, or all, and answers whether everything holds. What was not run does not hold.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<bool, Box<dyn Error>> {
    if words == ["--list"] {
        for part in &PARTS {
            println!("{:<10} {}", part.name, part.about);
        }
        return Ok(true);
    }
    let parts = chosen(words)?;
    std::env::var_os("KUBECONFIG")
        .ok_or("set KUBECONFIG to the file of a cluster that may be thrown away")?;
    let lab = Lab::open(root, parts.iter().any(|part| part.quick))?;
    let mut sheets = Vec::new();
    for part in parts {
        println!("\n{}: {}", part.name, part.about);
        let mut sheet = Sheet::open(&lab, part.name)?;
        if let Err(error) = (part.run)(&lab, &mut sheet) {
            sheet.record(
                "the part ran to its end",
                Verdict::Fails,
                &error.to_string(),
            )?;
        }
        sheets.push(sheet);
    }
    for sheet in &sheets {
        println!("\n{}", sheet.table());
    }
    Ok(sheets.iter().all(Sheet::holds))
}

/// The parts of these names, each once, in their own order; all where none is named.
fn chosen(words: &[&str]) -> Result<Vec<&'static Part>, String> {
    for word in words {
        if !PARTS.iter().any(|part| part.name == *word) {
            let names = PARTS.map(|part| part.name);
            let meant = match nearest(word, names) {
                Some(near) => format!("did you mean {near}? "),
                None => String::new(),
            };
            return Err(format!(
                "prove kube has no part {word}; {meant}its parts are {}",
                names.join(", ")
            ));
        }
    }
    let all = PARTS.iter();
    Ok(all
        .filter(|part| words.is_empty() || words.contains(&part.name))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name_and_an_unknown_one_is_refused_with_the_nearest() {
        let names = |words: &[&str]| {
            chosen(words).map(|parts| parts.iter().map(|part| part.name).collect::<Vec<_>>())
        };
        assert_eq!(
            names(&[]).unwrap(),
            [
                "forms",
                "wan",
                "named",
                "cut",
                "start",
                "inside",
                "secured",
                "operated",
                "volumes",
                "experiment",
                "spread"
            ]
        );
        assert_eq!(
            names(&["start", "forms", "start"]).unwrap(),
            ["forms", "start"]
        );
        assert_eq!(
            names(&["star"]).unwrap_err(),
            "prove kube has no part star; did you mean start? its parts are forms, wan, named, cut, start, inside, secured, operated, volumes, experiment, spread"
        );
        assert_eq!(
            names(&["zzz"]).unwrap_err(),
            "prove kube has no part zzz; its parts are forms, wan, named, cut, start, inside, secured, operated, volumes, experiment, spread"
        );
    }
}
