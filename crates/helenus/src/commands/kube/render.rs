//! `helenus kube render`: a cluster as manifests, on standard output or in a folder.
//! Refuses a folder with files of somebody else: `kubectl apply -f` would apply them too.

use super::asked;
use crate::cli::elsewhere::Elsewhere;
use crate::cli::kube::{KubePlace, KubeStack, Render};
use crate::error::{CommandError, code};
use crate::outfile;
use crate::ui::{Answers, Table, Ui};
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_model::kube::options::{Form, Medusa, Options};
use helenus_model::kube::{KubePlan, render};
use helenus_model::plan::{NodeWords, PlanRequest};
use helenus_model::preset::PresetName;
use helenus_model::units::plural;
use std::path::Path;

impl Answers for KubePlan {
    fn answer(&self) -> String {
        format!(
            "cluster {}: Cassandra {}, {} in {}, as {}",
            self.name,
            self.release,
            plural(self.pods as usize, "pod"),
            plural(self.namespaces.len(), "namespace"),
            self.form.word()
        )
    }
}

pub(super) fn run(flags: &Render, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (planned, request) = asked(&flags.cluster, context, ui)?;
    let what = (&flags.cluster, &flags.place, &flags.stack);
    let options = options(flags.form, what, (&planned.release, request.as_ref()));
    let plan = render(&planned, &options)?;
    for caution in &plan.cautions {
        ui.caution(caution);
    }
    if let Some(folder) = flags.output.as_deref().filter(|_| !flags.dry_run) {
        write(&plan, folder)?;
        ui.result(&plan, || text(&plan, folder) + &written(&plan, folder));
    } else if flags.dry_run {
        let folder = flags.output.as_deref().unwrap_or(Path::new("DIR"));
        ui.result(&plan, || {
            text(&plan, folder) + "\nnothing was written (--dry-run)\n"
        });
    } else {
        ui.result(&plan, || plan.stream());
    }
    Ok(0)
}

/// What the flags ask for beside the cluster's plan.
pub(super) fn options(
    form: Form,
    (cluster, place, stack): (&Elsewhere, &KubePlace, &KubeStack),
    (release, request): (&str, Option<&PlanRequest>),
) -> Options {
    let KubePlace {
        namespace,
        image,
        pull_policy,
        storage,
        storage_class,
        page_cache,
        cpu_request,
        spread,
        formed,
        worker_label,
        tls_secret,
    } = place;
    let KubeStack {
        context,
        reaper,
        medusa,
        medusa_provider,
        medusa_region,
        medusa_host,
        medusa_secret,
        telemetry,
        superuser_secret,
    } = stack;
    let by_default = Options::new(form, release);
    Options {
        namespace: namespace.clone(),
        image: image.clone().unwrap_or_else(|| by_default.image.clone()),
        pull: pull_policy.clone(),
        storage: storage.0,
        storage_class: storage_class.clone(),
        page_cache: *page_cache,
        cpu_request: *cpu_request,
        spread: *spread,
        formed: *formed,
        worker_label: worker_label.clone(),
        tls_secret: tls_secret.clone(),
        worker_memory: cluster.worker_memory,
        heap_said: cluster.preset.is_some() || request.is_some_and(says_heap),
        contexts: context.iter().cloned().collect(),
        reaper: *reaper,
        medusa: medusa.as_ref().map(|bucket| Medusa {
            bucket: bucket.clone(),
            provider: medusa_provider.clone(),
            region: medusa_region.clone(),
            host: medusa_host.clone(),
            secret: medusa_secret.clone(),
        }),
        telemetry: *telemetry,
        superuser_secret: superuser_secret.clone(),
        ..by_default
    }
}

/// Whether somebody says a heap, of the cluster or of some nodes, or a preset that has one.
fn says_heap(request: &PlanRequest) -> bool {
    let own = |words: &NodeWords| words.heap.is_some() || words.preset.is_some();
    request.spec.preset != PresetName::Tiny
        || request.spec.heap.is_some()
        || request.spec.by_node.iter().any(own)
}

/// Writes the files, each whole; others in the folder are an error.
fn write(plan: &KubePlan, folder: &Path) -> Result<(), CommandError> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let ours = plan.files.iter().any(|file| *file.path == *name);
        let manifest = Path::new(&name)
            .extension()
            .is_some_and(|e| e == "yaml" || e == "yml" || e == "json");
        if manifest && !ours {
            let text = format!(
                "{} has {}, which is not part of this rendering",
                folder.display(),
                Path::new(&name).display()
            );
            return Err(CommandError::new(code::USAGE, text)
                .hint("remove it, or name another folder: kubectl would apply it too".to_owned()));
        }
    }
    for file in &plan.files {
        outfile::write(&folder.join(&file.path), file.text.as_bytes())?;
    }
    Ok(())
}

/// The files of a rendering, and what is done beside applying them.
fn text(plan: &KubePlan, folder: &Path) -> String {
    let shown = folder.display().to_string();
    let steps: String = plan
        .steps
        .iter()
        .map(|step| format!("  {}\n", step.replace("DIR", &shown)))
        .collect();
    format!("{}\n{}\n\nsteps:\n{steps}", files(plan), plan.answer())
}

/// The files of a rendering as a table.
pub(super) fn files(plan: &KubePlan) -> String {
    let mut table = Table::new(&["file", ">lines", "what it has"]);
    for file in &plan.files {
        table.row([
            file.path.clone(),
            file.text.lines().count().to_string(),
            file.about.clone(),
        ]);
    }
    table.render()
}

fn written(plan: &KubePlan, folder: &Path) -> String {
    format!(
        "\n{} written to {}\n",
        plural(plan.files.len(), "file"),
        folder.display()
    )
}
