//! A container image of Cassandra, made without a container engine: its layers, and one tar file that engines load.
//! Refuses to fetch a base image: the C library is this machine's, and nothing else of it is in the image.

use crate::archive;
use crate::context::Context;
use crate::error::{Class, ClusterError, Problem, with_causes};
use crate::event::Event;
use crate::jdk;
use crate::lifecycle::Source;
use crate::state::Runtime;
use crate::store::Store;
use fs_err as fs;
use helenus_model::hex::sha256;
use helenus_model::kube::image::{
    Blob, ImageName, Layer, OCI_LAYOUT, config, docker_manifest, index, manifest,
};
use helenus_model::kube::pod::{ARCHIVE, HOME_FOLDER, JAVA_FOLDER};
use helenus_model::release::{Arch, Release};
use helenus_model::units::Bytes;
use layers::Packed;
use serde::Serialize;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use work::Work;

mod layers;
mod root;
mod training;
mod work;

pub use training::rooted;

/// What an image is made of.
#[derive(Debug, Clone)]
pub struct ImageRequest {
    /// A known release, such as `5.0`.
    pub release: String,
    /// Which JDK, where the person names one.
    pub java_home: Option<PathBuf>,
    /// Whether to make a class-data archive.
    pub archive: bool,
}

/// What happens while an image is made.
#[derive(Debug, Clone)]
pub enum ImageEvent {
    /// Release and JDK are looked for.
    Runtime(Box<Event>),
    /// The next step, in words.
    Step(&'static str),
    /// There is no class-data archive in it.
    Untrained {
        /// Why.
        why: String,
    },
}

/// Why an image cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// One at a time: each takes several hundred megabytes.
    #[error("another helenus is making an image")]
    Busy,
    /// A program of the JDK.
    #[error("{program} failed ({status})")]
    Program {
        /// Which.
        program: &'static str,
        /// How it ended.
        status: String,
        /// What it printed last.
        said: Vec<String>,
    },
    /// The start inside of the image.
    #[error("the training start failed: {0}")]
    Training(String),
    /// Files, or a program that does not start.
    #[error("cannot make {what}")]
    Io {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The person asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Problem for ImageError {
    fn class(&self) -> Class {
        match self {
            Self::Interrupted => Class::Interrupted,
            _ => Class::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Busy => Some("wait until it has ended".to_owned()),
            Self::Program { .. } => Some("name another JDK with --java-home".to_owned()),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("is ldd installed, and the cache writable?".to_owned())
            }
            Self::Training(_) | Self::Io { .. } | Self::Interrupted => None,
        }
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::Program { said, .. } => said.clone(),
            _ => Vec::new(),
        }
    }
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> ImageError {
    move |source| ImageError::Io { what, source }
}

/// A layer, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerView {
    /// What it holds.
    pub holds: String,
    /// Its size; none where it is known only once it is made.
    pub bytes: Option<Bytes>,
    /// Its size in the file, compressed; none in a dry run.
    pub compressed: Option<Bytes>,
}

/// What an image will have.
#[derive(Debug)]
pub struct Contents {
    /// Exact version of Cassandra.
    pub version: String,
    /// The JDK that Java is taken from.
    pub jdk: String,
    /// Whether a class-data archive will be made.
    pub archive: bool,
    /// Its layers, in order.
    pub layers: Vec<LayerView>,
}

/// What an image would have; nothing is made or fetched.
///
/// # Errors
/// An unknown release, no JDK for it, or files that cannot be read.
pub fn look(context: &Context, request: &ImageRequest) -> Result<Contents, ClusterError> {
    let release = Release::find(&request.release)?;
    let found = jdk::find(&context.env);
    let jdk = jdk::choose(release, &found, request.java_home.as_deref())?.jdk;
    let home = fs::canonicalize(&jdk.home).map_err(ClusterError::io("the JDK"))?;
    let libraries = root::libraries(&root::programs(&home, &context.helenus), &home)?;
    let modules = root::linkable(&home).len();
    let archive = request.archive && archive::can(jdk.feature);
    let store = Store::open(&context.paths.cache, &context.env)?;
    let jars = store.known_lock(release).map(|lock| {
        let jars = lock.artifacts(Arch::here());
        jars.map(|jar| jar.size).sum::<u64>()
    });
    let layer = |holds: String, bytes: Option<u64>| LayerView {
        holds,
        bytes: bytes.map(Bytes),
        compressed: None,
    };
    let base: u64 = libraries.iter().map(|path| size_of(path)).sum();
    Ok(Contents {
        version: release.version.to_owned(),
        layers: vec![
            layer(base_holds(libraries.len()), Some(base)),
            layer(
                java_holds(modules, &jdk.version),
                (modules == 0).then(|| root::size(&home)),
            ),
            layer(cassandra_holds(release.version, archive), jars),
            layer(HELENUS_HOLDS.to_owned(), Some(size_of(&context.helenus))),
        ],
        jdk: jdk.to_string(),
        archive,
    })
}

