//! What the house rules allow and refuse: edges, owners of outside crates, licences, bans, sizes.
//! Refuses a line without a reason.

/// Who may use whom inside the workspace. The drawing of ARCHITECTURE.md is this list.
pub(crate) const EDGES: &[(&str, &[&str])] = &[
    ("bare-loop", &["helenus-cql", "helenus-model"]),
    (
        "helenus",
        &[
            "helenus-cluster",
            "helenus-cql",
            "helenus-lab",
            "helenus-load",
            "helenus-model",
            "helenus-record",
        ],
    ),
    ("helenus-cluster", &["helenus-cql", "helenus-model"]),
    ("helenus-cql", &["helenus-model"]),
    (
        "helenus-fake-node",
        &[
            "helenus-cluster",
            "helenus-cql",
            "helenus-load",
            "helenus-model",
        ],
    ),
    (
        "helenus-lab",
        &[
            "helenus-cluster",
            "helenus-cql",
            "helenus-load",
            "helenus-model",
            "helenus-record",
            "helenus-sstable",
        ],
    ),
    ("helenus-load", &["helenus-cql", "helenus-model"]),
    ("helenus-model", &[]),
    ("helenus-record", &["helenus-model"]),
    ("helenus-sstable", &["helenus-cql", "helenus-model"]),
    (
        "xtask",
        &[
            "helenus-cluster",
            "helenus-cql",
            "helenus-model",
            "helenus-record",
        ],
    ),
];

/// Crates that every room may use.
pub(crate) const EVERYBODY: &[&str] = &["serde", "serde_json", "thiserror"];

/// Crates that every room's tests may use.
pub(crate) const TESTS: &[&str] = &["insta", "libtest-mimic", "proptest", "rcgen", "tempfile"];

/// Outside crates and the rooms that may use them. A new line is a decision; a new room on a line is one too.
pub(crate) const OWNERS: &[(&str, &[&str])] = &[
    // The command line alone knows flags, colours, progress and interrupts.
    ("anstream", &["helenus"]),
    ("clap", &["helenus"]),
    ("clap_complete", &["helenus"]),
    // Man pages of the packages, from the same definition as help and completions.
    ("clap_mangen", &["helenus"]),
    ("indicatif", &["helenus"]),
    ("owo-colors", &["helenus"]),
    // Queries of the pages of `ui`.
    ("form_urlencoded", &["helenus"]),
    ("ratatui", &["helenus"]),
    ("rustyline", &["helenus"]),
    (
        "signal-hook",
        &["helenus", "helenus-fake-node", "helenus-load"],
    ),
    // Topologies are a file that people write; the reader of it names the line of a mistake.
    ("toml", &["helenus", "helenus-model"]),
    ("tracing-subscriber", &["helenus"]),
    ("etcetera", &["helenus-cluster"]),
    ("flate2", &["helenus-cluster", "helenus-lab"]),
    // Files that are loaded: their encodings, compressions and columns, and patterns of their names.
    ("encoding_rs", &["helenus-lab"]),
    ("glob", &["helenus"]),
    ("parquet", &["helenus-lab"]),
    (
        "zstd",
        &["helenus-lab", "helenus-record", "helenus-sstable"],
    ),
    // Certificates, and the keystores in which Cassandra wants them.
    ("p12-keystore", &["helenus-cluster"]),
    ("rcgen", &["helenus-cluster"]),
    (
        "sha2",
        &[
            "helenus-cluster",
            "helenus-model",
            "helenus-record",
            "xtask",
        ],
    ),
    ("tar", &["helenus-cluster"]),
    ("tempfile", &["helenus-cluster", "helenus-record", "xtask"]),
    // The types of the JSON formats, read from the source for their pages.
    ("syn", &["xtask"]),
    // System calls that rustix has no safe form of: mincore, a socket's stamps, a thread's priority.
    ("libc", &["helenus-cluster", "helenus-load"]),
    ("allocation-counter", &["helenus-load"]),
    ("rusqlite", &["helenus-record"]),
    ("tiny_http", &["helenus-lab"]),
    // The model: one young YAML parser behind one module, one form of histogram, one source of Student's t.
    (
        "base64",
        &["helenus-cluster", "helenus-model", "helenus-record"],
    ),
    (
        "hdrhistogram",
        &["helenus-load", "helenus-model", "helenus-record"],
    ),
    ("serde-saphyr", &["helenus-model"]),
    ("statrs", &["helenus-model"]),
    ("strsim", &["helenus-model"]),
    // Checksums and compression of the protocol, of files and of SSTables.
    ("crc32fast", &["helenus-cql", "helenus-sstable"]),
    (
        "lz4_flex",
        &["helenus-cql", "helenus-lab", "helenus-sstable"],
    ),
    // TLS; the generator takes its configuration from the protocol. Cluster control has the channel to agents.
    ("rustls", &["helenus-cluster", "helenus-cql"]),
    // Everybody but the model and the protocol, which do no IO of this kind.
    (
        "fs-err",
        &[
            "helenus",
            "helenus-cluster",
            "helenus-fake-node",
            "helenus-lab",
            "helenus-load",
            "helenus-record",
            "helenus-sstable",
            "xtask",
        ],
    ),
    (
        "rustix",
        &[
            "bare-loop",
            "helenus",
            "helenus-cluster",
            "helenus-fake-node",
            "helenus-lab",
            "helenus-load",
            "xtask",
        ],
    ),
    ("tracing", &["helenus", "helenus-cluster", "helenus-lab"]),
];

