//! Ring 3, the lifecycle: the real launch, claim, readiness, stop and removal, with a fake node that misbehaves on request.
//! Refuses to start Cassandra, and to end with anything left behind.

#[path = "../lab/mod.rs"]
#[macro_use]
mod lab;

mod action;
mod agents;
mod baseline;
mod bench;
mod ccm;
mod collect;
mod compare;
mod disks;
mod distance;
mod documents;
mod experiment;
mod faults;
mod given;
mod hdr_log;
mod history;
mod in_use;
mod instances;
mod interface;
mod interrupt;
mod killed;
mod lacking;
mod ledger;
mod levels;
mod live;
mod many;
mod misbehaving;
mod nb;
mod netem;
mod nodes;
mod owner;
mod populate;
mod releases;
mod reset;
mod run;
mod search;
mod secured;
mod serving;
mod shell;
mod site;
mod stress;
mod two_homes;
mod upgrade;
mod verbs;