fn size_of(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |there| there.len())
}

fn base_holds(libraries: usize) -> String {
    format!("the C library and what needs it: {libraries} libraries")
}

fn java_holds(modules: usize, version: &str) -> String {
    match modules {
        0 => format!("Java {version}, a copy of the JDK"),
        n => format!("Java {version}, linked from {n} modules of the JDK"),
    }
}

fn cassandra_holds(version: &str, archive: bool) -> String {
    let with = if archive {
        ", its class-data archive"
    } else {
        ""
    };
    format!("Cassandra {version}{with}")
}

const HELENUS_HOLDS: &str = "helenus, which is launcher, probes and nodetool";

/// An image that is made, and not written yet; its layers are gone when it is dropped.
pub struct Made {
    /// Exact version of Cassandra.
    pub version: String,
    /// The JDK that Java was taken from.
    pub jdk: String,
    /// Whether it has a class-data archive.
    pub archive: bool,
    layers: Vec<Packed>,
    /// Holds the files of the layers, until no image is being made any more.
    _work: Work,
}

/// Makes an image. Nothing of it is left behind, whatever happens; what was fetched for it stays in the cache.
///
/// # Errors
/// No release, no JDK, a disk that is full, or the person asked to stop. Without an archive it is an image all the same.
pub fn make(
    context: &Context,
    request: &ImageRequest,
    events: &mut dyn FnMut(ImageEvent),
) -> Result<Made, ClusterError> {
    let source = Source::Known(request.release.clone());
    let java_home = request.java_home.as_deref();
    let (version, runtime) = context.runtime_for(&source, java_home, None, &mut |event| {
        events(ImageEvent::Runtime(Box::new(event)));
    })?;
    let work = Work::begin(&context.paths.cache)?;
    let (jdk, archive, layers) = build(
        context,
        request,
        (version.as_str(), &runtime),
        &work,
        events,
    )?;
    Ok(Made {
        version,
        jdk,
        archive,
        layers,
        _work: work,
    })
}

/// The JDK, whether there is an archive, and the layers.
fn build(
    context: &Context,
    request: &ImageRequest,
    (version, runtime): (&str, &Runtime),
    work: &Work,
    events: &mut dyn FnMut(ImageEvent),
) -> Result<(String, bool, Vec<Packed>), ClusterError> {
    let (folder, root) = (work.folder.path(), &work.folder.path().join("root"));
    let go_on = || match context.cancel.is_set() {
        true => Err(ImageError::Interrupted),
        false => Ok(()),
    };
    let pack = |places: &[&str], holds: String, name: &str| {
        go_on()?;
        let file = folder.join(name);
        layers::pack(root, places, holds, file).map_err(failed("a layer"))
    };
    let home = runtime.java.parent().and_then(Path::parent);
    let jdk = jdk::probe(home.unwrap_or(Path::new("/")))?;
    events(ImageEvent::Step("taking Java from the JDK"));
    root::java(root, &jdk.home, jdk.feature, &context.env)?;
    root::stamp(root, JAVA_FOLDER).map_err(failed("the image's Java"))?;
    go_on()?;
    events(ImageEvent::Step("collecting libraries"));
    let programs = root::programs(&root::below(root, JAVA_FOLDER), &context.helenus);
    let libraries = root::libraries(&programs, root)?;
    root::base(root, &libraries).map_err(failed("the image's libraries"))?;
    events(ImageEvent::Step("packing Java and its libraries"));
    let tops = tops(root).map_err(failed("a layer"))?;
    let tops: Vec<&str> = tops.iter().map(String::as_str).collect();
    let base = pack(&tops, base_holds(libraries.len()), "base.tar.gz")?;
    let java = java_holds(root::linkable(&jdk.home).len(), &jdk.version);
    let java = pack(&[JAVA_FOLDER.trim_start_matches('/')], java, "java.tar.gz")?;
    root::helenus(root, &context.helenus).map_err(failed("the image's helenus"))?;
    let helenus = pack(&["usr/local"], HELENUS_HOLDS.to_owned(), "helenus.tar.gz")?;
    let flags = root::cassandra(root, runtime).map_err(failed("the image's Cassandra"))?;
    root::stamp(root, HOME_FOLDER).map_err(failed("the image's Cassandra"))?;
    if request.archive && archive::can(jdk.feature) {
        go_on()?;
        events(ImageEvent::Step(
            "making the class-data archive: Cassandra starts inside of the image",
        ));
        match training::train(context, version, root, folder, &flags, jdk.feature) {
            Ok(()) => {}
            Err(ImageError::Interrupted) => return Err(ImageError::Interrupted.into()),
            Err(error) => {
                let _half_made = fs::remove_file(root::below(root, ARCHIVE));
                let why = with_causes(&error);
                events(ImageEvent::Untrained { why });
            }
        }
    }
    events(ImageEvent::Step("packing Cassandra"));
    let archive = root::below(root, ARCHIVE).exists();
    let place = HOME_FOLDER.trim_start_matches('/');
    let holds = cassandra_holds(version, archive);
    let cassandra = pack(&[place], holds, "cassandra.tar.gz")?;
    go_on()?;
    Ok((
        jdk.to_string(),
        archive,
        vec![base, java, cassandra, helenus],
    ))
}

