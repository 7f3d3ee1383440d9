//! A release made ready for a start without a network: its class-data archive, by a cluster of one node made for it alone.
//! Refuses to leave that cluster behind.

use super::{Source, UpRequest};
use crate::archive;
use crate::context::Context;
use crate::error::ClusterError;
use crate::event::Event;
use crate::remove;
use crate::store::Store;
use fs_err as fs;
use helenus_model::plan::ClusterSpec;
use helenus_model::preset::PresetName;
use helenus_model::release::{Arch, Release};
use helenus_model::topology::Topology;
use std::path::PathBuf;
use std::time::Duration;

impl Context {
    /// The archive that the next start of a cached release maps, there or not. None where the release is not cached, or
    /// no JDK that is found runs it, or that JDK has no archives.
    pub fn archive_of(&self, release: &'static Release) -> Option<PathBuf> {
        let store = Store::open(&self.paths.cache, &self.env).ok()?;
        store.cached(release, Arch::here())?;
        let request = alone("archive", release.version).ok()?;
        let plan = self.dry_run(&request).ok()?;
        let (version, runtime) = self.runtime(&request, &mut |_| {}).ok()?;
        let key = archive::key(&runtime, &plan.nodes.first()?.jvm);
        archive::can(runtime.jdk_feature).then(|| archive::path(&self.paths.cache, &version, &key))
    }

    /// Makes that archive unless it is there; every preset maps it. None where there can be none, or where its training
    /// failed, which an event reports.
    ///
    /// # Errors
    /// The release cannot be had, no JDK runs it, there is no room for a node, or the person asked to stop.
    pub fn make_archive(
        &self,
        release: &'static Release,
        events: &mut dyn FnMut(Event),
    ) -> Result<Option<PathBuf>, ClusterError> {
        if let Some(there) = self.archive_of(release).filter(|path| path.exists()) {
            return Ok(Some(there));
        }
        let request = alone("archive", release.version)?;
        self.dry_run(&request)?;
        let (version, runtime) = self.runtime(&request, events)?;
        if !archive::can(runtime.jdk_feature) {
            return Ok(None);
        }
        let folder = self.clusters.folder(&request.spec.name);
        fs::create_dir(&folder).map_err(ClusterError::io("the state folder"))?;
        let lock = self.clusters.lock(&request.spec.name)?;
        let made = self.planned(&request, &version, &runtime);
        let made = made.and_then(|mut state| {
            self.provide_archive(&mut state, events)?;
            Ok(state.runtime.archive)
        });
        drop(lock);
        remove::remove(self, &request.spec.name)?;
        made
    }
}

/// One node of the smallest preset, ephemeral: what a `kill -9` leaves is abandoned, and reported so.
pub(crate) fn alone(purpose: &str, version: &str) -> Result<UpRequest, ClusterError> {
    Ok(UpRequest {
        spec: ClusterSpec::new(
            format!("{purpose}-{}", std::process::id()),
            Topology::single(1)?,
            PresetName::Tiny,
        ),
        source: Source::Known(version.to_owned()),
        java_home: None,
        ephemeral: true,
        owner: None,
        ready_within: Duration::ZERO,
        fake: None,
        start: true,
        addresses: None,
        interface: None,
        read_ahead: None,
        stack: None,
    })
}
