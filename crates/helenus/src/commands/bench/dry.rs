//! What `bench --dry-run` and `run --dry-run` print: where it would run, and what.
//! Refuses to start anything.

use super::faults;
use crate::commands::up::print_unfetched;
use crate::error::CommandError;
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_lab::BenchRequest;
use helenus_lab::bench::{Where, has_data_centre};
use helenus_model::bench::{Load, Shape};
use helenus_model::fault::script::Scripted;
use helenus_model::format::Format;
use helenus_model::plan::ClusterPlan;
use helenus_model::run_plan::{Extent, Phase, Positions, Search};
use helenus_model::units::{thousands, whole};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The plan of a bench, nothing started.
#[derive(Serialize)]
struct DryRun<'a> {
    format: Format,
    /// The cluster that would be brought up; none where one is there.
    cluster: Option<ClusterPlan>,
    /// Where it runs.
    place: String,
    /// The workload.
    workload: String,
    /// Data centre of the client, whose nodes would coordinate; absent unless set.
    client_data_center: Option<&'a str>,
    /// What is run.
    shape: &'a Shape,
    /// Load agents; absent where the load comes from this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<String>,
    /// Operations a second that are asked for; none asks for no rate.
    rate_per_s: Option<f64>,
    /// Faults on its time line.
    #[serde(skip_serializing_if = "<[Scripted]>::is_empty")]
    faults: &'a [Scripted],
    /// How rates are tried after that; absent where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<&'a Search>,
    /// Root seed.
    seed: u64,
}

impl Answers for DryRun<'_> {
    fn answer(&self) -> String {
        format!("{} on {}", self.workload, self.place)
    }
}

pub(crate) fn dry_run(
    request: &BenchRequest,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let asked = request.client_dc.as_deref();
    let known = |plan: &ClusterPlan| {
        let names = plan.nodes.iter().map(|node| node.data_center.clone());
        let names: BTreeSet<String> = names.collect();
        has_data_centre(asked, names.into_iter().collect()).map_err(super::failure)
    };
    request.check_faults(context)?;
    let (cluster, place) = match &request.place {
        Where::Ephemeral(up) => {
            let plan = context.dry_run(up)?;
            known(&plan)?;
            print_unfetched(&up.source, context, ui);
            (
                Some(plan),
                format!("an ephemeral cluster named {}", up.spec.name),
            )
        }
        Where::Cluster(name) => {
            known(&context.clusters.load(name)?.plan)?;
            (None, format!("your cluster {name}"))
        }
        Where::Kube { name, .. } => (
            None,
            format!(
                "your cluster {name} on Kubernetes, {} of generators in it",
                helenus_model::units::plural(request.processes as usize, "pod")
            ),
        ),
        Where::Hosts { endpoints, .. } => {
            let list: Vec<String> = endpoints.iter().map(ToString::to_string).collect();
            (None, list.join(", "))
        }
    };
    let plan = DryRun {
        format: Format::new(
            match request.shape {
                Shape::Bench(_) => "bench-plan",
                Shape::Phases(_) => "run-plan",
            },
            1,
        ),
        cluster,
        place,
        workload: request.workload.name().to_owned(),
        client_data_center: asked,
        shape: &request.shape,
        agents: request.agents.names(),
        rate_per_s: request.load.rate_per_s(),
        faults: &request.faults,
        search: request.search.as_ref(),
        seed: request.seed.0,
    };
    ui.result(&plan, || {
        let rate = match request.load {
            Load::Closed => "closed loop, as fast as --in-flight allows".to_owned(),
            Load::Open(rate) => format!("{}/s", whole(rate)),
            Load::Probe => "half of what a 5 s probe reaches".to_owned(),
        };
        let mut text = plan.answer() + "\n";
        if let Some(name) = plan.client_data_center {
            let _infallible = writeln!(text, "client: in data centre {name}");
        }
        for agent in &plan.agents {
            let _infallible = writeln!(text, "load from: {agent}");
        }
        if let Shape::Bench(_) = request.shape {
            let _infallible = writeln!(text, "rate: {rate}");
        }
        for phase in request.shape.phases(request.load.rate_per_s()) {
            if let Shape::Phases(_) = request.shape {
                text.push_str(&planned(&phase));
                continue;
            }
            let _infallible = writeln!(
                text,
                "phase {}: {} ms warm-up, {} measured, {} in flight, {} rows",
                phase.name,
                phase.warmup_ms,
                match phase.extent {
                    Extent::DurationMs(ms) => format!("{ms} ms"),
                    Extent::Count(n) => format!("{} operations", thousands(n)),
                    Extent::Until(target) => format!("{} s at most", target.most),
                },
                phase.in_flight,
                thousands(phase.population)
            );
        }
        text.extend(plan.search.map(tried));
        text.push_str(&faults::planned(plan.faults));
        text.push_str("nothing was started (--dry-run)\n");
        text
    });
    Ok(0)
}

/// One phase of a run as it is planned.
pub(crate) fn planned(phase: &Phase) -> String {
    let all: u32 = phase.operations.iter().map(|share| share.weight).sum();
    let mix = phase.operations.iter().map(|share| {
        let of = f64::from(share.weight) * 100.0 / f64::from(all.max(1));
        format!("{} {of:.0} %", share.operation)
    });
    let rate = match (phase.rate_per_s, phase.ramp) {
        (None, _) => "closed loop, as fast as --in-flight allows".to_owned(),
        (Some(rate), None) => format!("{}/s", whole(rate)),
        (Some(rate), Some(ramp)) => format!(
            "{} to {}/s over {} ms",
            whole(ramp.from_per_s),
            whole(rate),
            ramp.over_ms
        ),
    };
    let extent = match phase.extent {
        Extent::DurationMs(ms) => format!("{ms} ms"),
        Extent::Count(n) if phase.by_position => format!("{} partitions", thousands(n)),
        Extent::Count(n) => format!("{} operations", thousands(n)),
        Extent::Until(target) => format!("{} s at most", target.most),
    };
    let positions = match &phase.positions {
        Positions::Sequential => format!("in order over {}", thousands(phase.population)),
        Positions::Uniform => format!("any of {}", thousands(phase.population)),
        Positions::Range { from, to, .. } => format!("{from} up to {to}"),
        Positions::Drawn(dist) => format!("drawn from {dist}"),
    };
    format!(
        "phase {}: {}\n  {rate}, {} in flight, {} ms warm-up, {extent} measured\n  partitions: {positions}{}\n",
        phase.name,
        mix.collect::<Vec<_>>().join(", "),
        phase.in_flight,
        phase.warmup_ms,
        if phase.verify {
            "; what is read is checked"
        } else {
            ""
        }
    )
}

/// What a search does after that.
fn tried(search: &Search) -> String {
    let trial = format!(
        "trials of {} ms after {} ms of warm-up",
        search.step_ms, search.warmup_ms
    );
    match &search.slo {
        Some(slo) => format!(
            "then {trial}, until the highest rate is known that holds {slo}, for {} s in all\n",
            search.within_ms / 1000
        ),
        None => format!("then {trial}, from 5 to 110 % of that rate\n"),
    }
}
