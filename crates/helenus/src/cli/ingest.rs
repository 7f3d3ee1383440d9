//! The flags of `helenus load` and `helenus unload`.
//! Refuses to name a cluster that is not this user's to `load`: it writes.

use super::count::{ReadFlags, ReadPlace};
use super::words;
use clap::{Args, ValueEnum};
use helenus_model::consistency::Consistency;
use helenus_model::ingest::{Part, Split};
use helenus_model::units::{Bytes, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus load orders.csv --into shop.orders
                                         the header's names are the columns' names
  helenus load orders.csv.gz --into c:shop.orders --columns id,customer,total --dry-run
                                         a file without a header; shows the first rows, writes nothing
  helenus load events.jsonl --into shop.events --map 'day=split(at, \"T\", 1)' --map 'id=uuid()'
  helenus load IP2LOCATION-LITE-DB11.CSV --into ip2location.hosts --file-format ip2location-db11 \\
      --expand 'ip: ipv4_range(ip_from, ip_to)' --map country=country_code --map region=region_name --map city=city_name
                                         one row for each address of each range
  helenus load orders.parquet --into shop.orders --skip note
                                         columns by name, values by the types of the table
  helenus load 'exports/*.csv.zst' --into shop.orders --encoding windows-1252 --delimiter ';' --decimal-comma
                                         all files of a pattern, in the order of their names
  helenus load orders.csv --into shop.orders --timestamp changed_at --skip note
                                         each row is dated by a field
  helenus load orders.csv --into shop.orders --part 2/4
                                         one of four loaders of the same file
  helenus load 'logs/*.parquet' --into shop.events --via sstable --memory 1G
                                         sorted, written as SSTables and imported: the quickest way
  helenus load 'huge/*.csv' --into shop.orders --verify full
                                         all rows are compared, also of more than 100 million
  psql -c 'COPY orders TO STDOUT' | helenus load - --into shop.orders --file-format tsv --columns id,customer,total

Repeat the command to resume an interrupted load. Each row's write timestamp follows from its
number, so a repeated write changes nothing. Rows that cannot be read or stored go to
FILE.rejected with line, column and reason.

Exit codes: 0 all is written, 1 rows were rejected or the table differs from the file, 130
interrupted.")]
pub(crate) struct LoadFiles {
    /// Files, folders or patterns ('data/*.csv'), plain or compressed (gzip, zstd, lz4); - reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The table that the rows go into
    #[arg(long, value_name = "[CLUSTER:]KEYSPACE.TABLE")]
    pub(crate) into: String,
    /// One of your clusters, by name [default: HELENUS_CLUSTER, or the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// How the files are written: csv, tsv (as PostgreSQL's COPY writes text), jsonl, parquet, ip2location-db1 to -db11 [default: by the first file's name, else csv]
    #[arg(long, value_name = "NAME")]
    pub(crate) file_format: Option<String>,
    /// How their text is encoded: latin-1, windows-1252, utf-16, shift_jis and others [default: UTF-8, or UTF-16 by its mark]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<String>,
    /// Names of the fields, in order, of files without a header
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) columns: Vec<String>,
    /// The files have a header, which is ignored because --columns names the fields
    #[arg(long, requires = "columns")]
    pub(crate) header: bool,
    /// What a column gets: a field, $N, 'constant', now(), uuid(), split(F, 'S', N), concat(F, …), cast(F, TYPE); may be repeated
    #[arg(long, value_name = "COLUMN=EXPRESSION", value_parser = super::run::parse_pair)]
    pub(crate) map: Vec<(String, String)>,
    /// Rows that one record stands for: int_range, number_range, date_range, ipv4_range, ipv4_prefix, ipv6_range
    #[arg(long, value_name = "NAME: RANGE(FROM, TO)")]
    pub(crate) expand: Option<String>,
    /// A field to ignore; may be repeated
    #[arg(long, value_name = "FIELD")]
    pub(crate) skip: Vec<String>,
    /// Unquoted text to read as null; may be repeated [default: nothing; \N for tsv]
    #[arg(long = "null", value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) nulls: Vec<String>,
    /// The character between two fields
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) delimiter: Option<char>,
    /// Numbers have a decimal comma: 1.234,5
    #[arg(long)]
    pub(crate) decimal_comma: bool,
    /// How long rows live, such as 7d [default: the table's]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) ttl: Option<Duration>,
    /// Write timestamp of each row: a field, or any expression of --map; whole numbers are microseconds since 1970 [default: the start of the load, and the row's number]
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub(crate) timestamp: Option<String>,
    /// Load every Nth run of 4,096 rows only, the others by other loaders of the same files, such as 2/4
    #[arg(long, value_name = "I/N")]
    pub(crate) part: Option<Part>,
    /// How rows get into the table: through the nodes, or sorted into SSTables that the nodes import
    #[arg(long, value_enum, default_value_t = ViaArg::Auto)]
    pub(crate) via: ViaArg,
    /// Memory for sorting rows with --via sstable; more rows are sorted on disk
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = Bytes::parse)]
    pub(crate) memory: Bytes,
    /// Consistency level
    #[arg(long, value_parser = words::level(), ignore_case = true, default_value = "LOCAL_QUORUM", aliases = ["consistency", "consistency-level"])]
    pub(crate) cl: Consistency,
    /// Most requests in flight at once; fewer are used where the nodes cannot keep up
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub(crate) in_flight: u32,
    /// Bytes of rows of one partition that are gathered into a batch; 0 sends each row alone
    #[arg(long, default_value_t = 65_536, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=1_048_576))]
    pub(crate) batch_bytes: u32,
    /// Most rejected rows before the load stops
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub(crate) max_rejected: u64,
    /// The file of rejected rows, replaced if it exists [default: the first file's name with .rejected]
    #[arg(long, value_name = "FILE")]
    pub(crate) rejected: Option<PathBuf>,
    /// Forget what an interrupted load has done, and load everything
    #[arg(long)]
    pub(crate) restart: bool,
    /// Compare file and table at the end by their rows and checksums
    #[arg(long, value_enum, default_value_t = VerifyArg::Auto)]
    pub(crate) verify: VerifyArg,
    /// Show the first rows as they would be written; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// How rows get into a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViaArg {
    /// sstable for large loads if the table and its nodes allow it, otherwise cql
    Auto,
    /// Through the nodes, as any client writes
    Cql,
    /// As sorted SSTables: much faster; all nodes must be on this machine
    Sstable,
}

