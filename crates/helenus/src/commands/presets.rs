//! `helenus presets`: what a preset sets, why, and where the reason comes from.

use crate::cli::{Presets, PresetsVerb};
use crate::error::CommandError;
use crate::ui::{Answers, Table, Ui};
use helenus_model::format::Format;
use helenus_model::preset::{BASE, HeapRule, Place, Preset, PresetName, Setting};
use serde::Serialize;

#[derive(Serialize)]
struct Shown<'a> {
    format: Format,
    /// The presets.
    presets: Vec<&'a Preset>,
    /// Under every preset.
    base: &'a [Setting],
}

impl Answers for Shown<'_> {
    fn answer(&self) -> String {
        match &self.presets[..] {
            [one] => summary(one),
            all => {
                let names: Vec<&str> = all.iter().map(|preset| preset.name.word()).collect();
                format!("{} presets: {}", all.len(), names.join(", "))
            }
        }
    }
}

fn summary(preset: &Preset) -> String {
    format!("{}: {}", preset.name.word(), preset.summary)
}

pub(crate) fn run(flags: &Presets, ui: &Ui) -> Result<u8, CommandError> {
    let presets: Vec<&Preset> = match &flags.verb {
        Some(PresetsVerb::Show { name }) => vec![name.preset()],
        None => PresetName::ALL.iter().map(|name| name.preset()).collect(),
    };
    let shown = Shown {
        format: Format::new("presets", 1),
        presets,
        base: &BASE,
    };
    ui.result(&shown, || match &flags.verb {
        Some(_) => details(shown.presets[0]),
        None => overview(&shown.presets),
    });
    Ok(0)
}

fn overview(presets: &[&Preset]) -> String {
    let mut table = Table::new(&["preset", "heap", "purpose"]);
    for preset in presets {
        table.row([
            preset.name.word().to_owned(),
            heap(preset.heap),
            preset.summary.to_owned(),
        ]);
    }
    format!(
        "{}\n`helenus presets show NAME` shows every setting with its reason.\n",
        table.render()
    )
}

fn heap(rule: HeapRule) -> String {
    match rule {
        HeapRule::Fixed { heap_mib, new_mib } => format!("{heap_mib}M, {new_mib}M of it young"),
        HeapRule::ByMachine {
            least_mib,
            most_mib,
        } => {
            format!("a quarter of memory, {least_mib}M to {most_mib}M")
        }
    }
}

fn details(preset: &Preset) -> String {
    let mut text = format!("{}\nheap: {}\n", summary(preset), heap(preset.heap));
    let parts = [
        (Place::Yaml, "cassandra.yaml"),
        (Place::Jvm, "JVM"),
        (Place::Property, "system properties"),
        (Place::Environment, "environment"),
        (Place::Process, "process"),
    ];
    for (place, title) in parts {
        let settings: Vec<&Setting> = preset
            .settings
            .iter()
            .chain(BASE.iter())
            .filter(|s| s.place == place)
            .collect();
        if settings.is_empty() {
            continue;
        }
        let mut table = Table::new(&["  setting", "value", "reason", "source"]);
        for setting in settings {
            table.row([
                format!("  {}", setting.key),
                setting.value.to_owned(),
                setting.reason.to_owned(),
                setting.source.to_owned(),
            ]);
        }
        text.push_str(&format!("\n{title}\n{}", table.render()));
    }
    text
}
