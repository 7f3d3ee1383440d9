//! What happens while a cluster is brought up, changed or stopped, for progress and logs.
//! Refuses to word it: the command line does.

use crate::ready::ReadyEvent;
use crate::store::StoreEvent;
use helenus_model::membership::Streamed;
use helenus_model::plan::ClusterPlan;
use helenus_model::stack::Part;
use std::time::Duration;

/// What happens on the way, for progress and logs.
#[derive(Debug, Clone)]
pub enum Event {
    /// The release store at work.
    Store(StoreEvent),
    /// The JDK that was chosen, with its caution.
    Jdk {
        /// Version, vendor and folder.
        jdk: String,
        /// Why a number measured on it must carry a caution.
        caution: Option<String>,
        /// The JDK that JAVA_HOME names, where the release cannot run on it, and why.
        passed_over: Option<String>,
        /// Why nodetool will not run: the JDK lacks what a JMX client needs, and there is no other.
        no_nodetool: Option<String>,
    },
    /// What is found is of another patch version than the facts that are known.
    Inexact {
        /// Found.
        version: String,
        /// Whose keys, jars and JDKs are known.
        facts: String,
    },
    /// Addresses and files are decided.
    Planned(Box<ClusterPlan>),
    /// The class-data archive is being made: a training start, once a release and JVM.
    Training,
    /// The archive is there.
    Trained {
        /// How long it took.
        took: Duration,
    },
    /// No archive; starts continue, slower.
    Untrained {
        /// Why.
        why: String,
    },
    /// Limits were asked for that the system does not enforce.
    NotLimited {
        /// Why.
        why: String,
    },
    /// The network is there, in which the nodes shall live.
    Network {
        /// Data centres.
        data_centers: usize,
    },
    /// The network had gone with its keeper: nodes that still ran in what was left of it were ended.
    Rebuilt {
        /// Nodes.
        nodes: usize,
    },
    /// Processes were started.
    Started {
        /// How many.
        nodes: usize,
    },
    /// Readiness.
    Ready(ReadyEvent),
    /// A node comes or goes.
    Member(MemberEvent),
    /// A node was asked to stop.
    Stopping {
        /// Node.
        node: String,
    },
    /// A node is gone.
    Stopped {
        /// Node.
        node: String,
        /// Whether it went by itself.
        by_itself: bool,
    },
    /// A part of the stack beside the nodes comes up.
    Part(PartEvent),
}

/// What happens while the parts of a stack come up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartEvent {
    /// A part was started.
    Started(Part),
    /// A part answers.
    Ready {
        /// It.
        part: Part,
        /// How many answer now.
        done: usize,
        /// How many were started.
        of: usize,
    },
    /// The cluster is made known to Reaper.
    Registering,
}

/// What happens while nodes come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberEvent {
    /// The others must see first that a node is dead.
    Unseen {
        /// Node.
        node: String,
    },
    /// A node streams, or is streamed to.
    Streaming {
        /// Node.
        node: String,
        /// How far it is.
        streamed: Streamed,
    },
    /// What was asked for is done, but for the others to agree on it.
    Agreeing {
        /// Node.
        node: String,
    },
}
