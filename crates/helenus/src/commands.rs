//! One file a command. Each reads its flags, calls the hands or the line, and shows the result.

pub(crate) mod baseline;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod cqlsh;
pub(crate) mod doctor;
pub(crate) mod env;
pub(crate) mod fake_node;
pub(crate) mod guard;
pub(crate) mod hidden;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod memory;
pub(crate) mod nodetool;
pub(crate) mod presets;
pub(crate) mod releases;
pub(crate) mod report;
pub(crate) mod reset;
pub(crate) mod rm;
pub(crate) mod signal;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod up;
pub(crate) mod up_many;
