//! A cluster on Kubernetes: the same plan that makes processes here makes pods there, plain or for K8ssandra's operators.
//! Refuses to apply anything: a rendering is a value, and the same request gives the same text.

// Names and options.
pub mod image;
pub mod names;
pub mod options;
pub mod pod;

pub(crate) mod layout;

// Pods.
mod plain;
mod stateful;

// What stands beside them, and the files.
mod helm;
pub mod kind;
pub mod operated;
pub mod policy;
mod render;
pub mod secret;
pub mod waiting;

// What uses the files.
pub mod job;
pub mod lent;
mod operator;
pub mod scaling;
#[cfg(test)]
pub(crate) mod tests;

pub use plain::{DATA_CENTER, ID, INSTANCE, RACK, SET};
pub use render::{KUBE_PLAN_VERSION, KubePlan, ManifestFile, PodSet, render};
pub use stateful::CONTAINER;
