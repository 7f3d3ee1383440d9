//! A run as it goes: a screen or a moving line on a terminal, lines in a log, or nothing.
//! Refuses to disturb the run: what cannot be shown is not shown.

use super::faults;
use crate::cli::{LiveArg, Shown};
use crate::commands::up::Watcher;
use crate::commands::{fault, metrics};
use crate::error::CommandError;
use crate::screen::{self, Screen, View};
use crate::ui::{Progress, Ui};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_lab::bench::Where;
use helenus_lab::metrics::Endpoint;
use helenus_lab::{BenchRequest, LabEvent};
use helenus_model::line::Step;
use helenus_model::live::Picture;
use helenus_model::sample::Stretch;
use helenus_model::units::whole;

/// What shows a run.
pub(crate) struct Live<'a> {
    ui: &'a Ui,
    nodes: usize,
    form: LiveArg,
    /// What runs, above the screen.
    title: String,
    /// What precedes the words of each line.
    prefix: String,
    watcher: Option<Watcher<'a>>,
    progress: Option<Progress>,
    picture: Picture,
    /// Where programs see it, too.
    endpoint: Option<Endpoint>,
    /// What the person stops a run by; none where there is no screen.
    cancel: Option<&'a Cancel>,
    screen: Option<Screen>,
}

impl<'a> Live<'a> {
    /// One moving line a step, where a person watches.
    pub(crate) fn new(ui: &'a Ui, nodes: usize) -> Self {
        Self {
            ui,
            nodes,
            form: LiveArg::Line,
            title: String::new(),
            prefix: String::new(),
            watcher: None,
            progress: None,
            picture: Picture::default(),
            endpoint: None,
            cancel: None,
            screen: None,
        }
    }

    /// As asked for: a screen by default, where a person watches. Faults that hold are said first.
    pub(crate) fn of(
        request: &BenchRequest,
        shown: Shown,
        context: &'a Context,
        ui: &'a Ui,
    ) -> Result<Self, CommandError> {
        let endpoint = metrics::of_run(shown.metrics, request, context, ui)?;
        let nodes = match &request.place {
            Where::Ephemeral(up) => up.spec.topology.nodes(),
            Where::Cluster(_) | Where::Hosts { .. } | Where::Kube { .. } => 1,
        };
        let state = match &request.place {
            Where::Cluster(name) => context.clusters.load(name).ok(),
            _ => None,
        };
        if let Some(state) = &state {
            fault::caution(state, context, ui)?;
        }
        let names = state.iter().flat_map(|state| &state.plan.nodes);
        let mut live = Self::new(ui, nodes);
        live.form = shown.live.unwrap_or(LiveArg::Screen);
        live.title.clone_from(&request.command);
        live.cancel = Some(&context.cancel);
        live.picture = Picture::new(names.map(|node| node.name.clone()));
        live.endpoint = endpoint;
        Ok(live)
    }

    /// Says what is waited for before the next step.
    pub(crate) fn waits(&mut self, words: &str) {
        let words = format!("{}{words}", self.prefix);
        match &self.progress {
            Some(progress) => progress.say(words),
            None => self.progress = Some(self.ui.progress(&words)),
        }
    }

    /// Sets what precedes the words of each line from now on.
    pub(crate) fn prefix(&mut self, words: String) {
        self.prefix = words;
    }

    /// Shows what has happened.
    pub(crate) fn see(&mut self, event: &LabEvent<'_>) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.see(event);
        }
        match event {
            LabEvent::Step(step) => self.step(*step),
            LabEvent::Cluster(event) => {
                if let Some(watcher) = &mut self.watcher {
                    watcher.see(event);
                }
            }
            LabEvent::Foreign(sight) => self.ui.note(&format!(
                "writing to {:?}, which is not yours: data centres {}, {} nodes, keyspaces {}",
                sight.cluster_name,
                sight.data_centers.join(", "),
                sight.nodes.len(),
                sight.keyspaces.join(", ")
            )),
            LabEvent::Connected(_) | LabEvent::Ended(_) => {}
            LabEvent::Seen(readings) => {
                if self.watched() {
                    readings
                        .iter()
                        .for_each(|reading| self.picture.see(reading));
                    self.draw();
                }
            }
            LabEvent::Missing(what) => self.ui.caution(what),
            LabEvent::Fault(words, turned) => faults::live(words, turned, self.ui),
            LabEvent::Rate {
                reached_per_s,
                chosen_per_s,
            } => self.ui.note(&format!(
                "the probe reached {}/s; the rate is {}/s (--rate sets another)",
                whole(*reached_per_s),
                whole(*chosen_per_s)
            )),
            LabEvent::Interval {
                phase,
                interval,
                done,
            } => {
                if self.watched() {
                    self.picture.interval(phase, interval, *done);
                    self.draw();
                }
                if self.form == LiveArg::Lines {
                    let line = screen::line(&self.picture);
                    self.ui.note(&format!("{}{line}", self.prefix));
                }
                if let Some(progress) = &self.progress {
                    let completed: u64 = interval.operations.values().map(|o| o.completed).sum();
                    let failed: u64 = interval.operations.values().map(|o| o.failures()).sum();
                    let warm = if interval.stretch == Stretch::Warmup {
                        " (warm-up)"
                    } else {
                        ""
                    };
                    let failed = if failed > 0 {
                        format!(", {failed} failed")
                    } else {
                        String::new()
                    };
                    let (prefix, name) = (&self.prefix, &phase.name);
                    progress.say(format!("{prefix}{name}{warm}: {completed} op/s{failed}"));
                    progress.at(done.0.min(done.1), done.1);
                }
            }
        }
    }

    /// Whether anybody sees the picture.
    fn watched(&self) -> bool {
        self.screen.is_some() || self.form == LiveArg::Lines
    }

    fn draw(&mut self) {
        if let Some(screen) = &mut self.screen {
            let title = match self.prefix.is_empty() {
                true => self.title.clone(),
                false => format!("{}{}", self.prefix, self.title),
            };
            screen.draw(View {
                title: &title,
                picture: &self.picture,
                words: &self.ui.held(),
            });
        }
    }

    fn close(&mut self) {
        if self.screen.take().is_some() {
            self.ui.release();
        }
    }

    fn step(&mut self, step: Step) {
        self.watcher = None;
        self.progress = None;
        self.close();
        if step == Step::Run {
            // Another run of a search begins anew, on nodes that are known.
            let nodes = self.picture.nodes().into_iter().map(|node| node.name);
            self.picture = Picture::new(nodes);
        }
        let text = match step {
            Step::Up => {
                self.watcher = Some(Watcher::new(self.ui, "for the bench", self.nodes));
                return;
            }
            Step::Look => "checking the cluster",
            Step::Prepare => "creating keyspace and tables",
            Step::Probe => "probing for the rate",
            Step::Run => "connecting",
            Step::Record => "storing the run",
            Step::Remove => "removing the cluster",
            Step::End => return,
        };
        match self.form {
            LiveArg::Screen if step == Step::Run && self.ui.live() => {
                self.screen = self.cancel.and_then(Screen::open);
            }
            LiveArg::Lines => return,
            LiveArg::Screen | LiveArg::Line => {}
        }
        if self.screen.is_some() {
            self.ui.hold();
            self.draw();
        } else {
            self.progress = Some(self.ui.progress(&format!("{}{text}", self.prefix)));
        }
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.close();
    }
}
