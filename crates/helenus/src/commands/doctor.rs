//! `helenus doctor`: what this machine has and lacks, with the cure of each.

mod production;

use crate::cli::doctor::Doctor;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::doctor::{self, Finding, Weight};
use helenus_cluster::machine;
use helenus_model::format::Format;
use helenus_model::machine::Machine;
use serde::Serialize;

#[derive(Serialize)]
struct Examined {
    format: Format,
    /// What the machine is.
    machine: Machine,
    /// What was looked at, and what was found.
    findings: Vec<Finding>,
}

impl Answers for Examined {
    fn answer(&self) -> String {
        let of = |weight| {
            let alike = self.findings.iter().filter(move |f| f.weight == weight);
            alike.map(|finding| finding.what).collect::<Vec<_>>()
        };
        let (lacking, cautions) = (of(Weight::Lacking), of(Weight::Caution));
        let mut text = match lacking.is_empty() {
            true => "this machine lacks nothing".to_owned(),
            false => format!("this machine lacks: {}", lacking.join(", ")),
        };
        if !cautions.is_empty() {
            text.push_str(&format!("; with caution: {}", cautions.join(", ")));
        }
        text
    }
}

pub(crate) fn run(flags: &Doctor, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if production::is_asked(flags) || flags.dry_run {
        return production::run(flags, context, ui);
    }
    let findings = doctor::examine(context);
    let lacking = findings.iter().any(|f| f.weight == Weight::Lacking);
    let examined = Examined {
        format: Format::new("doctor", 1),
        machine: machine::read(),
        findings,
    };
    ui.result(&examined, || text(&examined));
    Ok(if lacking { code::ENVIRONMENT } else { 0 })
}

fn text(examined: &Examined) -> String {
    let m = &examined.machine;
    let mut text = format!(
        "{} cores of {}, {}, Linux {} on {}\n\n",
        m.cores, m.processor, m.memory, m.kernel, m.arch
    );
    let mut table = Table::new(&["", "what", "found"]);
    for finding in &examined.findings {
        let mark = match finding.weight {
            Weight::Good => "ok",
            Weight::Caution => "caution",
            Weight::Lacking => "LACKING",
        };
        table.row([mark, finding.what, &finding.found]);
        if let Some(cure) = &finding.cure {
            table.row(["", "", &format!("cure: {cure}")]);
        }
    }
    text.push_str(&table.render());
    text
}
