//! CLUSTER CONTROL: releases, JDKs, processes, claims, readiness and removal of Cassandra nodes.
//! Refuses: printing. Events and errors say what happens; the command line words them.

// Foundation: this machine, this user, and what is written down of clusters.
pub mod address;
pub mod alive;
pub mod cancel;
pub mod context;
mod digest;
pub mod env;
pub mod error;
pub mod everyone;
pub mod install;
pub mod kept;
pub mod limits;
pub mod lock;
pub mod machine;
pub mod marks;
pub mod observe;
pub mod old_tables;
pub mod parallel;
pub mod paths;
pub mod populate_journal;
pub mod process;
pub mod random;
mod socket;
pub mod state;
pub mod stored;
pub mod wall;

// Network: how nodes are reached, and who answers there.
pub mod guard;
pub mod net;
pub mod reach;
pub mod ring_view;
pub mod shell;

// Node: the files that it runs on, its process, and its life in a cluster.
pub mod archive;
pub mod attach;
pub mod batch;
pub mod disk;
pub mod event;
pub mod fault;
pub mod free_memory;
pub mod host_settings;
pub mod image;
pub mod jdk;
pub mod launch;
pub mod lifecycle;
pub mod mbeans;
pub mod members;
pub mod nodetool;
pub mod outside;
pub mod owner;
pub mod pin;
pub mod profiler;
pub mod ready;
pub mod remove;
pub mod secure;
pub mod shim;
pub mod store;
mod superuser;
pub mod timers;
pub mod tools;

// Data: schemas, rows and settings of clusters that run.
pub mod baseline;
pub mod live_schema;
pub mod live_settings;
pub mod origin;
pub mod raised_settings;
pub mod reset;
pub mod scan;
pub mod schema_file;
pub mod settings;
pub mod upgrade;

// Beside them: what a measurement wants to know of its surroundings, and generators elsewhere.
pub mod agent;
pub mod collect;
pub mod doctor;
pub mod in_use;
pub mod queue;
pub mod telemetry;

// Kubernetes: clusters that kubectl applies, and what this binary does in their pods.
pub mod kube;
pub mod pod;

// Hosts: clusters that Ansible installs.
pub mod hosts;

// Stack: what runs beside the nodes of a cluster.
pub mod stack;