/// What is compared at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerifyArg {
    /// In full up to 100 million rows, else by a sample
    Auto,
    /// All rows
    Full,
    /// About four million rows, of ranges of tokens that a seed chooses
    Sample,
    /// Not at all
    None,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus unload shop.orders -o orders.csv
                                         every row, with a header
  helenus unload shop.orders -o orders.csv.zst
                                         compressed by the file's name: .gz, .zst or .lz4
  helenus unload shop.orders --columns id,total --file-format tsv | psql -c 'COPY orders (id, total) FROM STDIN WITH (HEADER)'
  helenus unload shop.orders --columns id,total -o totals.jsonl
  helenus unload shop.orders -o orders.parquet
  helenus unload shop.orders -o orders.csv.zst --split 8
                                         eight files, orders.part-00001.csv.zst to orders.part-00008.csv.zst
  helenus unload shop.orders -o orders.parquet --split 1G
                                         as many files as it takes, each of about 1 GiB
  helenus unload shop.orders -o orders.csv --part 2/4
                                         the second of four files, the others by other processes
  helenus unload shop.orders --hosts 10.0.0.1 --in-flight 1 --rate 20k -o orders.csv

Rows are not ordered. Values are exact, so `helenus load` reproduces the same rows. Write times
and TTLs are not exported. Nothing is written to the cluster.

A file's name ends in .part until the file is complete. Repeat the command to resume an
interrupted unload; FILE.unload records which tokens were written.

Exit codes: 0 everything is written, 130 interrupted.")]
pub(crate) struct Unload {
    /// The table
    #[arg(value_name = "KEYSPACE.TABLE")]
    pub(crate) table: String,
    /// The file, compressed where it ends in .gz, .zst or .lz4 [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Write so many files (8), each with an equal part of the ring, or files of about a size (512M)
    #[arg(long, requires = "out", value_name = "N|SIZE")]
    pub(crate) split: Option<Split>,
    /// Write one of N files only, the others by other processes, such as 2/4
    #[arg(long, requires = "out", value_name = "I/N")]
    pub(crate) part: Option<Part>,
    /// Forget what an interrupted unload has done, and unload everything
    #[arg(long, requires = "out")]
    pub(crate) restart: bool,
    /// How it is written: csv, tsv (as PostgreSQL's COPY reads text), jsonl, parquet [default: by the file's name, else csv]
    #[arg(long, value_name = "NAME")]
    pub(crate) file_format: Option<String>,
    /// Which columns, in which order [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) columns: Vec<String>,
    /// The word that null is written as [default: nothing; \N for tsv]
    #[arg(long = "null", value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) null: Option<String>,
    #[command(flatten)]
    pub(crate) place: ReadPlace,
    #[command(flatten)]
    pub(crate) read: ReadFlags,
}
