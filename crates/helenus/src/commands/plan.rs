//! `helenus plan`: what a machine can carry, with the reason of each decision.

use crate::cli::machine::{Instances, Plan};
use crate::error::CommandError;
use crate::outfile;
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_model::release::Release;
use helenus_model::sizing::{
    Instance, MachinePlan, Purpose, Rung, Sizing, StackBudget, Wish, plan,
};
use helenus_model::units::{Bytes, plural};

#[cfg(test)]
mod golden;

impl Answers for MachinePlan {
    fn answer(&self) -> String {
        let first = self.instances.first();
        let heap = first.map(|i| i.heap.to_string()).unwrap_or_default();
        format!(
            "{}: {} of Cassandra {} on JDK {}, heap {heap} each, for {}",
            self.machine,
            plural(self.instances.len(), "instance"),
            self.release,
            self.jdk,
            self.purpose.word()
        )
    }
}

pub(crate) fn run(flags: &Plan, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let release = Release::find(&flags.cassandra)?;
    let machine = super::machine::from(flags.from.as_deref(), context)?;
    let purpose = match (flags.purpose, flags.p99) {
        (Some(purpose), _) => purpose,
        (None, Some(_)) => Purpose::Latency,
        (None, None) => Purpose::Throughput,
    };
    let sizing = Sizing {
        machine: &machine,
        release,
        purpose,
        wish: Wish {
            rows: flags.rows,
            row_size: flags.row_size,
            rf: flags.rf,
            machines: flags.machines,
            rate_per_s: flags.rate,
            p99: flags.p99,
        },
        instances: flags.instances.and_then(Instances::number),
    };
    let plan = plan(&sizing)?;
    let as_toml = || super::machine::toml(plan.to_toml());
    match &flags.out {
        Some(out) if outfile::is_output(out) => ui.out(&as_toml()?),
        Some(out) => {
            outfile::write(out, as_toml()?.as_bytes())?;
            ui.note(&format!("saved as {}", out.display()));
            ui.result(&plan, || text(&plan));
        }
        // Where a file or a program takes it, it is the plan itself.
        None if !ui.json() && !anstream::stdout().is_terminal() => ui.out(&as_toml()?),
        None => ui.result(&plan, || text(&plan)),
    }
    Ok(0)
}

/// The plan for people.
fn text(plan: &MachinePlan) -> String {
    let mut text = format!("{}\n", plan.answer());
    for caution in &plan.cautions {
        text.push_str(&format!("caution: {caution}\n"));
    }
    text.push_str(&format!("\n{}", instances(&plan.instances)));
    text.push_str(&settings(&plan.instances));
    for line in &plan.lines {
        text.push_str(&format!("\n{}: {}\n", line.what, line.value));
        text.push_str(&format!("  why: {}\n  source: {}\n", line.why, line.source));
        if let Some(promised) = &line.promised {
            text.push_str(&format!("  claimed effect: {promised}\n"));
        }
        if let Some(measured) = &line.measured {
            text.push_str(&format!("  measured: {measured}\n"));
        }
    }
    if let Some(stack) = &plan.stack {
        text.push_str(&stack_text(stack));
    }
    text
}

fn instances(instances: &[Instance]) -> String {
    let mut table = Table::new(&[
        "instance",
        "node",
        "processors",
        ">memory",
        ">heap",
        ">off heap",
        ">cache",
        "size",
        "disks",
        "address",
        ">JMX",
    ]);
    for instance in instances {
        let numa: Vec<String> = instance.numa.iter().map(u32::to_string).collect();
        let card = instance.interface.as_deref().unwrap_or_default();
        let address = match (&instance.address, instance.add_address) {
            (Some(address), _) => format!("{address} on {card}"),
            (None, true) => format!("one more on {card}"),
            (None, false) if card.is_empty() => "–".to_owned(),
            (None, false) => format!("that of {card}"),
        };
        table.row([
            instance.name.clone(),
            numa.join(" "),
            format!("{}: {}", instance.cpus.len(), instance.cpus),
            instance.memory.to_string(),
            instance.heap.to_string(),
            instance.off_heap.to_string(),
            instance.page_cache.to_string(),
            instance.size.clone().unwrap_or_else(|| "–".to_owned()),
            instance.disks.join(" "),
            address,
            instance.jmx_port.to_string(),
        ]);
    }
    table.render()
}

/// Keys and flags, once for all instances that have the same.
fn settings(instances: &[Instance]) -> String {
    let mut text = String::new();
    let mut seen: Vec<&Instance> = Vec::new();
    let alike = |a: &Instance, b: &Instance| a.set == b.set && a.jvm == b.jvm && a.heap == b.heap;
    for instance in instances {
        if seen.iter().any(|other| alike(other, instance)) {
            continue;
        }
        seen.push(instance);
        let same = instances.iter().filter(|other| alike(other, instance));
        let names: Vec<&str> = same.map(|other| other.name.as_str()).collect();
        let set = instance.set.iter();
        let set: Vec<String> = set
            .map(|(key, value)| match value.as_str() {
                Some(word) => format!("{key}: {word}"),
                None => format!("{key}: {value}"),
            })
            .collect();
        let heap = instance.heap.jvm();
        text.push_str(&format!(
            "\n{}\n  cassandra.yaml: {}\n  JVM: -Xms{heap} -Xmx{heap} {}\n",
            names.join(", "),
            set.join(", "),
            instance.jvm.join(" ")
        ));
    }
    text
}

fn stack_text(stack: &StackBudget) -> String {
    let mut table = Table::new(&[
        "stack",
        ">nodes",
        ">heap",
        ">gateway's",
        ">nodes take",
        ">gateway",
        ">extras",
        ">in all",
        "fits",
        ">measured",
    ]);
    let some = |memory: Bytes| match memory.0 {
        0 => "–".to_owned(),
        _ => memory.to_string(),
    };
    let row = |rung: &Rung| {
        [
            rung.name.clone(),
            rung.nodes.to_string(),
            rung.heap.to_string(),
            rung.gateway_heap
                .map_or_else(|| "–".to_owned(), |heap| heap.to_string()),
            rung.nodes_memory.to_string(),
            some(rung.gateway_memory),
            some(rung.extras_memory),
            rung.needs.to_string(),
            if rung.fits { "yes" } else { "no" }.to_owned(),
            some(rung.measured.unwrap_or_default()),
        ]
    };
    stack.stacks.iter().for_each(|rung| table.row(row(rung)));
    let chosen = match &stack.chosen {
        Some(chosen) => chosen.as_str(),
        None => "no stack fits",
    };
    format!(
        "\na developer's stack in {}: {chosen}\n{}  leave out first: {}\n  source: {}\n  measured: {}\n",
        stack.memory,
        table.render(),
        stack.leave_out.join(", then "),
        stack.source,
        stack.measured
    )
}
