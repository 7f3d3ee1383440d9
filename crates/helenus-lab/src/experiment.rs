//! An experiment: each planned run once, restart by restart, in the order that its seed fixed.
//! Refuses to begin a run before the history knows of it: whatever ends this, the next sitting goes on behind it.

mod again;
mod dataset;
mod lent;
mod pairs;
mod restart;

pub use again::{facts, lengthen};
pub use dataset::shape;
pub use lent::{LentNodes, may_begin, put_back};
pub use pairs::{Compared, comparable, compared, find_rate};

use crate::bench::{BenchError, BenchRequest, Finished, LabEvent};
use crate::compare::history_file;
use crate::populate::{PopulateError, PopulateEvent, PopulateRequest};
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::live_settings::LiveSetting;
use helenus_cluster::queue::{self, Ahead};
use helenus_cluster::remove;
use helenus_cluster::state::{ClusterState, StateError};
use helenus_cluster::wall;
use helenus_model::baseline::PageCache;
use helenus_model::comparison::{CompareError, Stopping};
use helenus_model::experiment::{
    Experiment, Planned, Progress, RunState, Slice, UntilLevel, Warmth,
};
use helenus_model::seed::Seed;
use helenus_record::{ExperimentBeginning, ExperimentId, History, HistoryError, PlannedRun};

/// What one combination is run with.
#[derive(Debug, Clone)]
pub struct Combination {
    /// The run; its place is a cluster made for it, or one that is there, on Kubernetes or on hosts.
    pub bench: BenchRequest,
    /// What the nodes of that one are given; none where a cluster is made.
    pub lent: Option<LentNodes>,
    /// The load that each life of its nodes starts with; none where the first run starts it.
    pub warm: Option<BenchRequest>,
    /// Until when that load is repeated; none where once is enough.
    pub warm_until: Option<UntilLevel>,
    /// What its data is made with; its cluster's name does not count.
    pub populate: Option<PopulateRequest>,
    /// What is set in its running nodes before each run.
    pub live: Vec<LiveSetting>,
    /// Combinations of equal number share a dataset.
    pub dataset: usize,
    /// Why it does not fit the machine; none where it does.
    pub unfit: Option<String>,
}

/// What an experiment is asked for.
#[derive(Debug, Clone)]
pub struct ExperimentRequest {
    /// The experiment.
    pub experiment: Experiment,
    /// Its file's text.
    pub text: String,
    /// Where paths in it start.
    pub folder: String,
    /// The command, free of secrets.
    pub command: String,
    /// What order and data are drawn from.
    pub seed: Seed,
    /// By combination.
    pub combinations: Vec<Combination>,
}

