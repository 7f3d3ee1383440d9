//! A cluster on Kubernetes: the same plan that makes processes here makes pods there, plain or for K8ssandra's operators.
//! Refuses to apply anything: a rendering is a value, and the same request gives the same text.

pub mod image;
pub mod job;
pub mod kind;
pub mod lent;
pub mod names;
pub mod operated;
pub mod options;
pub mod pod;
pub mod policy;
pub mod scaling;
pub mod secret;
pub mod waiting;

pub(crate) mod layout;

mod helm;
mod operator;
mod plain;
mod render;
mod stateful;

pub use plain::{DATA_CENTER, ID, INSTANCE, RACK, SET};
pub use render::{KUBE_PLAN_VERSION, KubePlan, ManifestFile, PodSet, render};
pub use stateful::CONTAINER;

#[cfg(test)]
pub(crate) mod tests;
