//! `helenus kube image`: the image that plain pods run, as one file.
//! Refuses standard output: the file is for an engine, and the result is for whoever loads it.

use crate::cli::kube::image::Image;
use crate::commands::up::Watcher;
use crate::error::{CommandError, code};
use crate::outfile::{self, Standing};
use crate::ui::{Answers, Progress, Table, Ui};
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_cluster::image::{self, ImageEvent, ImageRequest, LayerView, Made};
use helenus_model::format::Format;
use helenus_model::kube::image::ImageName;
use helenus_model::kube::options::image_of;
use helenus_model::release::Release;
use helenus_model::units::{Bytes, plural};
use serde::Serialize;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Bytes that are written at once.
const CHUNK: usize = 1 << 20;

/// An image that was made, or would be.
#[derive(Serialize)]
struct KubeImage {
    format: Format,
    /// Its name and tag.
    name: String,
    /// Release of Cassandra.
    release: String,
    /// The JDK that Java is taken from.
    jdk: String,
    /// Whether it has a class-data archive, from which pods start faster.
    archive: bool,
    /// Its layers, in order.
    layers: Vec<LayerView>,
    /// The file; absent in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    /// Digest of its manifest; absent in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl Answers for KubeImage {
    fn answer(&self) -> String {
        let head = format!("image {}: Cassandra {}", self.name, self.release);
        match &self.file {
            Some(file) => {
                let sizes = self.layers.iter().filter_map(|layer| layer.compressed);
                let size = sizes.fold(Bytes(0), |sum, size| sum + size);
                format!("{head}, {size} in {}", file.display())
            }
            None => format!("{head}, {}", plural(self.layers.len(), "layer")),
        }
    }
}

pub(crate) fn run(flags: &Image, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let release = Release::find(&flags.cassandra)?;
    let name = match &flags.name {
        Some(name) => name.clone(),
        None => ImageName::parse(&image_of(release.version))
            .map_err(|e| CommandError::of(code::USAGE, &e))?,
    };
    let request = ImageRequest {
        release: release.version.to_owned(),
        java_home: flags.java_home.clone(),
        archive: !flags.no_archive,
    };
    if flags.dry_run {
        let contents = image::look(context, &request)?;
        let shown = KubeImage {
            format: Format::new("kube-image", 1),
            name: name.to_string(),
            release: contents.version,
            jdk: contents.jdk,
            archive: contents.archive,
            layers: contents.layers,
            file: None,
            digest: None,
        };
        ui.result(&shown, || text(&shown) + "\nnothing was made (--dry-run)\n");
        return Ok(0);
    }
    let by_default = || PathBuf::from(format!("helenus-cassandra-{}.tar", release.version));
    let path = flags.output.clone().unwrap_or_else(by_default);
    check(&path)?;
    let made = make(context, &request, ui)?;
    let digest = write(&made, &name, &path)?;
    let shown = KubeImage {
        format: Format::new("kube-image", 1),
        name: name.to_string(),
        layers: made.layers(),
        archive: made.archive,
        release: made.version,
        jdk: made.jdk,
        file: Some(path),
        digest: Some(digest),
    };
    ui.result(&shown, || text(&shown));
    Ok(0)
}

/// Looks at the place of the file before minutes are spent on it.
fn check(path: &Path) -> Result<(), CommandError> {
    if outfile::is_output(path) {
        let text = "an image is not written to standard output";
        return Err(CommandError::new(code::USAGE, text).hint("name a file with -o".to_owned()));
    }
    outfile::standing(path)?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        let text = format!("cannot write {}: its folder does not exist", path.display());
        return Err(CommandError::new(code::ENVIRONMENT, text)
            .hint("name a file in an existing folder that you can write to".to_owned()));
    }
    Ok(())
}

fn make(context: &Context, request: &ImageRequest, ui: &Ui) -> Result<Made, CommandError> {
    let mut watcher = Some(Watcher::new(ui, "", 0));
    let mut progress: Option<Progress> = None;
    let made = image::make(context, request, &mut |event| match event {
        ImageEvent::Runtime(event) => {
            if let Some(watcher) = &mut watcher {
                watcher.see(&event);
            }
        }
        ImageEvent::Step(what) => {
            tracing::info!(what, "image");
            watcher = None;
            progress.get_or_insert_with(|| ui.progress(what)).say(what);
        }
        ImageEvent::Untrained { why } => ui.caution(&format!(
            "the image has no class-data archive, its pods start slower: {why}"
        )),
    });
    Ok(made?)
}

/// Writes the file. What cannot be finished is of no use, and removed.
fn write(made: &Made, name: &ImageName, path: &Path) -> Result<String, CommandError> {
    let mut file = BufWriter::with_capacity(CHUNK, outfile::open(path)?);
    made.write_to(name, &mut file).map_err(|error| {
        if outfile::standing(path).is_ok_and(|there| there == Standing::File) {
            let _stays_as_it_is = fs::remove_file(path);
        }
        CommandError::of(code::ENVIRONMENT, &error)
    })
}

fn text(image: &KubeImage) -> String {
    let size = |bytes: Option<Bytes>| bytes.map_or_else(|| "-".to_owned(), |b| b.to_string());
    let mut table = Table::new(&["layer", ">size", ">compressed"]);
    for layer in &image.layers {
        table.row([
            layer.holds.clone(),
            size(layer.bytes),
            size(layer.compressed),
        ]);
    }
    let mut text = format!("{}\n{}\n\n{}", image.answer(), image.jdk, table.render());
    if let Some(file) = &image.file {
        let file = file.display();
        text.push_str(&format!(
            "\nload it with one of:\n  \
             kind load image-archive {file}\n  \
             docker load -i {file}\n  \
             ctr -n k8s.io images import {file}\n"
        ));
    }
    text
}
