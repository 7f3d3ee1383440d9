//! A cluster on hosts of your own: the plan that makes processes here, as files that Ansible, Docker and OpenTofu run.
//! Refuses to run anything: a rendering is a value, and the same request gives the same text.

pub mod machines;
pub mod options;

mod ansible;
mod instance;
mod render;
mod stack;
mod tofu;

pub use ansible::{PLAYBOOKS, Playbook};
pub use render::{HOSTS_PLAN_VERSION, HostsPlan, PlannedNode, render, same_nodes};

#[cfg(test)]
mod tests;
