//! One file a command. Each reads its flags, calls the crates below, and shows the result.

// What commands share, and clusters.
pub(crate) mod attached;
pub(crate) mod baseline;
pub(crate) mod calibrate;
pub(crate) mod ccm;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod cqlsh;
pub(crate) mod disturb;
pub(crate) mod doctor;
pub(crate) mod done;
pub(crate) mod elsewhere;
pub(crate) mod env;
pub(crate) mod exec;
pub(crate) mod fault;
pub(crate) mod flame;
pub(crate) mod guard;
pub(crate) mod hidden;
pub(crate) mod jmx;
pub(crate) mod keys;
pub(crate) mod link;
pub(crate) mod logs;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod metrics;
pub(crate) mod nodetool;
pub(crate) mod plan;
pub(crate) mod pod;
pub(crate) mod presets;
pub(crate) mod relay;
pub(crate) mod releases;
pub(crate) mod report;
pub(crate) mod reset;
pub(crate) mod rm;
pub(crate) mod signal;
pub(crate) mod topology;
pub(crate) mod up;
pub(crate) mod up_many;
pub(crate) mod upgrade;
pub(crate) mod workload;

// Nodes, stacks and hosts.
pub(crate) mod hosts;
pub(crate) mod list;
pub(crate) mod node;
pub(crate) mod stack;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;

// A measurement, and where it goes.
pub(crate) mod agent;
pub(crate) mod bench;
pub(crate) mod place;

// Other loads, and what became of them.
pub(crate) mod check_data;
pub(crate) mod count;
pub(crate) mod ledger;
pub(crate) mod load;
pub(crate) mod nb;
pub(crate) mod populate;
pub(crate) mod run;
pub(crate) mod stress;

// Several measurements, and Kubernetes.
pub(crate) mod collect;
pub(crate) mod compare;
pub(crate) mod experiment;
pub(crate) mod history;
pub(crate) mod kube;
pub(crate) mod levels;
pub(crate) mod unload;

// Pages of all of it.
pub(crate) mod site;
