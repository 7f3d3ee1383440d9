//! What nodes run with: the release, the JDK, the launcher; or a stand-in.
//! Refuses to fetch a release for a JDK that cannot run it.

use super::{Source, UpRequest};
use crate::archive;
use crate::context::Context;
use crate::error::ClusterError;
use crate::event::Event;
use crate::jdk;
use crate::state::Runtime;
use crate::store::{ReleaseFiles, Store};
use helenus_model::release::Verdict;
use helenus_model::release::{Arch, Release};
use std::path::{Path, PathBuf};

impl Context {
    /// Finds release and JDK; fetches the release when it is not in the cache.
    pub(crate) fn runtime(
        &self,
        request: &UpRequest,
        events: &mut dyn FnMut(Event),
    ) -> Result<(String, Runtime), ClusterError> {
        let (java_home, fake) = (request.java_home.as_deref(), request.fake.as_deref());
        self.runtime_for(&request.source, java_home, fake, events)
    }

    /// The same for a release and the JDK that a person names, if one is; `fake` is a stand-in.
    pub(crate) fn runtime_for(
        &self,
        source: &Source,
        explicit: Option<&Path>,
        fake: Option<&str>,
        events: &mut dyn FnMut(Event),
    ) -> Result<(String, Runtime), ClusterError> {
        if let Some(fake) = fake {
            return self.fake_runtime(fake, source, explicit);
        }
        let store = Store::open(&self.paths.cache, &self.env)?;
        let cancel = self.cancel.flag();
        let files = match source {
            Source::Known(name) => {
                let release = Release::find(name)?;
                // The JDK first: a wrong one is refused before anything is fetched.
                jdk::choose(release, &jdk::find(&self.env), explicit)?;
                store.ensure(release, Arch::here(), &cancel, &mut |e| {
                    events(Event::Store(e))
                })?
            }
            Source::Home(path) => Store::from_home(path)?,
            Source::Tarball(path) => {
                store.from_tarball(path, &cancel, &mut |e| events(Event::Store(e)))?
            }
        };
        if !files.exact() {
            events(Event::Inexact {
                version: files.version.clone(),
                facts: files.release.version.to_owned(),
            });
        }
        let found = jdk::find(&self.env);
        let chosen = jdk::choose(files.release, &found, explicit)?;
        let caution = match &chosen.verdict {
            Verdict::Works(caution) => Some(caution.clone()),
            Verdict::Supported | Verdict::Refused(_) => None,
        };
        events(Event::Jdk {
            jdk: chosen.jdk.to_string(),
            caution: caution.clone(),
            passed_over: chosen.passed_over.map(|(jdk, why)| format!("{jdk}: {why}")),
            no_nodetool: jdk::for_tools(files.release, &chosen.jdk, &found)
                .err()
                .map(|error| format!("{error}; {}", error.hint())),
        });
        let module_flags = flags_of(&files, chosen.jdk.feature);
        let launcher = archive::launcher(&self.paths.cache, &files.jars, &module_flags)
            .map_err(ClusterError::io("the cache folder"))?;
        let runtime = Runtime {
            java: chosen.jdk.home.join("bin/java"),
            jvm: chosen.jdk.version.clone(),
            jdk_feature: chosen.jdk.feature,
            jdk_caution: caution,
            jars: files.jars,
            launcher,
            archive: None,
            module_flags,
            fake: None,
        };
        Ok((files.version, runtime))
    }

    /// The runtime of a stand-in: nothing is fetched, but a distribution that is named is read and needs its JDK.
    fn fake_runtime(
        &self,
        fake: &str,
        source: &Source,
        explicit: Option<&Path>,
    ) -> Result<(String, Runtime), ClusterError> {
        let mut runtime = Runtime {
            java: PathBuf::new(),
            jvm: "fake".into(),
            jdk_feature: 17,
            jdk_caution: None,
            jars: vec![],
            launcher: PathBuf::new(),
            archive: None,
            module_flags: vec![],
            fake: Some(fake.to_owned()),
        };
        let version = match source {
            Source::Known(name) => Release::find(name)?.version.to_owned(),
            Source::Tarball(_) => Release::newest().version.to_owned(),
            Source::Home(path) => {
                let files = Store::from_home(path)?;
                let chosen = jdk::choose(files.release, &jdk::find(&self.env), explicit)?;
                runtime.jdk_feature = chosen.jdk.feature;
                runtime.module_flags = flags_of(&files, chosen.jdk.feature);
                if let Verdict::Works(caution) = chosen.verdict {
                    runtime.jdk_caution = Some(caution);
                }
                files.version
            }
        };
        Ok((version, runtime))
    }
}

/// Flags about modules, and the agent that the release's jamm needs on newer JDKs.
fn flags_of(files: &ReleaseFiles, jdk_feature: u32) -> Vec<String> {
    let mut flags = files.release.module_flags(jdk_feature);
    let wants = |from: u32| jdk_feature >= from;
    if files.release.agent_from_jdk.is_some_and(wants) {
        let is_jamm = |jar: &&PathBuf| {
            let name = jar.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("jamm-")
        };
        let jamm = files.jars.iter().find(is_jamm);
        if let Some(jar) = jamm {
            // Without these two a JVM with an agent writes no archive and uses none; jamm changes no class.
            flags.push("-XX:+UnlockDiagnosticVMOptions".to_owned());
            flags.push("-XX:+AllowArchivingWithJavaAgent".to_owned());
            flags.push(format!("-javaagent:{}", jar.display()));
        }
    }
    flags
}
