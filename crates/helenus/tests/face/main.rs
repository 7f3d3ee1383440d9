//! Ring 4, the command line: every verb, help text, error and JSON shape, as the words that a person or a program gets.
//! Refuses to start Cassandra: where a cluster is wanted, the fake node stands in.

#[path = "../lab/mod.rs"]
#[macro_use]
mod lab;

mod baseline;
mod ccm;
mod compare;
mod complete;
mod count;
mod distance;
mod dry;
mod experiment;
mod flame;
mod guard;
mod help;
mod history;
mod history_runs;
mod hosts;
mod inputs;
mod json;
mod kube;
mod kube_acts;
mod kube_experiment;
mod kube_load;
mod kube_operated;
mod ledger;
mod levels;
mod like;
mod machine;
mod many;
mod nb;
mod output;
mod report;
mod run;
mod shell;
mod stack;
mod state;
mod stress;
mod usage;
mod words;
mod workload;
