//! Jars that are fetched beside a release because a verb needs them: Jolokia's agent, by the JVM that loads it, the
//! profiler, and Reaper.
//! Refuses a jar without a committed SHA-256: it is code that runs inside a node, or has a node's JMX.

use super::Lock;
use std::sync::LazyLock;

/// A jar that is no part of Cassandra, with the lock that it is verified by.
#[derive(Debug)]
pub struct Tool {
    /// The folder's name in the store, such as `jolokia-2.6.0`.
    pub name: &'static str,
    /// The oldest feature number of a JDK that can load it.
    pub oldest_jdk: u32,
    lock_text: &'static str,
    lock: LazyLock<Lock>,
}

impl Tool {
    /// Its jars.
    pub fn lock(&'static self) -> &'static Lock {
        &self.lock
    }

    /// The agent that answers for MBeans over HTTP, for a JVM of this feature number.
    ///
    /// Jolokia 2.6 is compiled for Java 17; below that the last of the 1.x line serves, on Java 8 as on 11.
    pub fn jolokia(jdk_feature: u32) -> &'static Self {
        if jdk_feature >= JOLOKIA_2.oldest_jdk {
            &JOLOKIA_2
        } else {
            &JOLOKIA_1
        }
    }

    /// The profiler: its jar holds a library for each processor.
    pub fn async_profiler() -> &'static Self {
        &ASYNC_PROFILER
    }

    /// Reaper, with all that it needs in one jar: the newest that Maven has.
    pub fn reaper() -> &'static Self {
        &REAPER
    }
}

// SHA-256 and sizes as Maven delivered them, twice, in November 2026.
const JOLOKIA_2_LOCK: &str = "org.jolokia\tjolokia-agent-jvm\t2.6.0\tjavaagent\tany\t\
    jolokia-agent-jvm-2.6.0-javaagent.jar\t\
    95c2c1230970ac0ad71b9cb556b8a55c4c6008e9ffd7745be7797f477120b6ae\t777506\n";
const JOLOKIA_1_LOCK: &str = "org.jolokia\tjolokia-jvm\t1.7.2\t-\tany\tjolokia-jvm-1.7.2.jar\t\
    65d5645b07f7bdc22c7a1dbf060b5345b564674cc263d14f75ade2dabe80f1f2\t488818\n";
const ASYNC_PROFILER_LOCK: &str = "tools.profiler\tasync-profiler\t4.4\t-\tany\tasync-profiler-4.4.jar\t\
    47f321b8cdbadda2c281a612f6ac245254c81a02ce578abf782a53170ea40b37\t912286\n";
const REAPER_LOCK: &str = "io.cassandrareaper\tcassandra-reaper\t1.4.1\t-\tany\tcassandra-reaper-1.4.1.jar\t\
    5e5f2c96b5fcf90076f61c143298920be21c516b5f823a94d3df30d024904ca4\t63053494\n";

static JOLOKIA_2: Tool = Tool {
    name: "jolokia-2.6.0",
    oldest_jdk: 17,
    lock_text: JOLOKIA_2_LOCK,
    lock: LazyLock::new(|| read(&JOLOKIA_2)),
};
static JOLOKIA_1: Tool = Tool {
    name: "jolokia-1.7.2",
    oldest_jdk: 8,
    lock_text: JOLOKIA_1_LOCK,
    lock: LazyLock::new(|| read(&JOLOKIA_1)),
};
static ASYNC_PROFILER: Tool = Tool {
    name: "async-profiler-4.4",
    oldest_jdk: 8,
    lock_text: ASYNC_PROFILER_LOCK,
    lock: LazyLock::new(|| read(&ASYNC_PROFILER)),
};
static REAPER: Tool = Tool {
    name: "reaper-1.4.1",
    oldest_jdk: 8,
    lock_text: REAPER_LOCK,
    lock: LazyLock::new(|| read(&REAPER)),
};

fn read(tool: &Tool) -> Lock {
    match Lock::parse(tool.lock_text) {
        Ok(lock) => lock,
        Err(error) => unreachable!("a test reads this lock: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::Arch;

    #[test]
    fn each_jvm_gets_an_agent_that_it_can_load() {
        let file = |jdk| {
            let lock = Tool::jolokia(jdk).lock();
            let files: Vec<&str> = lock.artifacts(Arch::here()).map(|a| &*a.file).collect();
            assert_eq!(files.len(), 1);
            files[0].to_owned()
        };
        assert_eq!(file(8), "jolokia-jvm-1.7.2.jar");
        assert_eq!(file(11), "jolokia-jvm-1.7.2.jar");
        assert_eq!(file(17), "jolokia-agent-jvm-2.6.0-javaagent.jar");
        assert_eq!(file(25), "jolokia-agent-jvm-2.6.0-javaagent.jar");
    }

    #[test]
    fn the_profiler_is_one_jar() {
        let jars = Tool::async_profiler().lock().artifacts(Arch::here());
        let jars: Vec<&str> = jars.map(|jar| jar.file.as_str()).collect();
        assert_eq!(jars, ["async-profiler-4.4.jar"]);
    }
    #[test]
    fn reaper_is_one_jar() {
        let jars = Tool::reaper().lock().artifacts(Arch::here());
        let jars: Vec<&str> = jars.map(|jar| jar.file.as_str()).collect();
        assert_eq!(jars, ["cassandra-reaper-1.4.1.jar"]);
    }
}