/// SPDX names that a crate may be under; a crate with a choice needs one of them.
pub(crate) const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that may not be in Cargo.lock at all.
pub(crate) const BANNED: &[(&str, &str)] = &[
    ("async-std", "no longer maintained"),
    ("atty", "unsound, abandoned; std has IsTerminal"),
    ("bincode", "no longer maintained; JSON or SQL"),
    ("daemonize", "there is no daemon"),
    ("failure", "no longer maintained; thiserror"),
    ("instant", "no longer maintained"),
    (
        "jemallocator",
        "no longer maintained; the system's allocator until a measurement says otherwise",
    ),
    (
        "native-tls",
        "binds to the host's OpenSSL: one binary must run on every Linux",
    ),
    ("number_prefix", "no longer maintained"),
    (
        "openssl-sys",
        "binds to the host's OpenSSL: one binary must run on every Linux",
    ),
    (
        "parse_duration",
        "can be made to hang by its input; units.rs has a parser of ten lines",
    ),
    ("serde_cbor", "no longer maintained"),
    ("serde_yaml", "archived; serde-saphyr, in the model only"),
    ("serde_yml", "unsound; serde-saphyr, in the model only"),
    ("structopt", "clap has derive"),
    ("yaml-rust", "no longer maintained; serde-saphyr"),
];

/// Crates that may come along with others, but that none of ours may name.
pub(crate) const BANNED_DIRECTLY: &[(&str, &str)] = &[
    (
        "anyhow",
        "errors are small enums with their cure; anyhow hides both",
    ),
    ("chrono", "helenus_model::calendar has what UTC needs"),
    ("color-eyre", "errors are small enums with their cure"),
    ("env_logger", "tracing"),
    ("eyre", "errors are small enums with their cure"),
    ("lazy_static", "the standard library has LazyLock"),
    ("log", "tracing"),
    ("miette", "helenus renders errors in thirty lines"),
    ("nix", "rustix"),
    ("once_cell", "the standard library has OnceLock"),
    ("paste", "no longer maintained"),
    (
        "rand",
        "randomness is a pure function of the root seed: helenus_model::seed",
    ),
    ("time", "helenus_model::calendar has what UTC needs"),
];

/// A budget, so that growth is noticed: it may be raised, with a reason.
pub(crate) const PACKAGES_MAX: usize = 400;

/// Longest Rust file; about 500 is the aim.
pub(crate) const LINES_MAX: usize = 700;
