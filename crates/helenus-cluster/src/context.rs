//! What every verb works with: folders, environment, clusters, addresses.
//! Refuses to act: what is done to a cluster stands in the modules above.

use crate::address::Claims;
use crate::cancel::Cancel;
use crate::env::Env;
use crate::error::ClusterError;
use crate::paths::Paths;
use crate::state::Clusters;
use std::path::PathBuf;

/// Everything that the verbs work with.
#[derive(Debug, Clone)]
pub struct Context {
    /// Folders.
    pub paths: Paths,
    /// The environment that JDKs and Maven are found in.
    pub env: Env,
    /// Clusters of this user.
    pub clusters: Clusters,
    /// Addresses of this user.
    pub claims: Claims,
    /// This very binary.
    pub helenus: PathBuf,
    /// The person's wish to stop.
    pub cancel: Cancel,
}

impl Context {
    /// Opens the folders.
    ///
    /// # Errors
    /// One cannot be made.
    pub fn open(env: Env, helenus: PathBuf, cancel: Cancel) -> Result<Self, ClusterError> {
        let paths = Paths::find(&env)?;
        paths.secure_runtime(&env)?;
        let clusters =
            Clusters::open(&paths.state).map_err(ClusterError::io("the state folder"))?;
        let claims = Claims::open(&paths.runtime)
            .map_err(ClusterError::io("the folder of address claims"))?;
        Ok(Self {
            paths,
            env,
            clusters,
            claims,
            helenus,
            cancel,
        })
    }
}