/// What lies at the root, but for what has layers of its own.
fn tops(root: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| name != "opt");
    names.sort();
    Ok(names)
}

impl Made {
    /// Its layers, in order.
    pub fn layers(&self) -> Vec<LayerView> {
        let view = |packed: &Packed| LayerView {
            holds: packed.layer.holds.clone(),
            bytes: Some(Bytes(packed.bytes)),
            compressed: Some(Bytes(packed.layer.blob.size)),
        };
        self.layers.iter().map(view).collect()
    }

    /// Writes the image as one tar file: an OCI layout that Docker reads as well. Returns the digest of its manifest.
    ///
    /// # Errors
    /// It cannot be written, or a layer cannot be read.
    pub fn write_to(&self, name: &ImageName, out: &mut dyn Write) -> io::Result<String> {
        let arch = Arch::here();
        let layers: Vec<Layer> = self.layers.iter().map(|p| p.layer.clone()).collect();
        let config = config(arch, &self.version, &layers);
        let config_blob = blob_of(&config);
        let manifest = manifest(&config_blob, &layers);
        let manifest_blob = blob_of(&manifest);
        let texts = [
            ("oci-layout".to_owned(), OCI_LAYOUT.to_owned()),
            ("index.json".to_owned(), index(arch, name, &manifest_blob)),
            (
                "manifest.json".to_owned(),
                docker_manifest(name, &config_blob, &layers),
            ),
            (config_blob.path(), config),
            (manifest_blob.path(), manifest),
        ];
        let texts = texts.into_iter().map(|(path, text)| {
            let size = text.len() as u64;
            let bytes: Box<dyn Read> = Box::new(io::Cursor::new(text));
            (path, size, bytes)
        });
        let mut files: Vec<(String, u64, Box<dyn Read>)> = texts.collect();
        for packed in &self.layers {
            let file: Box<dyn Read> = Box::new(fs::File::open(&packed.file)?);
            files.push((packed.layer.blob.path(), packed.layer.blob.size, file));
        }
        layers::bundle(files.into_iter(), out)?;
        Ok(format!("sha256:{}", manifest_blob.digest))
    }
}

fn blob_of(text: &str) -> Blob {
    Blob {
        digest: sha256(text),
        size: text.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_every_blob_that_it_names() {
        let cache = tempfile::tempdir().expect("a folder");
        let work = Work::begin(cache.path()).expect("a folder");
        let root = work.folder.path().join("root");
        fs::create_dir_all(root.join("opt/java/bin")).expect("made");
        fs::create_dir_all(root.join("etc")).expect("made");
        assert_eq!(tops(&root).expect("read"), ["etc"]);
        let file = work.folder.path().join("java.tar.gz");
        let packed = layers::pack(&root, &["opt/java"], "Java".into(), file).expect("packed");
        let made = Made {
            version: "5.0.9".into(),
            jdk: "JDK".into(),
            archive: false,
            layers: vec![packed],
            _work: work,
        };
        let name = ImageName::parse("localhost/c:5").expect("a name");
        let mut written = Vec::new();
        let digest = made.write_to(&name, &mut written).expect("written");
        let mut again = Vec::new();
        made.write_to(&name, &mut again).expect("written");
        assert!(written == again);
        let mut tar = tar::Archive::new(&written[..]);
        let mut files = std::collections::BTreeMap::new();
        for entry in tar.entries().expect("a tar file") {
            let mut entry = entry.expect("an entry");
            let path = entry.path().expect("a path").display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("read");
            files.insert(path, bytes);
        }
        for (path, bytes) in &files {
            if let Some(named) = path.strip_prefix("blobs/sha256/") {
                assert_eq!(sha256(bytes), named);
            }
        }
        assert!(files.contains_key(&digest.replace("sha256:", "blobs/sha256/")));
        let docker: serde_json::Value =
            serde_json::from_slice(&files["manifest.json"]).expect("JSON");
        let layer = docker[0]["Layers"][0].as_str().expect("a path");
        assert!(files.contains_key(layer) && files.len() == 6, "{layer}");
    }
}