/// What happens on the way.
#[derive(Debug)]
pub enum ExperimentEvent<'a> {
    /// Another experiment runs; this one comes after it.
    Waits(&'a Ahead),
    /// It runs now.
    Begins {
        /// Its name in the history.
        id: ExperimentId,
        /// How far it is.
        progress: Progress,
        /// The runs of the plan, with what became of them.
        runs: &'a [PlannedRun],
    },
    /// A cluster that an earlier, interrupted run of it left was removed.
    Left(&'a str),
    /// What is waited for while the nodes of an existing cluster start anew.
    Anew(&'a str),
    /// The nodes of this cluster start as they were before.
    PutsBack(&'a str),
    /// They did not, and the experiment ended for another reason.
    NotPutBack(&'a ExperimentError),
    /// A run starts.
    Run {
        /// The run.
        planned: Planned,
        /// Runs of the plan.
        of: usize,
    },
    /// A dataset is made, for all restarts that share it.
    Dataset,
    /// It is written.
    Populate(&'a PopulateEvent<'a>),
    /// A dataset is there.
    Restored(PageCache),
    /// From within a restart or a run.
    Bench(LabEvent<'a>),
    /// The load that repeats itself until new nodes are level has ended.
    Warm {
        /// Whether they are.
        warmth: Warmth,
        /// Its slices.
        slices: &'a [Slice],
    },
    /// A run has ended.
    Ended {
        /// The run.
        planned: Planned,
        /// What came of it.
        finished: &'a Finished,
    },
    /// Nodes of these runs did not start, or did not stay up.
    Died {
        /// Their combinations' first.
        planned: Planned,
        /// Why.
        why: &'a str,
    },
    /// The first blocks require more.
    More {
        /// Blocks in all.
        blocks: usize,
        /// What governed.
        governed_by: &'a str,
    },
    /// The winner is measured again.
    Again {
        /// The winner, in words.
        winner: &'a str,
    },
    /// A run of the first side that only finds the rate for all pairs.
    FindsRate,
    /// The rate of every side that has none of its own.
    Rate(f64),
    /// The first pairs have fixed how many there shall be.
    Decided(&'a Stopping),
    /// After so many pairs the question is answered.
    Settled(usize),
}

/// What came of one run of an experiment.
#[derive(Debug)]
pub struct Sat {
    /// Its name in the history.
    pub id: ExperimentId,
    /// How far it is.
    pub progress: Progress,
    /// The person stopped it.
    pub interrupted: bool,
    /// Why something of it is still there after that.
    pub not_removed: Option<ExperimentError>,
}

/// Why an experiment does not continue.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// It cannot be kept.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A cluster cannot be brought up for a reason that is not its own.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A run failed for a reason that the next one would fail for, too.
    #[error(transparent)]
    Bench(Box<BenchError>),
    /// The data cannot be made.
    #[error(transparent)]
    Populate(#[from] PopulateError),
    /// A run cannot be kept.
    #[error("cannot store the run in the history")]
    NotRecorded(#[source] HistoryError),
    /// A person's cluster has the name that its restarts would have.
    #[error("your cluster {0} has the name that this experiment needs for the cluster it creates")]
    NameTaken(String),
    /// The nodes of a cluster are not as they were.
    #[error("the nodes of {name} still have settings of the experiment")]
    NotPutBack {
        /// The cluster.
        name: String,
        /// The verb that puts them back.
        heals: &'static str,
        /// Why.
        source: ClusterError,
    },
    /// Another command changed the cluster of a run.
    #[error("`{0}` changed the cluster during a run; the run does not count")]
    Disturbed(String),
    /// Rows of the data are missing or wrong after they were written.
    #[error("the data differ from what was written")]
    NotWhole,
    /// A side of a pair failed.
    #[error("{run}: the run failed")]
    Side {
        /// Pair and side, in words.
        run: String,
        /// Why.
        #[source]
        source: Box<BenchError>,
    },
    /// The pairs cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// Most pairs had a run that does not count.
    #[error("{invalid} of {tried} pairs have an invalid run")]
    TooManyInvalid {
        /// Such pairs.
        invalid: usize,
        /// All pairs that were run.
        tried: usize,
        /// The disqualifying doubts, by how often.
        doubts: Vec<(String, usize)>,
    },
}

impl From<BenchError> for ExperimentError {
    fn from(error: BenchError) -> Self {
        Self::Bench(Box::new(error))
    }
}

/// An experiment under way.
struct Sitting<'a> {
    context: &'a Context,
    request: &'a ExperimentRequest,
    events: &'a mut dyn FnMut(ExperimentEvent<'_>),
    history: History,
    id: ExperimentId,
    runs: Vec<PlannedRun>,
}

/// Enters an experiment into the history, with the plan of its runs; nothing is started.
///
/// # Errors
/// The history cannot be written.
pub fn begin(
    context: &Context,
    request: &ExperimentRequest,
) -> Result<ExperimentId, ExperimentError> {
    let mut history = History::open(&history_file(context))?;
    let of = &request.experiment;
    let all = of.combinations();
    let wholes = of.wholes(&all);
    let trials: Vec<String> = wholes
        .iter()
        .map(|whole| of.whole_label(&whole.levels))
        .collect();
    let trials: Vec<&str> = trials.iter().map(String::as_str).collect();
    let beginning = ExperimentBeginning {
        name: &of.name,
        text: &request.text,
        folder: &request.folder,
        command: &request.command,
        seed: request.seed,
        trials: &trials,
        began_wall_ns: wall::now_ns(),
    };
    let plan = of.order(request.seed);
    Ok(history.plan_experiment(&beginning, &plan)?)
}

/// Runs what is left of an experiment, after any other of this user.
///
/// # Errors
/// What would stop the next run, too: the history, the disk, a lack of the machine. What stands in the way of one
/// combination only is noted, and the rest continues.
pub fn sit(
    context: &Context,
    request: &ExperimentRequest,
    id: ExperimentId,
    events: &mut dyn FnMut(ExperimentEvent<'_>),
) -> Result<Sat, ExperimentError> {
    let what = format!("{id} {}", request.experiment.name);
    let _turn = queue::wait(context, &what, &mut |ahead| {
        events(ExperimentEvent::Waits(ahead))
    })?;
    let mut history = History::open(&history_file(context))?;
    again::may_go_on(&history, &history.planned_runs(id)?)?;
    history.sit_down(id)?;
    let runs = history.planned_runs(id)?;
    let mut own = Sitting {
        context,
        request,
        events,
        history,
        id,
        runs,
    };
    own.clean_up()?;
    let ended = own.all();
    let interrupted = context.cancel.is_set();
    let back = own.put_back();
    if let (Err(_), Err(error)) = (&ended, &back) {
        (own.events)(ExperimentEvent::NotPutBack(error));
    }
    match ended.and(back) {
        Err(error) if !interrupted => Err(error),
        ended => Ok(Sat {
            id,
            progress: own.progress(),
            interrupted,
            not_removed: ended.err(),
        }),
    }
}

impl Sitting<'_> {
    fn progress(&self) -> Progress {
        Progress::of(&self.states())
    }

    fn states(&self) -> Vec<(Planned, RunState)> {
        let each = self.runs.iter();
        each.map(|run| (run.planned, run.state)).collect()
    }

    /// Name of the cluster of each restart.
    fn cluster(&self) -> String {
        format!("exp{}", self.id.number())
    }

    /// Removes what a killed run of it has left.
    fn clean_up(&mut self) -> Result<(), ExperimentError> {
        let own = self.cluster();
        let names = self.context.clusters.names().map_err(StateError::from);
        for name in names.map_err(ClusterError::from)? {
            if name == own || dataset::is_dataset(&name, &own) {
                // What a person has brought up is that person's, whatever its name.
                let lasting = |state: ClusterState| !state.ephemeral;
                if self.context.clusters.load(&name).is_ok_and(lasting) {
                    return Err(ExperimentError::NameTaken(name));
                }
                remove::remove(self.context, &name)?;
                (self.events)(ExperimentEvent::Left(&name));
            }
        }
        self.put_back_others()
    }

    fn all(&mut self) -> Result<(), ExperimentError> {
        self.mark_unfit()?;
        let progress = self.progress();
        (self.events)(ExperimentEvent::Begins {
            id: self.id,
            progress,
            runs: &self.runs,
        });
        loop {
            while let Some(place) = Progress::next(&self.states()) {
                if self.context.cancel.is_set() {
                    return Ok(());
                }
                match self.request.experiment.pairs {
                    Some(_) => self.side(place)?,
                    None => self.restart(place)?,
                }
            }
            if !self.plan_more()? {
                break;
            }
        }
        dataset::forget(self.context, &self.cluster())?;
        Ok(())
    }

    /// Runs of combinations that do not fit the machine are reported and left out.
    fn mark_unfit(&mut self) -> Result<(), ExperimentError> {
        for place in 0..self.runs.len() {
            let run = &self.runs[place];
            let combination = &self.request.combinations[run.planned.combination];
            if let (true, Some(why)) = (run.state.is_open(), combination.unfit.clone()) {
                self.end(place, RunState::DoesNotFit, None, Some(why))?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, place: usize) -> Result<(), ExperimentError> {
        self.history.begin_planned(self.id, place, wall::now_ns())?;
        let own = &mut self.runs[place];
        own.state = RunState::Running;
        own.attempts += 1;
        Ok(())
    }

    /// What became of a planned run, here and in the history.
    fn end(
        &mut self,
        place: usize,
        state: RunState,
        run: Option<helenus_record::RunId>,
        why: Option<String>,
    ) -> Result<(), ExperimentError> {
        let now = wall::now_ns();
        let ended = (state, run, why.as_deref());
        self.history.end_planned(self.id, place, ended, now)?;
        let own = &mut self.runs[place];
        (own.state, own.run, own.why) = (state, run, why);
        own.ended_wall_ns = Some(now);
        Ok(())
    }
}
