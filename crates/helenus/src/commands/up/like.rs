//! `up --like`: a production's files into the request, and every difference as a table.
//! Refuses to decide what is kept: the model does.

use crate::cli::ClusterFlags;
use crate::error::CommandError;
use crate::ui::{Answers, Table};
use helenus_cluster::lifecycle::UpRequest;
use helenus_cql::input;
use helenus_model::like::{Beside, Class, Like, LikeError, Manifest, like, manifest};
use helenus_model::plan::NodeWords;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Longest value in the table on a terminal; a pipe and JSON get all of it.
const WIDEST: usize = 48;

/// A production's file: a cassandra.yaml, or a Kubernetes manifest.
pub(super) struct Production {
    path: PathBuf,
    text: String,
    /// What it says, where it is a manifest.
    pub(super) manifest: Option<Manifest>,
}

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<Production, CommandError> {
    let text = input::text(path)?;
    let wrong = |e| CommandError::from(e).within(&path.display().to_string());
    let manifest = manifest(&text).map_err(wrong)?;
    Ok(Production {
        path: path.to_owned(),
        text,
        manifest,
    })
}

impl Production {
    /// Puts it into a request, of a cassandra.yaml with the cassandra-rackdc.properties beside it; a person's own flags
    /// stay above all.
    pub(super) fn follow(
        &self,
        flags: &ClusterFlags,
        request: &mut UpRequest,
    ) -> Result<Like, CommandError> {
        let release = super::facts(&request.source)?;
        let beside = Beside {
            auth: flags.node.auth,
            tls: flags.node.tls,
            lone: request.spec.topology.nodes() == 1 && flags.node.tokens == 1,
            nodes: request.spec.topology.smallest_data_center(),
            tokens: (flags.node.tokens != 1).then_some(flags.node.tokens),
        };
        let preset = request.spec.preset;
        let wrong = |e: LikeError| CommandError::from(e).within(&self.path.display().to_string());
        let (like, by_data_center) = match &self.manifest {
            Some(manifest) => {
                let followed = manifest.follow(release, preset, beside).map_err(wrong)?;
                request.spec.security.tls = followed.tls;
                (followed.like, followed.by_data_center)
            }
            None => {
                let rackdc = self.rackdc()?;
                let like = like(&self.text, rackdc.as_deref(), release, preset, beside);
                (like.map_err(wrong)?, Vec::new())
            }
        };
        // A person's --set comes last and wins.
        let own = std::mem::take(&mut request.spec.set);
        give(request, &by_data_center, &own);
        request.spec.like = true;
        request.spec.set = like.settings.clone();
        request.spec.set.extend(own);
        request.spec.security.auth = like.auth;
        request.spec.initial_tokens = like.initial_tokens.clone();
        if flags.node.tokens == 1 {
            request.spec.tokens = like.tokens.unwrap_or(request.spec.tokens);
        }
        if let (Some(place), Some(only)) =
            (&like.place, request.spec.topology.data_centers.first_mut())
        {
            only.name = place.data_center.clone();
            only.racks.fill(place.rack.clone());
        }
        Ok(like)
    }

    /// The text of the cassandra-rackdc.properties beside the file.
    fn rackdc(&self) -> Result<Option<String>, CommandError> {
        let rackdc = self.path.with_file_name("cassandra-rackdc.properties");
        match input::text(&rackdc) {
            Err(error) if error.is_missing() => Ok(None),
            read => Ok(Some(read?)),
        }
    }
}

/// Gives the nodes of each data centre what it has for itself, but for the keys that a person set.
fn give(request: &mut UpRequest, by_data_center: &[Vec<(String, Value)>], own: &[(String, Value)]) {
    if by_data_center.iter().all(Vec::is_empty) {
        return;
    }
    let places = request.spec.topology.places();
    request
        .spec
        .by_node
        .resize(places.len(), NodeWords::default());
    for (words, place) in request.spec.by_node.iter_mut().zip(&places) {
        let set = by_data_center.get(place.data_center).into_iter().flatten();
        let others = set.filter(|(key, _)| own.iter().all(|(set, _)| set != key));
        words.set.extend(others.cloned());
    }
}

/// Every key, class by class, then the counts.
pub(super) fn text(like: &Like) -> String {
    let widest = match rustix::termios::isatty(rustix::stdio::stdout()) {
        true => WIDEST,
        false => usize::MAX,
    };
    let cut = |text: &str| cut(text, widest);
    let mut table = Table::new(&["class", "key", "in the file", "here", "why"]);
    for class in Class::ALL {
        let of_class = like.differences.iter().filter(|d| d.class == class);
        for difference in of_class {
            table.row([
                class.as_str().to_owned(),
                difference.key.clone(),
                cut(difference.was.as_deref().unwrap_or("-")),
                cut(difference.now.as_deref().unwrap_or("-")),
                difference.why.clone(),
            ]);
        }
    }
    format!("{}\n{}\n", table.render(), like.answer())
}

/// How many keys of each class there are.
impl Answers for Like {
    fn answer(&self) -> String {
        let of = |class: Class| self.differences.iter().filter(move |d| d.class == class);
        let counts = Class::ALL.map(|class| format!("{} {}", of(class).count(), class.as_str()));
        format!(
            "Cassandra {}, sizes and JVM flags of preset {}: {}",
            self.release,
            self.preset.word(),
            counts.join(", ")
        )
    }
}

fn cut(text: &str, widest: usize) -> String {
    if text.chars().count() <= widest {
        return text.to_owned();
    }
    let head: String = text.chars().take(widest - 1).collect();
    format!("{head}…")
}
