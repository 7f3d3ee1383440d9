//! Where a stress line's text goes: standard output, a file, a page; and its histograms.
//! Refuses to say anything of its own.

use crate::error::{CommandError, code};
use crate::outfile::{self, Standing};
use crate::ui::Ui;
use fs_err as fs;
use helenus_cql::input;
use helenus_lab::LabEvent;
use helenus_lab::stress::StressEvent;
use helenus_model::stress::Stress;
use helenus_model::stress::graph::{self, Drawn};
use helenus_record::hdr_log::{Log, tag_name};
use std::io::{BufWriter, Write as _};
use std::path::Path;

pub(super) struct Sink<'a> {
    ui: &'a Ui,
    stress: &'a Stress,
    file: Option<BufWriter<fs::File>>,
    hdr: Option<(BufWriter<fs::File>, Option<Log>)>,
    drawn: Vec<Drawn>,
    rows: Vec<String>,
    revision: String,
    /// The first failure to write a file.
    failed: Option<std::io::Error>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(stress: &'a Stress, ui: &'a Ui) -> Result<Self, CommandError> {
        let open = |path: &Option<String>| {
            let made = path.as_ref().map(|path| outfile::open(Path::new(path)));
            Ok::<_, CommandError>(made.transpose()?.map(BufWriter::new))
        };
        Ok(Self {
            file: open(&stress.log.file)?,
            hdr: open(&stress.log.hdr_file)?.map(|to| (to, None)),
            ui,
            stress,
            drawn: Vec::new(),
            rows: Vec::new(),
            revision: stress.graph.revision.clone(),
            failed: None,
        })
    }

    /// A line, or a block that ends in a line break.
    pub(super) fn say(&mut self, text: &str) {
        let text = format!("{}\n", text.strip_suffix('\n').unwrap_or(text));
        if !self.ui.json() {
            self.ui.out(&text);
        }
        if let Some(file) = &mut self.file {
            let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
            keep(&mut self.failed, written);
        }
    }

    pub(super) fn see(&mut self, event: &StressEvent<'_>, searches: bool) {
        match event {
            StressEvent::Say(text) => self.say(text),
            StressEvent::Run(threads) => {
                self.rows.clear();
                let revision = &self.stress.graph.revision;
                self.revision = if searches {
                    format!("{revision} - {threads} threads")
                } else {
                    revision.clone()
                };
            }
            StressEvent::Rows {
                rows,
                interval,
                operations,
            } => {
                for row in *rows {
                    self.say(row);
                }
                self.rows.extend(rows.iter().cloned());
                if let Some((to, Some(log))) = &mut self.hdr {
                    for (name, one) in *operations {
                        let written = log.operation(to, interval, &tag_name(name), one);
                        keep(&mut self.failed, written.map(|_| ()));
                    }
                    keep(&mut self.failed, to.flush());
                }
            }
            StressEvent::Ran { summary } => {
                if !self.stress.log.no_summary {
                    self.say(&format!("\n\n{summary}"));
                }
                self.drawn.push(Drawn {
                    test: self.stress.graph.operation.clone(),
                    revision: self.revision.clone(),
                    command: self.stress.words.join(" "),
                    rows: std::mem::take(&mut self.rows),
                    summary: summary.clone(),
                });
            }
            StressEvent::Lab(LabEvent::Connected(header)) => {
                let Some((to, log)) = &mut self.hdr else {
                    return;
                };
                *log = match log {
                    Some(log) => Some(log.with(header)),
                    None => {
                        let about = format!("helenus {}", crate::cli::VERSION);
                        Log::begin(to, header, &about)
                            .map_err(|e| keep(&mut self.failed, Err(e)))
                            .ok()
                    }
                };
            }
            StressEvent::Lab(_) => {}
        }
    }

    /// Writes the page and reports what could not be written.
    pub(super) fn end(self, title: &str) -> Result<(), CommandError> {
        if let Some(path) = self
            .stress
            .graph
            .file
            .as_ref()
            .filter(|_| !self.drawn.is_empty())
        {
            let path = Path::new(path);
            let there = match outfile::standing(path)? {
                Standing::File => Some(input::text_up_to(path, input::MOST_LONG)?),
                _ => None,
            };
            let page = graph::page(title, &self.drawn, there.as_deref()).map_err(|e| {
                CommandError::new(code::BAR, format!("{}: {e}", path.display()))
                    .hint("name another file with -graph file=".to_owned())
            })?;
            let drawn = outfile::write(path, page.as_bytes());
            if self.failed.is_none() {
                drawn?;
            }
        }
        match self.failed {
            None => Ok(()),
            Some(error) => Err(CommandError::of(code::BAR, &error)),
        }
    }
}

fn keep(failed: &mut Option<std::io::Error>, written: std::io::Result<()>) {
    if let Err(error) = written {
        failed.get_or_insert(error);
    }
}
